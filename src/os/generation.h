/* SPDX-License-Identifier: MIT */
/*
 * Counts the times that code went away, of whatever kind: part of every cache key, so that nothing
 * remembered about an address outlives the code that was there.
 *
 * Who takes code away publishes that first and bumps then (release); who looks code up reads the
 * generation first (acquire). What a reader computes from the older state, it stores under the
 * older generation.
 */
#ifndef DNP_OS_GENERATION_H
#define DNP_OS_GENERATION_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/clean.h"

extern _Atomic uint64_t dnp_code_generation;

SIGSAFE static inline uint64_t dnp_generation(void)
{
	return atomic_load_explicit(&dnp_code_generation, memory_order_acquire);
}

static inline void dnp_generation_bump(void)
{
	atomic_fetch_add_explicit(&dnp_code_generation, 1, memory_order_release);
}

#endif
