/* SPDX-License-Identifier: MIT */
/*
 * Which thread ran when, and how much processor time each one got, for any program on Linux. C99;
 * link with libdnprof-timeline.so, which needs libc alone. docs/timeline.md has an example. On
 * Windows, with dnprof-timeline.dll, the same by the backend POLL, with clocks that go by steps of
 * 10 to 16 ms; see docs/windows.md.
 *
 * For whom: a program that shows its own threads (an overlay, a console, a log), or a tool that
 * shows another process's. Open a time line, start it, and take a picture of it with
 * dnprof_timeline_snapshot as often as you like: every frame, or once when something went wrong.
 * All other functions answer from the last picture.
 *
 * Two numbers that are never mixed. *On-CPU time* is the sum of the slices in which the kernel says
 * that the thread had a processor: its shape on the axis, short by 0.5 to 4 µs for each switch,
 * which the kernel books to the thread and tells a little later. *CPU time* is the kernel's own
 * clock of the thread, read at checkpoints: exact to the nanosecond there, and without a shape.
 *
 * Units. Times are nanoseconds of CLOCK_MONOTONIC (what dnprof_timeline_now returns; of the
 * performance counter on Windows), lengths nanoseconds.
 *
 * Errors. Functions that return int give 0, or a count, or a negative errno as stated; those with
 * something to tell fill a struct dnprof_timeline_error (NULL is allowed) with a sentence. A NULL
 * time line, a NULL result and a structure without struct_size are -EINVAL.
 *
 * Threads. Any function may be called on any thread, and they may overlap: a lock inside makes
 * those on one time line wait for each other. Only dnprof_timeline_close may not overlap. None but
 * dnprof_timeline_mark, _checkpoint and _now may be called in a signal handler; these three never
 * wait. After fork, the child must not use what the parent opened.
 *
 * Versions. Structures begin with struct_size: set it to sizeof the structure that you were
 * compiled with; a newer library fills no more than that. Structures without it (spans and slices,
 * which come in arrays) do not change.
 */
#ifndef DNPROF_TIMELINE_H
#define DNPROF_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef DNPROF_API
#if defined(__GNUC__)
#define DNPROF_API __attribute__((visibility("default")))
#else
#define DNPROF_API
#endif
#endif

typedef struct dnprof_timeline dnprof_timeline;

/* What a function that failed has to tell: what happened: why; what to do. */
struct dnprof_timeline_error {
	size_t struct_size;
	int32_t code; /* what the function returned */
	char text[500];
};

/* CLOCK_MONOTONIC, now. Also in signal handlers. */
DNPROF_API uint64_t dnprof_timeline_now(void);

/* ---- Open, start, stop */

enum dnprof_timeline_mode {
	/*
	 * All of it, from the start on, as far as memory_bytes go; then the oldest gives way. A
	 * thread of the library's, which shows among the others, takes it over ten times a second,
	 * and reads all clocks once a second.
	 */
	DNPROF_TIMELINE_STREAM = 0,
	/*
	 * A flight recorder: the kernel keeps the newest switches of each processor, nobody reads
	 * them until a snapshot does. No thread (but for POLL), no cost but the kernel's. 256 KiB
	 * hold the last 10,000 switches or so of a processor.
	 */
	DNPROF_TIMELINE_RING = 1,
};

enum dnprof_timeline_backend {
	DNPROF_TIMELINE_AUTO = 0, /* the best one that is allowed, in this order: */
	/*
	 * Every switch of the process's threads, as the kernel tells it. Any user, of processes
	 * that he may debug, where kernel.perf_event_paranoid is 2 or less.
	 */
	DNPROF_TIMELINE_SWITCHES = 1,
	/*
	 * Every switch of the machine: who ran instead, too. Needs CAP_PERFMON or
	 * kernel.perf_event_paranoid 0. By AUTO only if `others` is asked for.
	 */
	DNPROF_TIMELINE_CPUS = 2,
	/*
	 * The threads' clocks, looked at every interval: no switches and no exact edges, but in
	 * which intervals a thread ran. Needs no right; where perf events are forbidden.
	 */
	DNPROF_TIMELINE_POLL = 3,
};

