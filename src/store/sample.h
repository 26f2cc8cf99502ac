/* SPDX-License-Identifier: MIT */
/*
 * A sample on its way through a ring, and the trick that keeps rings small: only the frames that
 * differ from the thread's sample before are written. Stacks of one thread mostly share their root.
 *
 *   word 0   frames written (16 bits), frames shared with the sample before, counted from the
 *            root (16), weight (16), flags (8), event (8)
 *   word 1   time, CLOCK_MONOTONIC ns
 *   word 2…  the frames that are new, leaf first
 */
#ifndef DNP_STORE_SAMPLE_H
#define DNP_STORE_SAMPLE_H

#include <stdint.h>

#include "base/clean.h"

#define DNP_SAMPLE_WORDS 2

/* In a ring only, not in recordings: the thread was doing a garbage collection. */
#define DNP_SAMPLE_COLLECTING 0x80

struct dnp_sample {
	uint64_t time_ns;
	uint16_t written; /* frames that follow */
	uint16_t shared;  /* frames shared with the sample before */
	uint16_t weight;
	uint8_t flags; /* enum dnp_sample_flags and the one above */
	uint8_t event; /* event index */
};

static inline SIGSAFE void dnp_sample_pack(const struct dnp_sample *sample, uint64_t words[2])
{
	words[0] = (uint64_t)sample->written | (uint64_t)sample->shared << 16 |
		(uint64_t)sample->weight << 32 | (uint64_t)sample->flags << 48 |
		(uint64_t)sample->event << 56;
	words[1] = sample->time_ns;
}

static inline struct dnp_sample dnp_sample_unpack(const uint64_t words[2])
{
	return (struct dnp_sample){
		.time_ns = words[1],
		.written = (uint16_t)words[0],
		.shared = (uint16_t)(words[0] >> 16),
		.weight = (uint16_t)(words[0] >> 32),
		.flags = (uint8_t)(words[0] >> 48),
		.event = (uint8_t)(words[0] >> 56),
	};
}

#endif
