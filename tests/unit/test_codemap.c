/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "clr/codemap.h"
#include "os/clock.h"
#include "os/generation.h"

static void add(
	struct dnp_codemap *map, uintptr_t begin, uint32_t bytes, uint32_t method, uint64_t now_ns)
{
	struct dnp_code code = {
		.begin = begin, .bytes = bytes, .method = method, .born_ns = now_ns};

	CHECK_EQ(dnp_codemap_add(map, &code, 1), 0);
}

/* The method at an address, 0: none. */
static uint32_t at(const struct dnp_codemap *map, uintptr_t pc)
{
	const struct dnp_code *code = dnp_codemap_find(map, pc);

	return code ? code->method : 0;
}

static uint32_t at_time(struct dnp_codemap *map, uintptr_t pc, uint64_t time_ns)
{
	struct dnp_code code;

	return dnp_codemap_find_at(map, pc, time_ns, &code) ? code.method : 0;
}

TEST(codemap_finds_first_and_last_byte_and_nothing_else)
{
	struct dnp_codemap *map = dnp_codemap_new();

	CHECK_EQ(at(map, 0x1000), 0);
	add(map, 0x1000, 0x10, 7, 1);
	CHECK_EQ(at(map, 0xfff), 0);
	CHECK_EQ(at(map, 0x1000), 7);
	CHECK_EQ(at(map, 0x100f), 7);
	CHECK_EQ(at(map, 0x1010), 0);
	dnp_codemap_free(map);
}

TEST(codemap_without_memory_is_empty)
{
	struct dnp_codemap_stats stats;

	CHECK(dnp_codemap_add(NULL, &(struct dnp_code){.bytes = 1}, 1) < 0);
	CHECK_EQ(dnp_codemap_retire(NULL, 0, 1, 1), 0);
	CHECK_EQ(at_time(NULL, 1, 1), 0);
	dnp_codemap_reclaim(NULL, 1);
	dnp_codemap_stats(NULL, &stats);
	CHECK_EQ(stats.live, 0);
}

#define MANY 20000

/* Each order stresses another way to insert: behind, in front, in the middle. */
static void fill_and_check(const uint32_t *order)
{
	struct dnp_codemap *map = dnp_codemap_new();
	struct dnp_codemap_stats stats;

	for (uint32_t i = 0; i < MANY; i++)
		add(map, 0x100000 + order[i] * 0x40UL, 0x30, order[i] + 1, i);
	for (uint32_t i = 0; i < MANY; i++) {
		CHECK_EQ(at(map, 0x100000 + i * 0x40UL), i + 1);
		CHECK_EQ(at(map, 0x10002f + i * 0x40UL), i + 1);
		CHECK_EQ(at(map, 0x100030 + i * 0x40UL), 0);
	}
	dnp_codemap_stats(map, &stats);
	CHECK_EQ(stats.live, MANY);
	CHECK_EQ(stats.retired, 0);
	dnp_codemap_free(map);
}

TEST(codemap_takes_code_in_any_order)
{
	static uint32_t order[MANY];

	for (uint32_t i = 0; i < MANY; i++)
		order[i] = i;
	fill_and_check(order);
	for (uint32_t i = 0; i < MANY; i++)
		order[i] = MANY - 1 - i;
	fill_and_check(order);
	srand(1);
	for (uint32_t i = MANY - 1; i > 0; i--) {
		uint32_t k = (uint32_t)rand() % (i + 1), swap = order[i];

		order[i] = order[k];
		order[k] = swap;
	}
	fill_and_check(order);
}

TEST(codemap_new_code_retires_what_was_there)
{
	struct dnp_codemap *map = dnp_codemap_new();
	uint64_t generation = dnp_generation();

	add(map, 0x1000, 0x100, 1, 10);
	add(map, 0x1100, 0x100, 2, 10);
	add(map, 0x1200, 0x100, 3, 10);
	CHECK_EQ(dnp_generation(), generation);
	add(map, 0x10f0, 0x120, 4, 20); /* over the end of 1, all of 2, the start of 3 */
	CHECK(dnp_generation() > generation);
	CHECK_EQ(at(map, 0x1000), 0);
	CHECK_EQ(at(map, 0x1180), 4);
	CHECK_EQ(at(map, 0x1250), 0);
	/* A sample from before still finds the old code, one from after the new one. */
	CHECK_EQ(at_time(map, 0x1180, 15), 2);
	CHECK_EQ(at_time(map, 0x1180, 25), 4);
	CHECK_EQ(at_time(map, 0x1000, 20), 1);
	CHECK_EQ(at_time(map, 0x1000, 21), 0);
	dnp_codemap_reclaim(map, 20);
	CHECK_EQ(at_time(map, 0x1180, 15), 2);
	dnp_codemap_reclaim(map, 21);
	CHECK_EQ(at_time(map, 0x1180, 15), 4);
	CHECK_EQ(at_time(map, 0x1000, 15), 0);
	dnp_codemap_free(map);
}

