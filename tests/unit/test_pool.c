/* SPDX-License-Identifier: MIT */
/* Entries that never move. */
#include "base/pool.h"

#include "test.h"

TEST(pool_entries_stay)
{
	struct dnp_pool pool = {.entry_bytes = sizeof(uint64_t)};
	uint64_t *first;

	CHECK_EQ(dnp_pool_new(&pool), 1);
	first = dnp_pool_at(&pool, 1);
	for (uint32_t i = 2; i <= 3 * DNP_POOL_AT_ONCE; i++) {
		CHECK_EQ(dnp_pool_new(&pool), i);
		CHECK_EQ(*(uint64_t *)dnp_pool_at(&pool, i), 0);
		*(uint64_t *)dnp_pool_at(&pool, i) = i;
	}
	CHECK(dnp_pool_at(&pool, 1) == first);
	for (uint32_t i = 2; i <= 3 * DNP_POOL_AT_ONCE; i++)
		CHECK_EQ(*(uint64_t *)dnp_pool_at(&pool, i), i);
	dnp_pool_done(&pool);
}

TEST(pool_numbers_come_again)
{
	struct dnp_pool pool = {.entry_bytes = 4};

	for (int i = 0; i < 10; i++)
		dnp_pool_new(&pool);
	dnp_pool_free(&pool, 3);
	dnp_pool_free(&pool, 7);
	CHECK_EQ(dnp_pool_new(&pool), 7);
	CHECK_EQ(dnp_pool_new(&pool), 3);
	CHECK_EQ(dnp_pool_new(&pool), 11);
	dnp_pool_done(&pool);
	CHECK_EQ(dnp_pool_new(&pool), 1);
	dnp_pool_done(&pool);
}

TEST(pool_has_an_end)
{
	struct dnp_pool pool = {.entry_bytes = 1};

	for (uint32_t i = 1; i < 1u << 20; i++)
		CHECK_EQ(dnp_pool_new(&pool), i);
	CHECK_EQ(dnp_pool_new(&pool), 0);
	dnp_pool_free(&pool, 5);
	CHECK_EQ(dnp_pool_new(&pool), 5);
	dnp_pool_done(&pool);
}