struct dnprof_timeline_options {
	size_t struct_size;
	int32_t pid;      /* 0: the calling process */
	uint32_t mode;    /* enum dnprof_timeline_mode */
	uint32_t backend; /* enum dnprof_timeline_backend; one that is named is used, or it fails */
	uint32_t others;  /* 1: the threads of all other processes as well, if that is allowed */
	uint32_t ring_bytes;   /* the kernel's, a processor: 4096 to 64 MiB, rounded up to a power
				  of two; 0: 256 KiB. Less where the system refuses as much */
	uint32_t interval_us;  /* between looks of POLL, 100 to 1000000; 0: 1000. Longer when they
				  would take more than 2 % of a processor */
	uint64_t memory_bytes; /* of the library's, about, 1 MiB or more; 0: 64 MiB */
};

/*
 * Opens the time line of a process; chooses the backend. A process may have several. `options`
 * NULL: all zero. `error` says why if it fails.
 *
 * -EINVAL: an option out of range; -ESRCH: no such process, or one that has ended; -EACCES,
 * -EPERM, -ENOSYS, -ENOMEM, -EMFILE: the backend that was named is not to be had; -ENOMEM.
 *
 * Best early in a program: as long as it has one thread, a descriptor for each processor will do,
 * and all later threads are told by inheritance. Else each thread needs that many.
 */
DNPROF_API int dnprof_timeline_open(const struct dnprof_timeline_options *options,
	dnprof_timeline **timeline, struct dnprof_timeline_error *error);

/* Gives everything back; stops first. NULL is allowed. */
DNPROF_API void dnprof_timeline_close(dnprof_timeline *timeline);

/*
 * Begins to record; what was recorded before is gone. -EALREADY: it records; -ESRCH: the process
 * has ended; -EAGAIN: the library's thread cannot be started.
 */
DNPROF_API int dnprof_timeline_start(
	dnprof_timeline *timeline, struct dnprof_timeline_error *error);

/*
 * Takes the last picture, and ends the recording. The picture can still be asked about. -ENODATA:
 * it does not record.
 */
DNPROF_API int dnprof_timeline_stop(dnprof_timeline *timeline, struct dnprof_timeline_error *error);

/* What was chosen, and why. */
struct dnprof_timeline_info {
	size_t struct_size;
	int32_t pid;
	uint32_t mode;
	uint32_t backend;     /* never AUTO */
	uint32_t sampled;     /* 1: slices are intervals in which the thread ran at some time */
	uint64_t ring_bytes;  /* a processor, as the system gave them; 0: none are needed */
	uint64_t interval_ns; /* between looks, as it is now; 0: none are needed */
	char reason[500];     /* a sentence */
};

DNPROF_API int dnprof_timeline_info(dnprof_timeline *timeline, struct dnprof_timeline_info *info);

/* ---- Pictures */

struct dnprof_picture {
	size_t struct_size;
	uint64_t from_ns, until_ns; /* nothing is missing in between but what is lost */
	uint64_t ended_ns;          /* when the process was found to have ended, 0: it has not */
	uint64_t lost; /* records of switches that did not fit; see dnprof_timeline_next_loss */
	uint64_t disordered; /* records that make no sense; without losses there should be none */
	uint64_t lost_marks; /* marks and checkpoints that did not fit */
	uint64_t cpu_ns;     /* of the process since the start, ended threads as well: the
				kernel's clock */
	uint32_t threads;    /* that the picture has */
	uint32_t switches_per_s; /* context switches of the process's threads, in the last second
				    of the picture; POLL: how often they were given a processor */
	uint32_t all_switches_per_s; /* of all threads of the machine; 0: not known */
};

/*
 * Takes a picture, up to a millisecond ago or so, and a checkpoint of all threads that live. 0, and
 * *picture (NULL is allowed) is filled; or it cannot, and `error` says why: -ENODATA: it has not
 * been started, or has been stopped. The end of the process ends the recording, not the pictures.
 *
 * Takes some microseconds for each thread that lives, and less than one for ten switches since the
 * last one.
 */
