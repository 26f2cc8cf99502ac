/* SPDX-License-Identifier: MIT */
/* A thread that is read from outside, by one of ours: what the engines that do so have in common.
 */
#ifndef DNP_CAPTURE_OUTSIDE_H
#define DNP_CAPTURE_OUTSIDE_H

#include "store/threads.h"
#include "unwind/target.h"

/*
 * dnp_target_walk into frames[dnp_threads_depth()], `how` as there. Where the thread's stack is, is
 * kept with its record. *walk_ns: how long it took.
 */
int dnp_outside_walk(struct dnp_thread *thread, unsigned how, dnp_frame_word *frames,
	struct dnp_target_stack *stack, uint64_t *walk_ns);

#endif
