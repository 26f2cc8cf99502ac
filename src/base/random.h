/* SPDX-License-Identifier: MIT */
#ifndef DNP_BASE_RANDOM_H
#define DNP_BASE_RANDOM_H

#include <stdint.h>

#include "base/clean.h"

/* xorshift64*, Vigna 2016: a number below `limit`, which is below 2^53. The state is never 0. */
static inline SIGSAFE uint64_t dnp_random_below(uint64_t *state, uint64_t limit)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return (x * UINT64_C(0x2545f4914f6cdd1d) >> 11) % limit;
}

#endif
