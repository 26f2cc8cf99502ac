/* SPDX-License-Identifier: MIT */
/*
 * libdnprof-timeline: which thread ran when (include/dnprof/timeline.h).
 *
 *   timeline.c  open, start, stop, snapshot; the choice of the backend
 *   record.c    what happens in between: switches and clocks into the store
 *   poll.c      the same where there are no switches
 *   store.c     threads, their slices and the readings of their clocks
 *   notes.c     marks and readings by the program's own threads
 *   ask.c       what pictures are asked: threads, processes, losses, marks, names
 *   spans.c     and what a thread did
 */
#ifndef DNP_TIMELINE_TIMELINE_H
#define DNP_TIMELINE_TIMELINE_H

#include <dnprof/timeline.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/err.h"
#include "os/thread.h"
#include "timeline/notes.h"
#include "timeline/store.h"

#define DNP_TL_THREAD_NAME "dnprof-timeline"

enum dnp_tl_phase { DNP_TL_OPEN, DNP_TL_STARTED, DNP_TL_STOPPING, DNP_TL_STOPPED };

/* What begins with `notes` is for any thread; all else under the lock. */
struct dnprof_timeline {
	_Atomic bool recording;
	struct dnp_tl_notes notes;
	pthread_mutex_t lock;
	struct dnprof_timeline_options options; /* with what stands for 0 filled in */
	enum dnprof_timeline_backend backend;
	char reason[700]; /* an error's text, and a few words */
	enum dnp_tl_phase phase;
	uint64_t process_ticks;        /* when it began: its id is not another one's */
	uint64_t start_cpu_ns;         /* of the process, when the recording began */
	uint64_t last_cpu_ns;          /* at the last checkpoint */
	uint64_t ended_ns;             /* of the process */
	uint64_t looked_ns;            /* for that end, last */
	uint64_t told_ns;              /* all is in the store up to then */
	uint64_t checkpoint_ns;        /* the last of all threads */
	uint64_t listed_ns;            /* POLL: when threads were looked for last … */
	uint64_t listed_before_ns;     /* … and the time before */
	uint64_t interval_ns;          /* POLL: between looks, now */
	struct dnp_switches *switches; /* owned; NULL: POLL */
	struct dnp_tl_store store;
	bool has_picture;
	uint64_t from_ns, until_ns; /* of the picture */
	uint64_t clocks_until_ns;   /* it has their readings up to then */
	/* The library's own thread. */
	struct dnp_own_thread recorder;
	int bell; /* owned; -1: none */
	_Atomic bool end;
};

/* ---- record.c; under the lock, while it records */

/* Makes the threads known that there are, and reads their clocks. */
/* One that began since threads were listed, and was there at that time. NULL: no memory. */
struct dnp_tl_thread *dnp_tl_add_unlisted(dnprof_timeline *timeline, int tid, uint64_t now_ns);
void dnp_tl_look_at_threads(dnprof_timeline *timeline);
/* Takes in all there is, up to told_ns. */
void dnp_tl_take_in(dnprof_timeline *timeline);
/* The library's thread, of STREAM. */
void *dnp_tl_run_recorder(void *timeline);

/* ---- poll.c */

/* One look at all threads. */
void dnp_tl_poll(dnprof_timeline *timeline);
void *dnp_tl_run_poller(void *timeline);

/* ---- ask.c */

/* Gives what the caller's structure has room for: both begin with struct_size. 0 or -EINVAL. */
int dnp_tl_give(void *to, const void *from, size_t size);

#endif
