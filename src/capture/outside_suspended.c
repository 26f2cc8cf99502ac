/* SPDX-License-Identifier: MIT */
/* Where the system stops a thread at any instruction, one that sleeps notices that no more. */
#include "capture/outside.h"

#include "os/clock.h"
#include "os/syscalls.h"
#include "unwind/suspended.h"

int dnp_outside_walk(struct dnp_thread *thread, unsigned how, dnp_frame_word *frames,
	struct dnp_target_stack *stack, uint64_t *walk_ns)
{
	struct dnp_suspended walk = {
		.ask = DNP_ASK_NEVER,
		.mixed = {.frames = frames, .max = dnp_threads_depth()},
		.stack = dnp_thread_told_stack(thread),
	};
	uint64_t begin_ns = dnp_now_ns();
	int result;

	(void)how;
	result = dnp_suspended_walk(thread->tid, 0, &walk);
	*stack = (struct dnp_target_stack){
		.frames = frames,
		.max = walk.mixed.max,
		.stack = walk.stack,
		.n = walk.mixed.n,
		.stop = walk.mixed.stop,
		.stopped_ns = walk.stopped_ns,
		.asleep = walk.mixed.n && dnp_syscall_is_before(DNP_FRAME_ADDR(frames[0])),
	};
	*walk_ns = dnp_now_ns() - begin_ns;
	return result;
}
