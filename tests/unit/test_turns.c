/* SPDX-License-Identifier: MIT */
/* Who has a turn when, and how often. */
#include <stdlib.h>

#include "capture/pace.h"
#include "capture/turns.h"
#include "test.h"

#define THREADS 20

static struct dnp_thread threads[THREADS];
static uint64_t random_state = 1;
static int begun;

static void begin(struct dnp_thread *thread)
{
	(void)thread;
	begun++;
}

static void add(int from, int to)
{
	for (int i = from; i < to; i++)
		dnp_turns_add(&threads[i]);
}

/* Counts the turns of `n` in a row. */
static void take(int n, int *turns)
{
	memset(turns, 0, THREADS * sizeof(*turns));
	while (n--) {
		struct dnp_thread *thread = dnp_turns_next(&random_state);

		CHECK(thread);
		turns[thread - threads]++;
	}
}

TEST(each_thread_has_one_turn_a_round)
{
	int turns[THREADS], firsts[THREADS] = {0};

	CHECK(!dnp_turns_next(&random_state));
	add(0, THREADS);
	CHECK_EQ(dnp_turns_take_new(begin), THREADS);
	CHECK_EQ(begun, THREADS);
	for (int round = 0; round < 200; round++) {
		int first;

		take(1, turns);
		for (first = 0; !turns[first]; first++)
			;
		firsts[first]++;
		take(THREADS - 1, turns);
		for (int i = 0; i < THREADS; i++)
			CHECK_EQ(turns[i], i != first);
	}
	/* In an order of its own each time: none of 20 begins 200 times in 40. */
	for (int i = 0; i < THREADS; i++)
		CHECK(firsts[i] < 40);
}

TEST(turns_of_threads_that_come_and_go)
{
	int turns[THREADS], again[THREADS];

	add(0, 10);
	CHECK_EQ(dnp_turns_take_new(begin), 10);
	take(4, turns);
	for (int i = 0; i < 10; i += 3) /* some of those that have had theirs, some of the others */
		dnp_turns_remove(&threads[i]);
	CHECK(!dnp_turns_has(&threads[3]) && dnp_turns_has(&threads[4]));
	add(10, 12);
	CHECK_EQ(dnp_turns_take_new(begin), 8);
	take(8 - turns[1] - turns[2] - turns[4] - turns[5] - turns[7] - turns[8], again);
	for (int i = 0; i < 12; i++)
		CHECK_EQ(again[i] + (i % 3 ? turns[i] : 0), i % 3 != 0 || i > 9);
	for (int n = 0; dnp_turns_take_out(); n++)
		CHECK(n < 8);
	CHECK(!dnp_turns_next(&random_state));
}

TEST(looks_are_as_many_as_are_due_on_average)
{
	struct dnp_pace pace;
	uint64_t looks = 0;

	dnp_pace_begin(&pace, 10000000);
	CHECK_EQ(dnp_pace_slot(&pace, 4), 2500000);
	CHECK_EQ(dnp_pace_slot(&pace, 0), 10000000);
	CHECK(dnp_pace_slot(&pace, DNP_THREADS_MAX) >= 200000); /* not above 5,000 a second */
	for (int i = 0; i < 10000; i++) {
		uint64_t rest_ns = dnp_pace_rest(&pace, 2500000);

		CHECK(rest_ns >= 2500000 && rest_ns <= 7500001);
		looks += dnp_pace_due(&pace, 6250000, 2500000, 4);
	}
	CHECK(looks > 24500 && looks < 25500); /* 2.5 each: ten standard deviations of 50 */
	CHECK_EQ(dnp_pace_due(&pace, 1000000000, 2500000, 4), 4);
}
