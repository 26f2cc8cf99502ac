/* SPDX-License-Identifier: MIT */
/* Tables whose keys somebody has chosen so that they meet: how far each has to be looked for. */
#include <stdio.h>

#include "base/hash.h"
#include "base/strings.h"
#include "base/vec.h"

#include "test.h"

#define KEYS  2000u
#define SLOTS 4096u /* of a table with so many */

/* More than chance does, of tables that are half full: some 40. */
#define LONG_RUN 200u

/* Slots in a row that are taken: who looks for a key goes through that many at most. */
static unsigned longest_run(const bool *taken, size_t slots)
{
	unsigned run = 0, longest = 0;

	for (size_t i = 0; i < 2 * slots; i++) {
		run = taken[i % slots] ? run + 1 : 0;
		if (run > longest)
			longest = run;
	}
	return longest;
}

static unsigned run_of_map(const uint64_t *keys)
{
	struct dnp_map map = {0};
	bool taken[SLOTS];

	for (uint32_t i = 0; i < KEYS; i++)
		CHECK_EQ(dnp_map_set(&map, keys[i], i), 0);
	CHECK_EQ(map.n, KEYS);
	CHECK_EQ(map.capacity, SLOTS);
	for (uint32_t i = 0; i < KEYS; i++)
		CHECK_EQ(dnp_map_get(&map, keys[i]), i);
	for (size_t i = 0; i < SLOTS; i++)
		taken[i] = map.slots[i].value != DNP_NONE;
	dnp_map_done(&map);
	return longest_run(taken, SLOTS);
}

/* As `dnprof` does, with numbers that nobody could know before. */
static void keep_secret(void)
{
	dnp_hash_keep_secret(UINT64_C(0x9d1f3a57c2b4e680), UINT64_C(0x5be0cd19137e2179));
}

/* All begin at one slot, as long as it is known which. */
TEST(keys_that_were_made_to_meet_do_not)
{
	uint64_t keys[KEYS], key = 0;

	for (size_t i = 0; i < KEYS; key++)
		if (!(dnp_hash(key) % SLOTS))
			keys[i++] = key;
	CHECK_EQ(run_of_map(keys), KEYS);
	keep_secret();
	CHECK(run_of_map(keys) < LONG_RUN);
}

/* What turns x ^= x >> 33 round: it is its own inverse, for 2 * 33 > 64. */
static uint64_t shift(uint64_t x)
{
	return x ^ x >> 33;
}

/* Of the finalizer of MurmurHash3, which is known to all, and can be turned round. */
static uint64_t key_of_hash(uint64_t hash)
{
	uint64_t x = shift(hash) * UINT64_C(0x9cb4b2f8129337db);

	return shift(shift(x) * UINT64_C(0x4f74430c22a54005));
}

TEST(keys_whose_hash_can_be_turned_round_do_not_meet)
{
	uint64_t keys[KEYS];

	for (uint64_t i = 0; i < KEYS; i++)
		keys[i] = key_of_hash((i + 1) << 32);
	CHECK(run_of_map(keys) < LONG_RUN);
}

/* Numbers that count up, as most do, in all of which a bit or two differ. */
TEST(keys_that_count_up_do_not_meet)
{
	uint64_t keys[KEYS];

	for (unsigned by = 0; by < 53; by++) {
		for (uint64_t i = 0; i < KEYS; i++)
			keys[i] = i << by;
		CHECK(run_of_map(keys) < LONG_RUN);
		keep_secret();
	}
}

static unsigned run_of_strings(char (*texts)[24])
{
	struct dnp_strings strings;
	bool taken[SLOTS];
	uint32_t number, again;
	unsigned run;

	CHECK_EQ(dnp_strings_init(&strings), 0);
	for (uint32_t i = 0; i < KEYS; i++) {
		CHECK_EQ(dnp_strings_add(&strings, dnp_str(texts[i]), &number), 0);
		CHECK_EQ(dnp_strings_add(&strings, dnp_str(texts[i]), &again), 0);
		CHECK_EQ(number, again);
		CHECK_STR(dnp_strings_get(&strings, number), texts[i]);
	}
	CHECK_EQ(strings.capacity, SLOTS);
	for (size_t i = 0; i < SLOTS; i++)
		taken[i] = strings.slots[i] != DNP_NONE;
	run = longest_run(taken, SLOTS);
	dnp_strings_done(&strings);
	return run;
}

TEST(names_that_were_made_to_meet_do_not)
{
	static char texts[KEYS][24];
	unsigned n = 0;

	for (unsigned i = 0; n < KEYS; i++) {
		snprintf(texts[n], sizeof(texts[n]), "Name.Of.%u", i);
		if (!(dnp_hash_bytes(dnp_str(texts[n])) % SLOTS))
			n++;
	}
	CHECK(run_of_strings(texts) >= KEYS);
	keep_secret();
	CHECK(run_of_strings(texts) < LONG_RUN);
}

/* One string, however often it comes: a zero in it is a blank. */
TEST(strings_with_zeros_are_one)
{
	struct dnp_strings strings;
	uint32_t first, number;

	CHECK_EQ(dnp_strings_init(&strings), 0);
	CHECK_EQ(dnp_strings_add(&strings, dnp_str("a b"), &first), 0);
	for (unsigned i = 0; i < 1000; i++) {
		CHECK_EQ(dnp_strings_add(&strings, (struct dnp_str){"a\0b", 3}, &number), 0);
		CHECK_EQ(number, first);
	}
	CHECK_EQ(dnp_strings_count(&strings), 2);
	dnp_strings_done(&strings);
}
