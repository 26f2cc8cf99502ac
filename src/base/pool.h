/* SPDX-License-Identifier: MIT */
/*
 * Entries that never move, each with a number of its own: 1 and on; those that are given back are
 * given out again.
 *
 *   static struct dnp_pool pool = {.entry_bytes = sizeof(struct method)};
 *   uint32_t number = dnp_pool_new(&pool);
 *   if (!number) return -ENOMEM;
 *   struct method *method = dnp_pool_at(&pool, number);
 *
 * One thread at a time, but for dnp_pool_at: an entry whose number one has may be looked at from
 * any thread and signal handler. It is zero when its number is given out for the first time, and
 * else as it was left.
 */
#ifndef DNP_BASE_POOL_H
#define DNP_BASE_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

#define DNP_POOL_AT_ONCE 512u /* entries that come together */
#define DNP_POOL_CHUNKS  2048u
#define DNP_POOL_MOST    (DNP_POOL_AT_ONCE * DNP_POOL_CHUNKS - 1) /* numbers are below 2^20 */

struct dnp_pool {
	size_t entry_bytes;
	unsigned char *chunks[DNP_POOL_CHUNKS]; /* owned */
	uint32_t n;                             /* numbers up to this one have been given out */
	struct dnp_vec_of(uint32_t) unused;     /* of these, the ones that were given back */
};

/* Of a number that was given out. Signal-safe. */
static inline void *dnp_pool_at(const struct dnp_pool *pool, uint32_t number)
{
	uint32_t i = number - 1;

	return pool->chunks[i / DNP_POOL_AT_ONCE] + i % DNP_POOL_AT_ONCE * pool->entry_bytes;
}

/* 0: no memory, or no number left. */
uint32_t dnp_pool_new(struct dnp_pool *pool);

void dnp_pool_free(struct dnp_pool *pool, uint32_t number);

/* Frees all entries; the pool is empty then, and can be used again. */
void dnp_pool_done(struct dnp_pool *pool);

#endif
