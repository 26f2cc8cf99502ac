/* SPDX-License-Identifier: MIT */
/*
 * The stack of another thread of this process, walked from outside.
 *
 * One that sleeps is not disturbed: the kernel tells where it is, its stack is copied by guarded
 * reads, and whether it has moved meanwhile is checked in the end. Any other is stopped
 * (os/stop.h), asked for its registers, walked, and let go: the six steps of D. Broman's "Profiler
 * stack walking: basics and beyond", with our own walker for the fourth and the fifth.
 *
 * On Windows the system suspends a thread at any instruction, and one that sleeps notices nothing:
 * all are walked so (unwind/suspended.h).
 *
 * For threads of our own, which never run the application's code. Callers take turns.
 */
#ifndef DNP_UNWIND_TARGET_H
#define DNP_UNWIND_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/turn.h"
#include "unwind/walk.h"

enum dnp_target_how {
	DNP_TARGET_ASLEEP = 1, /* may be read while it sleeps */
	DNP_TARGET_STOP = 2,   /* may be stopped; needs dnp_stop_open */
};

struct dnp_target_stack {
	/* The caller's. */
	dnp_frame_word *frames;     /* borrowed, room for `max` */
	struct dnp_regs *registers; /* the same; NULL: not wanted */
	size_t max;
	uint64_t patience_ns; /* how long a thread may take to stop; 0: 100 ms */
	/*
	 * The thread's own stack; high 0: not known, then it is looked for in the memory map (some
	 * 0.1 ms and more) and left here for the next time.
	 */
	struct dnp_stack_range stack;
	uintptr_t runtime_thread; /* see struct dnp_stacks */

	/* What was found. */
	size_t n;
	enum dnp_walk_stop stop;
	bool asleep;         /* it slept; false: it ran, or wanted to */
	long syscall;        /* the call that it slept in, -1: none */
	uint64_t argument;   /* the first one of that */
	uint64_t cpu_ns;     /* its clock (dnp_thread_cpu_ns) while it slept */
	uint64_t time_ns;    /* a moment of that sleep */
	uint64_t stopped_ns; /* how long it stood still for us */
};

/*
 * Walks the stack of thread `tid` from its leaf or, if `seed` is not NULL, from these registers,
 * which belong to a frame of its stack. A seed is a hint: one that makes no sense is an error or
 * ends the walk early. `how`: enum dnp_target_how; with both, sleepers are not stopped.
 *
 * In registers[], bp and bx are 0 while they are not known: nobody saves what a sleeping thread
 * has in them.
 *
 * 0, or: -ESRCH: it has gone. -EAGAIN: it moved meanwhile, or it runs and may not be stopped
 * (`asleep` tells). -ETIMEDOUT: it did not stop. -EFAULT: its stack cannot be read, or the seed is
 * not on it or in no code that is known. -EDEADLK: it is the caller. Else what the system says
 * where it does not tell how threads are. On Windows there is no seed (-ENOTSUP), without
 * DNP_TARGET_STOP all is -EAGAIN, `asleep` is that it was in a system call, whose number is not
 * told, and so are not clocks.
 */
int dnp_target_walk(
	int tid, const struct dnp_regs *seed, unsigned how, struct dnp_target_stack *out);

/*
 * Walks a stack that its thread has copied: `n_bytes`, DNP_STACK_COPY_BYTES at most, from address
 * `low` on, with the registers that it had; `exact` says that it was at that very instruction, not
 * behind a call. It may go on meanwhile, or have gone. Returns the number
 * of frames, `max` at most; a walk that leaves what was copied ends with DNP_STOP_BAD_STACK.
 */
size_t dnp_target_walk_copy(const struct dnp_regs *regs, bool exact, uintptr_t low,
	const void *bytes, size_t n_bytes, dnp_frame_word *frames, size_t max,
	enum dnp_walk_stop *stop);

#endif
