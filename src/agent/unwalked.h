/* SPDX-License-Identifier: MIT */
/* Stacks that meet code which is not known yet: threads leave them to be walked later, say. */
#ifndef DNP_AGENT_UNWALKED_H
#define DNP_AGENT_UNWALKED_H

#include <stddef.h>

#include "store/sample.h"

/* See dnp_drain.walk. The recorder, which asks the runtime about that code. */
uint32_t dnp_unwalked_walk(const struct dnp_unwalked *left, const void *stack, size_t n_bytes,
	dnp_frame_word *frames, uint32_t max, enum dnp_walk_stop *stop);

/*
 * Asks about code that is not known, of `n` frames from `at` on. Returns the place behind the first
 * of which the runtime tells, so that a walk gets on there now; 0: there is none. The recorder.
 */
uint32_t dnp_unwalked_learn(const dnp_frame_word *frames, uint32_t at, size_t n);

#endif
