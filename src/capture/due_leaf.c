/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "capture/due.h"
#include "os/clock.h"
#include "unwind/target.h"

#define TRIES 4 /* to read a stack that moves meanwhile */

/*
 * Whether it sleeps, at a time when its clock was due->leaf_cpu_ns. Where the system does not tell,
 * one that has not run since it was looked at is taken to.
 */
static bool is_asleep(struct dnp_due *due, int tid, struct dnp_target_stack *stack)
{
	for (int i = 0; i < TRIES; i++) {
		int result;

		due->leaf_cpu_ns = dnp_thread_cpu_ns(tid);
		stack->n = 0;
		result = dnp_target_walk(tid, NULL, DNP_TARGET_ASLEEP, stack);
		if (result == -EAGAIN && !stack->asleep)
			return false;
		if (dnp_thread_cpu_ns(tid) != due->leaf_cpu_ns)
			continue;
		if (result)
			stack->n = 0;
		return !result || due->leaf_cpu_ns == due->cpu_ns;
	}
	return false;
}

void dnp_due_look_at_leaf(struct dnp_due *due, const struct dnp_managed *managed,
	dnp_frame_word frames[DNP_DUE_LEAF_MAX])
{
	struct dnp_target_stack stack = {
		.frames = frames, .max = DNP_DUE_LEAF_MAX, .stack = managed->thread->stack};

	due->n_leaf = 0;
	due->asleep = is_asleep(due, managed->thread->tid, &stack);
	if (!due->asleep)
		return;
	for (size_t i = 0; i < stack.n; i++)
		if (dnp_frame_is_managed(frames[i]) ||
			(i + 1 == stack.n && stack.stop == DNP_STOP_END)) {
			due->n_leaf = (uint8_t)(dnp_frame_is_managed(frames[i]) ? i : i + 1);
			return;
		}
}
