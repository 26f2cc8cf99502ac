/* SPDX-License-Identifier: MIT */
#include "base/pool.h"

uint32_t dnp_pool_new(struct dnp_pool *pool)
{
	uint32_t chunk = pool->n / DNP_POOL_AT_ONCE;

	if (pool->unused.n)
		return pool->unused.p[--pool->unused.n];
	if (pool->n == DNP_POOL_MOST)
		return 0;
	if (!pool->chunks[chunk])
		pool->chunks[chunk] = calloc(DNP_POOL_AT_ONCE, pool->entry_bytes);
	return pool->chunks[chunk] ? ++pool->n : 0;
}

void dnp_pool_free(struct dnp_pool *pool, uint32_t number)
{
	/* Without memory for it the number is not used again, no more. */
	(void)!dnp_vec_push(&pool->unused, number);
}

void dnp_pool_done(struct dnp_pool *pool)
{
	for (uint32_t i = 0; i < DNP_POOL_CHUNKS && pool->chunks[i]; i++) {
		free(pool->chunks[i]);
		pool->chunks[i] = NULL;
	}
	pool->n = 0;
	dnp_vec_done(&pool->unused);
}