DNPROF_API int dnprof_timeline_snapshot(dnprof_timeline *timeline, struct dnprof_picture *picture,
	struct dnprof_timeline_error *error);

/* A stretch of time of which a processor's records did not fit. */
struct dnprof_loss {
	size_t struct_size;
	uint64_t id; /* ascending */
	uint64_t from_ns, until_ns;
	uint64_t records;
	uint32_t cpu;
};

/* The first loss with an id above `after`. -ENOENT: none. -ENODATA: no picture was taken. */
DNPROF_API int dnprof_timeline_next_loss(
	dnprof_timeline *timeline, uint64_t after, struct dnprof_loss *loss);

/* ---- Processes and threads */

struct dnprof_process {
	size_t struct_size;
	int32_t pid;
	uint32_t threads; /* in the picture */
	char name[16];    /* of its first thread; on Windows of its file; "": it has ended */
};

/*
 * The process with the smallest id above `after` (0 at first) that has threads in the picture; more
 * than one with `others` only. -ENOENT: none. -ENODATA: no picture was taken.
 */
DNPROF_API int dnprof_timeline_next_process(
	dnprof_timeline *timeline, int32_t after, struct dnprof_process *process);

enum dnprof_thread_flags {
	DNPROF_THREAD_OWN = 1, /* a thread of this library */
};

struct dnprof_thread {
	size_t struct_size;
	uint64_t id; /* of this thread alone: the system gives a tid again, nobody an id */
	int32_t pid, tid;
	uint32_t flags;    /* enum dnprof_thread_flags */
	uint64_t begin_ns; /* 0: before the recording */
	uint64_t end_ns;   /* 0: it lives */
	/* The kernel's clock, at the last checkpoint, and when that was; 0: none was taken. */
	uint64_t cpu_ns, checkpoint_ns;
	char name[64];
};

/*
 * The thread with the smallest id above `after` (0 at first), of all processes. -ENOENT: none.
 * -ENODATA: no picture was taken.
 */
DNPROF_API int dnprof_timeline_next_thread(
	dnprof_timeline *timeline, uint64_t after, struct dnprof_thread *thread);

/* Instead of a thread's id: the threads of all processes but the one that was opened. */
#define DNPROF_OTHERS UINT64_MAX

/* ---- What a thread did. from_ns and until_ns are cut to the picture */

/* Pixels [start, end) of a graph. */
struct dnprof_span {
	uint32_t start, end;
};

/*
 * When a thread, or DNPROF_OTHERS, ran, for a graph `width` pixels wide (1 to 65536) that shows
 * from_ns to until_ns: at least a pixel for each slice, spans that touch are one. Returns how many
 * spans were written: never more than (width + 1) / 2, for which `spans` has room.
 *
 * -EINVAL: a width or range that is none; -ENOENT: no such thread, or others are not recorded;
 * -ENODATA: no picture was taken; -ENOMEM.
 */
DNPROF_API int dnprof_timeline_spans(dnprof_timeline *timeline, uint64_t thread, uint64_t from_ns,
	uint64_t until_ns, uint32_t width, struct dnprof_span *spans);

enum dnprof_slice_end {
	DNPROF_SLICE_WAITS = 0,     /* the thread gave the processor back to wait for something */
	DNPROF_SLICE_PREEMPTED = 1, /* it lost it, but could go on */
	DNPROF_SLICE_ENDED = 2,     /* the thread ended */
	DNPROF_SLICE_RUNS = 3,      /* it had the processor still when the picture was taken */
	DNPROF_SLICE_UNKNOWN = 4,   /* its end was lost */
	DNPROF_SLICE_SAMPLED = 5,   /* it ran at some time in it (POLL) */
};

#define DNPROF_NO_CPU UINT16_MAX

