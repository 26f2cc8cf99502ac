/* SPDX-License-Identifier: MIT */
/*
 * The stack of another thread of this process, which the system suspends for us at any instruction:
 * the six steps of D. Broman's "Profiler stack walking: basics and beyond".
 *
 *   1. suspend the thread, and 2. ask for its registers (os/stop.h)
 *   3. is it in managed code? and 4. if not, walk natively to the first managed frame: our own
 *      walker does both, and goes on to the thread's start
 *   5. ask the runtime for the managed frames from there on (DoStackSnapshot, with that frame as
 *      the seed) and fill the native runs between them: where our walk did not come to the thread's
 *      start, or always
 *   6. let it go on
 *
 * For the one thread of ours that does this. It takes no lock and no memory while the thread
 * stands, which may hold any; the runtime gives up where it would have to wait for one
 * (CORPROF_E_STACKSNAPSHOT_UNSAFE).
 */
#ifndef DNP_UNWIND_SUSPENDED_H
#define DNP_UNWIND_SUSPENDED_H

#include <stdbool.h>
#include <stddef.h>

#include "unwind/dss.h"
#include "unwind/walk.h"

/* When the runtime is asked. */
enum dnp_suspended_ask {
	DNP_ASK_NEVER,  /* it has not walked any thread for ours yet, see dnp_dss_walk */
	DNP_ASK_NEEDED, /* where our own walk has an end before the thread's start */
	DNP_ASK_ALWAYS,
};

struct dnp_suspended {
	/* The caller's. */
	const struct dnp_info *info;
	enum dnp_suspended_ask ask;
	struct dnp_dss dss; /* its memory, room for `max` frames */
	/* The result: frames, registers, max. Where our walk goes first: the same. */
	struct dnp_mixed mixed;
	dnp_frame_word *own;          /* borrowed, room for `max`: our walk's frames */
	struct dnp_stack_range stack; /* the thread's own; high 0: not known, it is looked for */

	/* What was found. */
	bool asked;          /* the runtime was asked, and answered `result` */
	HRESULT result;      /* S_OK: the frames are the runtime's, with ours between them */
	bool managed;        /* our walk saw managed frames */
	uint64_t stopped_ns; /* how long it stood still */
};

/* Whether nobody could see more: the thread's start, or as many frames as there is room for. */
SIGSAFE static inline bool dnp_suspended_is_all(enum dnp_walk_stop stop)
{
	return stop == DNP_STOP_END || stop == DNP_STOP_DEPTH;
}

/*
 * Walks thread `tid`, which the runtime calls `id`. 0 with mixed.n frames, mixed.stop; -ESRCH: it
 * has gone; -EFAULT: its stack cannot be read; -EDEADLK: it is the caller.
 */
int dnp_suspended_walk(int tid, ThreadID id, struct dnp_suspended *out);

#endif