TEST(codemap_an_address_used_three_times_knows_each_time)
{
	struct dnp_codemap *map = dnp_codemap_new();

	add(map, 0x1000, 0x100, 1, 10);
	add(map, 0x1000, 0x80, 2, 20);
	CHECK_EQ(dnp_codemap_retire(map, 0x1000, 0x1001, 30), 1);
	add(map, 0x1000, 0x40, 3, 40);
	CHECK_EQ(at_time(map, 0x1010, 12), 1);
	CHECK_EQ(at_time(map, 0x1010, 25), 2);
	CHECK_EQ(at_time(map, 0x1010, 45), 3);
	dnp_codemap_free(map);
}

TEST(codemap_retires_by_method)
{
	struct dnp_codemap *map = dnp_codemap_new();
	struct dnp_codemap_stats stats;

	for (uint32_t i = 1; i <= 1000; i++)
		add(map, i * 0x100UL, 0x80, i, i);
	for (uint32_t i = 1; i <= 1000; i += 2)
		CHECK_EQ(dnp_codemap_retire_method(map, i, 2000), 1);
	for (uint32_t i = 1; i <= 1000; i++) {
		CHECK_EQ(at(map, i * 0x100UL), i & 1 ? 0 : i);
		CHECK_EQ(at_time(map, i * 0x100UL, 1500), i);
	}
	for (uint32_t i = 1; i <= 1000; i++)
		CHECK_EQ(dnp_codemap_retire_method(map, i, 3000), !(i & 1));
	CHECK_EQ(dnp_codemap_retire_method(map, 0, 3000), 0);
	CHECK_EQ(dnp_codemap_retire_method(map, 1000000, 3000), 0);
	dnp_codemap_reclaim(map, 4000);
	dnp_codemap_stats(map, &stats);
	CHECK_EQ(stats.live, 0);
	CHECK_EQ(stats.retired, 0);
	add(map, 0x5000, 0x80, 5, 5000);
	CHECK_EQ(at(map, 0x5000), 5);
	dnp_codemap_free(map);
}

/* Its parts, wherever they are, and nothing in between. */
TEST(codemap_retires_all_parts_of_a_method)
{
	struct dnp_codemap *map = dnp_codemap_new();

	for (uint32_t i = 1; i <= 1000; i++)
		add(map, i * 0x100UL, 0x80, i % 100 ? i : 7777, i);
	CHECK_EQ(dnp_codemap_retire_method(map, 7777, 2000), 10);
	for (uint32_t i = 1; i <= 1000; i++)
		CHECK_EQ(at(map, i * 0x100UL), i % 100 ? i : 0);
	dnp_codemap_free(map);
}

/* Programs that make and drop dynamic methods all the time: what one costs does not grow. */
TEST(codemap_retires_one_of_many_at_the_price_of_one)
{
	struct dnp_codemap *map = dnp_codemap_new();
	struct dnp_codemap_stats before, after;

	for (uint32_t i = 1; i <= 100000; i++)
		add(map, i * 0x100UL, 0x80, i, i);
	dnp_codemap_stats(map, &before);
	for (uint32_t i = 50; i <= 100000; i += 100)
		CHECK_EQ(dnp_codemap_retire_method(map, i, 200000), 1);
	dnp_codemap_stats(map, &after);
	CHECK_EQ(after.live, before.live - 1000);
	CHECK(after.searched - before.searched <= 2 * 1000);
	dnp_codemap_free(map);
}

/* A long entry whose neighbours' bucket begins inside of what used to be free. */
TEST(codemap_finds_code_that_crosses_a_bucket)
{
	struct dnp_codemap *map = dnp_codemap_new();

	for (uint32_t i = 0; i < 1000; i++)
		add(map, 0x10000 + i * 0x100UL, 0x80, i + 1, 1);
	dnp_codemap_retire(map, 0x10000, 0x10000 + 1000 * 0x100UL, 2);
	add(map, 0x10000, 1000 * 0x100, 7777, 3);
	for (uint32_t i = 0; i < 1000; i++)
		CHECK_EQ(at(map, 0x10000 + i * 0x100UL), 7777);
	dnp_codemap_free(map);
}

