/* SPDX-License-Identifier: MIT */
/* Stacks that threads have left to be walked, since they met code that was not known then. */
#ifndef DNP_AGENT_UNWALKED_H
#define DNP_AGENT_UNWALKED_H

#include <stddef.h>

#include "store/sample.h"

/* See dnp_drain.walk. The recorder, which asks the runtime about that code. */
uint32_t dnp_unwalked_walk(const struct dnp_unwalked *left, const void *stack, size_t n_bytes,
	dnp_frame_word *frames, uint32_t max, enum dnp_walk_stop *stop);

#endif
