/* SPDX-License-Identifier: MIT */
/* What the runtime is asked to tell (ICorProfilerInfo5::SetEventMask2), and what of it stays. */
#ifndef DNP_AGENT_EVENTS_H
#define DNP_AGENT_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "clr/com.h"

/* Whether all of these can also be had in a program that runs already. */
bool dnp_events_allowed_late(uint32_t low, uint32_t high);

/* Asks for these and no others, but for those that cannot be given back. */
HRESULT dnp_events_set(uint32_t low, uint32_t high);

/* Asks for these, too, unless nothing is asked for any more. Any thread. */
void dnp_events_add(uint32_t low);

/*
 * S_OK if all that was ever asked for can be given back, else why the runtime will not let the
 * agent go (as RequestProfilerDetach would answer).
 */
HRESULT dnp_events_lasting(void);

#endif
