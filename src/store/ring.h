/* SPDX-License-Identifier: MIT */
/*
 * A ring of 64-bit words between one producer (a signal handler, or a probe, on its own thread) and
 * one consumer (the drain thread). The producer never waits: what does not fit is refused.
 *
 * Invariant: tail <= head <= tail + size; words in [tail, head) are the consumer's, the others the
 * producer's. head and tail count words for ever; a word's place is its count modulo the size.
 */
#ifndef DNP_STORE_RING_H
#define DNP_STORE_RING_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"

struct dnp_ring {
	uint64_t *words; /* borrowed */
	size_t size;     /* words, a power of two */
	_Atomic uint64_t head;
	_Atomic uint64_t tail;
};

/* Memory is the caller's; `size` is a power of two. */
void dnp_ring_init(struct dnp_ring *ring, uint64_t *words, size_t size);

/*
 * Producer: where to write, if `n` words fit; 0: they do not. Writes go to *at and following by
 * dnp_ring_write, and are seen by the consumer after dnp_ring_commit.
 */
SIGSAFE int dnp_ring_reserve(struct dnp_ring *ring, size_t n, uint64_t *at);
SIGSAFE void dnp_ring_write(struct dnp_ring *ring, uint64_t at, const uint64_t *words, size_t n);
SIGSAFE void dnp_ring_commit(struct dnp_ring *ring, uint64_t at);

/* How many words fit now; more, once the consumer has read some. */
SIGSAFE size_t dnp_ring_room(const struct dnp_ring *ring);
/* Producer: whether more than half of the ring waits for the consumer. */
SIGSAFE int dnp_ring_is_filling(struct dnp_ring *ring);

/* Consumer: words that can be read now, from *at on. */
size_t dnp_ring_readable(struct dnp_ring *ring, uint64_t *at);
void dnp_ring_read(const struct dnp_ring *ring, uint64_t at, uint64_t *words, size_t n);
/* Consumer: gives all words before `at` back to the producer. */
void dnp_ring_release(struct dnp_ring *ring, uint64_t at);

#endif
