/* SPDX-License-Identifier: MIT */
/* When a recording began whose first record is lost: what came after it tells. */
#ifndef DNP_READ_OLDEST_H
#define DNP_READ_OLDEST_H

#include "read/recording.h"

/*
 * The earliest time that any of its records was written at, CLOCK_MONOTONIC; 0: none says. Reads
 * all of it.
 */
uint64_t dnp_recording_oldest(const struct dnp_recording *recording);

#endif
