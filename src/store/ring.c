/* SPDX-License-Identifier: MIT */
#include "store/ring.h"

#include <string.h>

void dnp_ring_init(struct dnp_ring *ring, uint64_t *words, size_t size)
{
	ring->words = words;
	ring->size = size;
	atomic_init(&ring->head, 0);
	atomic_init(&ring->tail, 0);
}

SIGSAFE int dnp_ring_reserve(struct dnp_ring *ring, size_t n, uint64_t *at)
{
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	/* Pairs with the release in dnp_ring_release: the words are read before they are reused. */
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);

	if (head + n - tail > ring->size)
		return 0;
	*at = head;
	return 1;
}

/* The run that starts at `at`: how many of n words lie before the ring's end. */
static SIGSAFE size_t before_wrap(const struct dnp_ring *ring, uint64_t at, size_t n)
{
	size_t left = ring->size - (size_t)(at & (ring->size - 1));

	return n < left ? n : left;
}

SIGSAFE void dnp_ring_write(struct dnp_ring *ring, uint64_t at, const uint64_t *words, size_t n)
{
	size_t first = before_wrap(ring, at, n);

	memcpy(ring->words + (at & (ring->size - 1)), words, first * sizeof(*words));
	memcpy(ring->words, words + first, (n - first) * sizeof(*words));
}

SIGSAFE void dnp_ring_commit(struct dnp_ring *ring, uint64_t at)
{
	/* Pairs with the acquire in dnp_ring_readable: the words are written before they are seen.
	 */
	atomic_store_explicit(&ring->head, at, memory_order_release);
}

SIGSAFE size_t dnp_ring_room(const struct dnp_ring *ring)
{
	/* The head last: it may have come further meanwhile, but what is in between fits. */
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
	uint64_t used = atomic_load_explicit(&ring->head, memory_order_relaxed) - tail;

	return used < ring->size ? ring->size - (size_t)used : 0;
}

SIGSAFE int dnp_ring_is_filling(struct dnp_ring *ring)
{
	return atomic_load_explicit(&ring->head, memory_order_relaxed) -
		atomic_load_explicit(&ring->tail, memory_order_relaxed) >
		ring->size / 2;
}

size_t dnp_ring_readable(struct dnp_ring *ring, uint64_t *at)
{
	*at = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	return (size_t)(atomic_load_explicit(&ring->head, memory_order_acquire) - *at);
}

void dnp_ring_read(const struct dnp_ring *ring, uint64_t at, uint64_t *words, size_t n)
{
	size_t first = before_wrap(ring, at, n);

	memcpy(words, ring->words + (at & (ring->size - 1)), first * sizeof(*words));
	memcpy(words + first, ring->words, (n - first) * sizeof(*words));
}

void dnp_ring_release(struct dnp_ring *ring, uint64_t at)
{
	atomic_store_explicit(&ring->tail, at, memory_order_release);
}
