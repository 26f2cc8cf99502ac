/* SPDX-License-Identifier: MIT */
/*
 * Records: one struct, one encoder and one decoder for each entry of rec.def.
 *
 *   struct dnp_rec_sample          the fields as uint64_t, int64_t or struct dnp_str
 *   dnp_put_sample(out, cap, rec)  encodes; returns bytes written, 0: does not fit (nothing
 * written) dnp_get_sample(body, n, rec)   decodes a body; strings borrow from `body`; 0 or -EBADMSG
 *
 * Encoders and decoders call nothing outside this file, and are safe in signal handlers and
 * threads.
 */
#ifndef DNP_FORMAT_REC_H
#define DNP_FORMAT_REC_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum dnp_thread_flags {
	DNP_THREAD_MANAGED = 1, /* the runtime was seen to make it one of its own */
	DNP_THREAD_OWN = 2,     /* the profiler's */
	DNP_THREAD_LATE = 4,    /* it ran before recording began */
	DNP_THREAD_OTHERS =
		8, /* all threads of other processes, a processor each: who ran instead */
};

enum dnp_module_kind {
	DNP_MODULE_OTHER = 0, /* no file: stubs, anonymous code */
	DNP_MODULE_NATIVE = 1,
	DNP_MODULE_MANAGED = 2,
	DNP_MODULE_KERNEL = 3,
};

enum dnp_frame_kind {
	DNP_FRAME_OTHER = 0, /* not known, a stub, unloaded code: named for what it is */
	DNP_FRAME_NATIVE = 1,
	DNP_FRAME_MANAGED = 2, /* compiled at run time */
	DNP_FRAME_R2R = 3,     /* managed, compiled ahead of time (ReadyToRun) */
	DNP_FRAME_DYNAMIC = 4, /* managed, a dynamic method or IL stub */
	DNP_FRAME_KERNEL = 5,
	DNP_FRAME_LABEL = 6, /* no code: what the event is about, a type say */
};

enum dnp_frame_flags {
	DNP_FRAME_GC = 1,       /* the runtime at work on a collection */
	DNP_FRAME_JIT = 2,      /* the runtime at work compiling */
	DNP_FRAME_ASYNC = 4,    /* the MoveNext of an async method */
	DNP_FRAME_ITERATOR = 8, /* the MoveNext of an iterator */
};

enum dnp_sample_flags {
	DNP_SAMPLE_TRUNCATED = 1, /* the stack was cut at the greatest depth; the root is missing */
	DNP_SAMPLE_INCOMPLETE = 2, /* the walk ended before the thread's start */
	DNP_SAMPLE_WAITING = 4,    /* the thread did not run: it slept or waited */
};

enum dnp_thread_doing {
	DNP_THREAD_UNSEEN = 0,
	DNP_THREAD_RUNNING = 1, /* or ready to run */
	DNP_THREAD_WAITING = 2,
};

/* What a thread waits for. */
enum dnp_wait_kind {
	DNP_WAIT_OTHER = 0, /* something else, or not known */
	DNP_WAIT_LOCK = 1,  /* for a lock that another thread holds */
	DNP_WAIT_SLEEP = 2, /* for some time to pass */
	DNP_WAIT_SOCKET = 3,
	DNP_WAIT_FILE = 4,
	DNP_WAIT_PIPE = 5,
	DNP_WAIT_GC = 6,        /* for a garbage collection to end */
	DNP_WAIT_POOL = 7,      /* a worker of the thread pool: for work */
	DNP_WAIT_EVENT = 8,     /* for another thread to say so: events, Monitor.Wait, tasks */
	DNP_WAIT_SEMAPHORE = 9, /* for another thread to release one */
	DNP_WAIT_JOIN = 10,     /* for another thread's end */
	DNP_WAIT_PROCESS = 11,  /* for another process's end */
	DNP_WAIT_RUNTIME = 12,  /* a thread of the runtime's own that has nothing to do */
	DNP_WAIT_KINDS
};

/* How a collection of garbage goes. */
enum dnp_collection_kind {
	DNP_COLLECTION_BLOCKING = 0,   /* the program stands still all the while */
	DNP_COLLECTION_BACKGROUND = 1, /* … at its beginning, and once more */
	DNP_COLLECTION_FOREGROUND = 2, /* as blocking, while one in the background goes on */
	DNP_COLLECTION_KINDS
};

/* What became of an exception. */
enum dnp_exception_end {
	/*
	 * No method had caught it by the end of the recording, or nobody saw it: another one took
	 * its place, or native code of the runtime took it.
	 */
	DNP_EXCEPTION_NOT_CAUGHT = 0,
	DNP_EXCEPTION_CAUGHT = 1,
	DNP_EXCEPTION_IN_FILTER = 2, /* it came out of a filter, for which that is a no */
	DNP_EXCEPTION_ENDS
};

enum dnp_loss_reason {
	DNP_LOSS_RING = 1,   /* the thread's ring was full */
	DNP_LOSS_NESTED = 2, /* a sample came while one was taken */
	DNP_LOSS_STACK = 3,  /* not the thread's own stack, or no room left on it */
	DNP_LOSS_QUEUE = 4,  /* too many signals were pending */
	DNP_LOSS_ROOM = 5,   /* it came by one more stack than there is room for */
	DNP_LOSS_COUNT
};

enum dnp_end_reason {
	DNP_END_EXIT = 1,     /* the runtime shut down */
	DNP_END_STOP = 2,     /* asked to stop */
	DNP_END_LAUNCHER = 3, /* the command line went away */
	DNP_END_DISK = 4,     /* writing failed */
	DNP_END_DUMP = 5,     /* it did not: this is a copy of it as it was then */
};

/* enum dnp_rec: DNP_REC_process … */
enum dnp_rec {
#define DNP_RECORD(id, name, doc) DNP_REC_##name = (id),
#define U(field, doc)
#define I(field, doc)
#define S(field, doc)
#define DNP_RECORD_END(name)
#include "format/rec.def"
};

#define DNP_RECORD(id, name, doc) struct dnp_rec_##name {
#define U(field, doc)             uint64_t field;
#define I(field, doc)             int64_t field;
#define S(field, doc)             struct dnp_str field;
#define DNP_RECORD_END(name)                                                                       \
	}                                                                                          \
	;
#include "format/rec.def"

#define DNP_RECORD(id, name, doc)                                                                  \
	size_t dnp_put_##name(uint8_t *out, size_t capacity, const struct dnp_rec_##name *rec);    \
	int dnp_get_##name(const uint8_t *body, size_t n, struct dnp_rec_##name *rec);
#define U(field, doc)
#define I(field, doc)
#define S(field, doc)
#define DNP_RECORD_END(name)
#include "format/rec.def"

/*
 * The next record of a payload: its id and body. *at advances past it.
 * 1: there is one. 0: the end. -EBADMSG: the payload is damaged from *at on.
 */
int dnp_rec_next(const uint8_t *payload, size_t n, size_t *at, uint64_t *id, struct dnp_str *body);

/* The text of the schema chunk: a line per record and field. Static. */
extern const char dnp_rec_schema[];

#endif
