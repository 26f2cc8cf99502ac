/* SPDX-License-Identifier: MIT */
/*
 * Where the system suspends a thread at any instruction, one that sleeps notices that no more than
 * one that runs: all are walked in the same way.
 */
#include <errno.h>

#include "os/syscalls.h"
#include "unwind/suspended.h"
#include "unwind/target.h"

static void clear(struct dnp_target_stack *out)
{
	out->n = 0;
	out->stop = DNP_STOP_DEPTH;
	out->asleep = false;
	out->syscall = -1;
	out->argument = 0;
	out->cpu_ns = 0;
	out->time_ns = 0;
	out->stopped_ns = 0;
}

int dnp_target_walk(
	int tid, const struct dnp_regs *seed, unsigned how, struct dnp_target_stack *out)
{
	struct dnp_suspended walk = {
		.ask = DNP_ASK_NEVER,
		.mixed = {.frames = out->frames, .registers = out->registers, .max = out->max},
		.stack = out->stack,
	};
	int result;

	clear(out);
	if (seed)
		return -ENOTSUP;
	if (!(how & DNP_TARGET_STOP))
		return -EAGAIN;
	result = dnp_suspended_walk(tid, out->runtime_thread, &walk);
	out->stack = walk.stack;
	out->stopped_ns = walk.stopped_ns;
	if (result)
		return result;
	out->n = walk.mixed.n;
	out->stop = walk.mixed.stop;
	out->asleep = out->n && dnp_syscall_is_before(DNP_FRAME_ADDR(out->frames[0]));
	return 0;
}