TEST(codemap_memory_is_used_again)
{
	struct dnp_codemap *map = dnp_codemap_new();
	struct dnp_codemap_stats before, after;

	for (uint32_t i = 0; i < 500; i++)
		add(map, 0x10000 + i * 0x100UL, 0x80, i + 1, i);
	dnp_codemap_reclaim(map, dnp_now_ns() + 1);
	dnp_codemap_stats(map, &before);
	for (uint32_t round = 1; round < 200; round++) {
		for (uint32_t i = 0; i < 500; i++)
			add(map, 0x10000 + i * 0x100UL, 0x80, i + 1, round);
		dnp_codemap_reclaim(map, dnp_now_ns() + 1);
	}
	dnp_codemap_stats(map, &after);
	CHECK_EQ(after.live, 500);
	CHECK(after.bytes < before.bytes + (3 << 20));
	dnp_codemap_free(map);
}

/* ---- Readers beside writers: an entry that is found is whole and right */

#define REGIONS 64

static struct dnp_codemap *shared;
static _Atomic bool stop;
static _Atomic uint64_t walks[2]; /* odd: a reader is inside of one */

/* Method and extent say the same, so that a torn or reused entry is seen. */
static void *read_all_the_time(void *arg)
{
	_Atomic uint64_t *walk = arg;
	uint32_t seed = (uint32_t)(walk - walks) + 1;

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		atomic_fetch_add(walk, 1);
		for (int i = 0; i < 100; i++) {
			uintptr_t pc;
			const struct dnp_code *code;

			seed = seed * 1103515245 + 12345;
			pc = 0x100000 + (seed >> 8) % (REGIONS * 64) * 0x40UL;
			code = dnp_codemap_find(shared, pc);
			if (code &&
				(pc - code->begin >= code->bytes ||
					code->method != code->begin + code->bytes))
				abort();
		}
		atomic_fetch_add_explicit(walk, 1, memory_order_acq_rel);
	}
	return NULL;
}

static void *write_region(void *arg)
{
	uint32_t region = *(uint32_t *)arg, seed = region + 77;

	for (int i = 0; i < 3000; i++) {
		uint64_t now = dnp_now_ns();
		struct dnp_code code = {.born_ns = now};

		seed = seed * 1103515245 + 12345;
		code.begin = 0x100000 + ((seed >> 8) % (REGIONS * 32) * 2 + region) * 0x40UL;
		code.bytes = 0x10 + (seed >> 4) % 0x30;
		code.method = (uint32_t)code.begin + code.bytes;
		if (i % 7 == 0)
			dnp_codemap_retire(shared, code.begin, code.begin + 0x200, now);
		else if (dnp_codemap_add(shared, &code, 1) < 0)
			abort();
	}
	return NULL;
}

/* As the agent does it: time, then wait until each walk that may have begun before has ended. */
static void reclaim_once(void)
{
	uint64_t before = dnp_now_ns();

	for (size_t i = 0; i < 2; i++) {
		uint64_t seen = atomic_load(&walks[i]);

		while (seen & 1 && atomic_load(&walks[i]) == seen &&
			!atomic_load_explicit(&stop, memory_order_relaxed))
			sched_yield();
	}
	dnp_codemap_reclaim(shared, before);
}

TEST(codemap_readers_need_no_lock)
{
	pthread_t readers[2], writers[2];
	uint32_t regions[2] = {0, 1};

	shared = dnp_codemap_new();
	for (size_t i = 0; i < 2; i++) {
		CHECK_EQ(pthread_create(&readers[i], NULL, read_all_the_time, &walks[i]), 0);
		CHECK_EQ(pthread_create(&writers[i], NULL, write_region, &regions[i]), 0);
	}
	for (int i = 0; i < 200; i++)
		reclaim_once();
	for (size_t i = 0; i < 2; i++)
		pthread_join(writers[i], NULL);
	atomic_store_explicit(&stop, true, memory_order_relaxed);
	for (size_t i = 0; i < 2; i++)
		pthread_join(readers[i], NULL);
	dnp_codemap_free(shared);
}
