/* SPDX-License-Identifier: MIT */
#include "store/overflow.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "os/mem.h"
#include "store/ring.h"

#define HEAD_WORDS (sizeof(struct dnp_overflow) / sizeof(uint64_t))

_Static_assert(
	sizeof(struct dnp_overflow) == HEAD_WORDS * sizeof(uint64_t), "it is a ring's words");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of those that put */
static struct dnp_ring ring;
static uint64_t *words; /* owned: the ring's; NULL: there is no room */

int dnp_overflow_open(void)
{
	uint64_t *memory = dnp_mem_map(DNP_OVERFLOW_WORDS * sizeof(*memory));

	if (!memory)
		return -ENOMEM;
	pthread_mutex_lock(&lock);
	words = memory;
	dnp_ring_init(&ring, words, DNP_OVERFLOW_WORDS);
	pthread_mutex_unlock(&lock);
	return 0;
}

void dnp_overflow_close(void)
{
	uint64_t *memory;

	pthread_mutex_lock(&lock);
	memory = words;
	words = NULL;
	pthread_mutex_unlock(&lock);
	if (memory)
		dnp_mem_unmap(memory, DNP_OVERFLOW_WORDS * sizeof(*memory));
}

/* With the lock, and memory. What is not walked yet leaves half of the room to others. */
static int put(const struct dnp_overflow *one, const uint64_t *behind)
{
	size_t n = HEAD_WORDS + one->n,
	       besides = one->sample.flags & DNP_SAMPLE_UNWALKED ? DNP_OVERFLOW_WORDS / 2 : 0;
	uint64_t head[HEAD_WORDS], at;

	if (!dnp_ring_reserve(&ring, n + besides, &at))
		return 0;
	memcpy(head, one, sizeof(head));
	dnp_ring_write(&ring, at, head, HEAD_WORDS);
	dnp_ring_write(&ring, at + HEAD_WORDS, behind, one->n);
	dnp_ring_commit(&ring, at + n);
	return 1;
}

int dnp_overflow_has_room(uint32_t n)
{
	uint64_t at;
	int has_room;

	pthread_mutex_lock(&lock);
	has_room = words && dnp_ring_reserve(&ring, HEAD_WORDS + n + DNP_OVERFLOW_WORDS / 2, &at);
	pthread_mutex_unlock(&lock);
	return has_room;
}

int dnp_overflow_put(const struct dnp_overflow *one, const uint64_t *behind)
{
	int stored;

	pthread_mutex_lock(&lock);
	stored = words && put(one, behind);
	pthread_mutex_unlock(&lock);
	return stored;
}

uint64_t dnp_overflow_end(void)
{
	uint64_t at = 0;

	return words ? dnp_ring_readable(&ring, &at) + at : 0;
}

int dnp_overflow_take(struct dnp_overflow *one, uint64_t *behind, uint64_t end)
{
	uint64_t head[HEAD_WORDS], at;

	if (!words || !dnp_ring_readable(&ring, &at) || at >= end)
		return 0;
	dnp_ring_read(&ring, at, head, HEAD_WORDS);
	memcpy(one, head, sizeof(head));
	dnp_ring_read(&ring, at + HEAD_WORDS, behind, one->n);
	dnp_ring_release(&ring, at + HEAD_WORDS + one->n);
	return 1;
}

size_t dnp_overflow_bytes(void)
{
	uint64_t at;
	size_t used;

	if (!words)
		return 0;
	used = dnp_ring_readable(&ring, &at);
	used += (size_t)at;
	return (used < DNP_OVERFLOW_WORDS ? used : DNP_OVERFLOW_WORDS) * sizeof(uint64_t);
}
