/* SPDX-License-Identifier: MIT */
/*
 * What a recording has lost so far, of all its events: how many samples and the like, and how much
 * of each event that counts bytes or time, which are not added to these.
 */
#ifndef DNP_AGENT_LOSSES_H
#define DNP_AGENT_LOSSES_H

#include <stdint.h>

struct dnp_losses {
	uint64_t count;
	char weights[256]; /* "alloc:bytes:4096,lock:ns:250": those of which anything is lost */
};

/* Of an event, in its unit. All zero before the first. */
void dnp_losses_add(struct dnp_losses *losses, const char *event, const char *unit, uint64_t lost);

#endif
