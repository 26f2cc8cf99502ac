/* SPDX-License-Identifier: MIT */
/*
 * Who stops all managed threads, and whether to collect garbage, by the runtime's own word
 * (COR_PRF_MONITOR_SUSPENDS). One suspension at a time, told of by the thread that makes it; any
 * thread may ask.
 */
#ifndef DNP_CAPTURE_SUSPENSION_H
#define DNP_CAPTURE_SUSPENSION_H

#include <stdbool.h>

void dnp_suspension_begin(bool collection, int tid);
void dnp_suspension_end(void);

/* Whether that thread makes the one that goes on. */
bool dnp_suspension_is_by(int tid);

/* Whether the one that goes on, or the last one, is there to collect garbage. */
bool dnp_suspension_collects(void);

#endif
