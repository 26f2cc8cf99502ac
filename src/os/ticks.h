/* SPDX-License-Identifier: MIT */
/*
 * The processor's own counter of time (x86: the time stamp counter), which costs half of what the
 * system's clock does, and what its ticks are on CLOCK_MONOTONIC.
 *
 * A clock knows one moment on both, and how long a tick is; each refinement gives it a new moment
 * and measures the tick over all the time since the first. So an early conversion may be wrong by
 * some parts in a million of the time since the moment known; a point in time close to the last
 * refinement is good to well under a microsecond.
 */
#ifndef DNP_OS_TICKS_H
#define DNP_OS_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clean.h"
#include "os/x86_64/ticks.h"

struct dnp_ticks_clock {
	uint64_t first_ticks, first_ns; /* a moment when it was begun */
	uint64_t ticks, ns;             /* the last moment that was looked at on both clocks */
	uint64_t scale;                 /* ns of a tick, times 2^32 */
};

/* Whether ticks are of the same length at all times and on all processors. */
bool dnp_ticks_steady(void);

/* Makes a clock; takes some 2 ms, and its scale is good to some 20 parts in a million. */
void dnp_ticks_begin(struct dnp_ticks_clock *clock);

/* Looks at both clocks again: less than a microsecond, often. The clock's owner. */
void dnp_ticks_refine(struct dnp_ticks_clock *clock);

static inline uint64_t dnp_ticks_scaled(uint64_t scale, uint64_t ticks)
{
	return (uint64_t)((unsigned __int128)scale * ticks >> 32);
}

/* How long so many ticks are. */
static inline uint64_t dnp_ticks_span_ns(const struct dnp_ticks_clock *clock, uint64_t ticks)
{
	return dnp_ticks_scaled(clock->scale, ticks);
}

/* When it was, CLOCK_MONOTONIC, that dnp_ticks() was that; also before the clock was made. */
static inline uint64_t dnp_ticks_time_ns(const struct dnp_ticks_clock *clock, uint64_t ticks)
{
	return ticks >= clock->ticks
		? clock->ns + dnp_ticks_scaled(clock->scale, ticks - clock->ticks)
		: clock->ns - dnp_ticks_scaled(clock->scale, clock->ticks - ticks);
}

#endif
