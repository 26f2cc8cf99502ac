/* SPDX-License-Identifier: MIT */
#include "capture/due.h"
#include "os/clock.h"
#include "unwind/target.h"

void dnp_due_look_at_leaf(struct dnp_due *due, const struct dnp_managed *managed,
	dnp_frame_word frames[DNP_DUE_LEAF_MAX])
{
	struct dnp_target_stack stack = {
		.frames = frames, .max = DNP_DUE_LEAF_MAX, .stack = managed->thread->stack};

	due->n_leaf = 0;
	due->asleep = !dnp_target_walk(managed->thread->tid, NULL, DNP_TARGET_ASLEEP, &stack) &&
		dnp_thread_cpu_ns(managed->thread->tid) == due->cpu_ns;
	if (!due->asleep)
		return;
	for (size_t i = 0; i < stack.n; i++)
		if (dnp_frame_is_managed(frames[i]) ||
			(i + 1 == stack.n && stack.stop == DNP_STOP_END)) {
			due->n_leaf = (uint8_t)(dnp_frame_is_managed(frames[i]) ? i : i + 1);
			return;
		}
}