struct dnprof_slice {
	uint64_t start_ns, end_ns;
	uint16_t cpu; /* DNPROF_NO_CPU: not known */
	uint16_t how; /* it ended: enum dnprof_slice_end */
	uint32_t reserved;
};

/*
 * The slices of a thread that reach into the range, whole, in order. Returns how many there are;
 * `slices` (may be NULL with max 0) gets the first `max`. Errors as above.
 */
DNPROF_API int64_t dnprof_timeline_slices(dnprof_timeline *timeline, uint64_t thread,
	uint64_t from_ns, uint64_t until_ns, struct dnprof_slice *slices, size_t max);

struct dnprof_thread_time {
	size_t struct_size;
	/*
	 * By switches, of the part of the range in which the thread lived. What is neither is not
	 * known: before the first switch of a thread that was there already. All zero if the
	 * picture is sampled, and but for on_cpu_ns and switches, of DNPROF_OTHERS.
	 */
	uint64_t on_cpu_ns;
	uint64_t
		preempted_ns; /* it could have run; new threads also wait so for their first turn */
	uint64_t blocked_ns;  /* it waited for something, then perhaps for a processor */
	uint64_t voluntary, involuntary; /* switches away from it */
	/*
	 * By the kernel's clock, between the first and the last checkpoint in the range: at its
	 * start and stop, snapshots, once a second (STREAM), each look (POLL), and the thread's own
	 * (dnprof_timeline_checkpoint). From or to the edge of the range where the clock stood
	 * there: from one checkpoint to the next, or up to the last look. All zero if there are not
	 * two; a new thread's begin is one.
	 */
	uint64_t checkpoint_from_ns, checkpoint_until_ns;
	uint64_t cpu_ns;   /* of another process up to a kernel's tick (1 to 10 ms) late, while it
			      runs */
	uint64_t ready_ns; /* it could have run, but had no processor; 0 if the kernel keeps no
			      such account */
};

/* What a thread got in a range. Errors as above. */
DNPROF_API int dnprof_timeline_thread_time(dnprof_timeline *timeline, uint64_t thread,
	uint64_t from_ns, uint64_t until_ns, struct dnprof_thread_time *time);

/* ---- Names */

/*
 * Names a thread of the process that was opened: tid, 0: the calling one. 63 bytes are kept, for as
 * long as the thread lives, in later recordings as well; in the calling process the system's own
 * name of the thread becomes the same, as far as its 15 bytes go. -ESRCH: the process has no such
 * thread.
 */
DNPROF_API int dnprof_timeline_set_thread_name(
	dnprof_timeline *timeline, int32_t tid, const char *name);

/*
 * The name of a thread that lives, tid as above, always ended by a zero byte: the one that was set,
 * else the system's. -ESRCH: no such thread.
 */
DNPROF_API int dnprof_timeline_thread_name(
	dnprof_timeline *timeline, int32_t tid, char *name, size_t size);

/* ---- Marks and checkpoints: on any thread, in signal handlers too; they do not wait */

/*
 * Marks this moment with a text, of which 87 bytes are kept. -ENODATA: it does not record;
 * -EBUSY: too many at once, it was counted as lost. The 1,024 newest since the last snapshot (or,
 * STREAM, tenth of a second) are kept.
 */
DNPROF_API int dnprof_timeline_mark(dnprof_timeline *timeline, const char *text);

/*
 * Reads the clock of the calling thread, of the calling process: exact for this moment. A thread
 * whose CPU time shall be known to its very end calls it last. Errors as above.
 */
DNPROF_API int dnprof_timeline_checkpoint(dnprof_timeline *timeline);

struct dnprof_mark {
	size_t struct_size;
	uint64_t id; /* ascending with time_ns, but for marks of the same moment */
	uint64_t time_ns;
	int32_t tid;
	char text[88];
};

/* The first mark with an id above `after`. -ENOENT: none. -ENODATA: no picture was taken. */
DNPROF_API int dnprof_timeline_next_mark(
	dnprof_timeline *timeline, uint64_t after, struct dnprof_mark *mark);

#ifdef __cplusplus
}
#endif

#endif
