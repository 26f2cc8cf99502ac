/* SPDX-License-Identifier: MIT */
/*
 * A sample on its way through a ring, and the trick that keeps rings small: only the frames that
 * differ from the thread's sample before are written. Stacks of one thread mostly share their root.
 * Where code has gone meanwhile, all are: one address may be of two methods.
 *
 *   word 0   frames written (16 bits), frames shared with the sample before, counted from the
 *            root (16), weight (16), flags (8), event (8)
 *   word 1   time, CLOCK_MONOTONIC ns
 *   words 2, 3   of wide samples: weight and value
 *   then     the frames that are new, leaf first
 *
 * One whose thread met code that nobody has told of yet is not walked from there on: its frames are
 * those that were, `shared` of them, and behind them stand the registers and a copy of the stack.
 */
#ifndef DNP_STORE_SAMPLE_H
#define DNP_STORE_SAMPLE_H

#include <stdint.h>

#include "base/clean.h"
#include "unwind/walk.h"

#define DNP_SAMPLE_WORDS      2
#define DNP_SAMPLE_WIDE_WORDS 2 /* that wide ones have besides */
#define DNP_SAMPLE_WORDS_MAX  (DNP_SAMPLE_WORDS + DNP_SAMPLE_WIDE_WORDS)

/* In a ring only, not in recordings: the thread was doing a garbage collection. */
#define DNP_SAMPLE_COLLECTING 0x80
/* … weight and value stand in words of their own, for the weight may be greater than 65,535. */
#define DNP_SAMPLE_WIDE 0x40
/* … the rest of its stack is still to be walked, by who drains the ring. */
#define DNP_SAMPLE_UNWALKED   0x20
#define DNP_SAMPLE_RING_FLAGS (DNP_SAMPLE_COLLECTING | DNP_SAMPLE_WIDE | DNP_SAMPLE_UNWALKED)

struct dnp_sample {
	uint64_t time_ns;
	uint16_t written; /* frames that follow; if it is not walked, words */
	uint16_t shared;  /* frames shared with the sample before; if it is not walked, frames */
	uint8_t flags;    /* enum dnp_sample_flags and those above */
	uint8_t event;    /* event index */
	uint64_t weight;  /* up to 65,535 where it is not wide: see dnp_sample_fit */
	uint64_t value;   /* of wide ones; see the record */
};

/* Where the walk is to go on; then the words of the stack. */
struct dnp_unwalked {
	struct dnp_regs regs;
	uintptr_t low;  /* where the stack's first word lay */
	uint64_t exact; /* 1: the address is an instruction, 0: a return address */
};

#define DNP_UNWALKED_WORDS (sizeof(struct dnp_unwalked) / sizeof(uint64_t))

/* How many words come before its frames. */
static inline SIGSAFE uint32_t dnp_sample_words(const struct dnp_sample *sample)
{
	return sample->flags & DNP_SAMPLE_WIDE ? DNP_SAMPLE_WORDS_MAX : DNP_SAMPLE_WORDS;
}

/* A weight that has no room in the first word makes a sample wide. */
static inline SIGSAFE void dnp_sample_fit(struct dnp_sample *sample)
{
	if (sample->weight > UINT16_MAX)
		sample->flags |= DNP_SAMPLE_WIDE;
}

static inline SIGSAFE void dnp_sample_pack(
	const struct dnp_sample *sample, uint64_t words[DNP_SAMPLE_WORDS_MAX])
{
	int wide = sample->flags & DNP_SAMPLE_WIDE;

	words[0] = (uint64_t)sample->written | (uint64_t)sample->shared << 16 |
		(wide ? 0 : sample->weight) << 32 | (uint64_t)sample->flags << 48 |
		(uint64_t)sample->event << 56;
	words[1] = sample->time_ns;
	words[2] = sample->weight;
	words[3] = sample->value;
}

/* Without what is wide of it. */
static inline struct dnp_sample dnp_sample_unpack(const uint64_t words[DNP_SAMPLE_WORDS])
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
