/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "capture/thin.h"
#include "capture/throttle.h"

#define MS      UINT64_C(1000000)
#define ASKED   UINT64_C(524288)
#define EACH    102400.0 /* bytes that an event stands for */
#define RATE    1000
#define TURN_MS 50

/* A program, as the recorder sees it. */
struct run {
	struct dnp_throttle throttle;
	uint64_t now_ns, wanted, turns, kept;
	double sum; /* of weights */
};

static struct run begin(uint32_t rate)
{
	return (struct run){.throttle = dnp_throttle(rate, 0), .wanted = ASKED};
}

/* So many events a second, for a while; how many of them were kept. */
static uint64_t go_on(struct run *run, double per_s, unsigned ms)
{
	uint64_t before = run->kept;
	double due = 0;

	for (unsigned i = 0; i < ms; i++) {
		for (due += per_s / 1000; due >= 1; due--) {
			double lot = dnp_lot(run->turns += DNP_LOT_STEP);
			uint64_t weight = dnp_thin(EACH, lot, run->wanted);

			run->kept += weight != 0;
			run->sum += (double)weight;
		}
		run->now_ns += MS;
		run->wanted = dnp_throttle_wanted(
			&run->throttle, ASKED, run->wanted, run->kept, run->now_ns);
	}
	return run->kept - before;
}

TEST(what_comes_slowly_is_kept_as_it_was_asked_for)
{
	struct run run = begin(RATE);

	go_on(&run, 4000, 10000);
	CHECK_EQ(run.wanted, ASKED);
}

TEST(without_a_throttle_all_is_kept_as_it_was_asked_for)
{
	struct run run = begin(0);

	go_on(&run, 400000, 2000);
	CHECK_EQ(run.wanted, ASKED);
}

TEST(of_very_much_as_much_is_kept_as_the_throttle_lets_through)
{
	struct run run = begin(RATE);
	uint64_t kept, first = go_on(&run, 40000, 1000);

	/* What was saved is used up within seconds, and at first. */
	CHECK(first > 3 * RATE);
	go_on(&run, 40000, 4000);
	CHECK(run.kept < (uint64_t)(DNP_THROTTLE_SAVED + 5 * RATE) * 11 / 10);
	kept = go_on(&run, 40000, 10000);
	CHECK(kept > 9 * RATE && kept < 11 * RATE);
	/* Ten times as much, and a hundredth. */
	go_on(&run, 400000, 1000);
	kept = go_on(&run, 400000, 10000);
	CHECK(kept > 9 * RATE && kept < 11 * RATE);
	go_on(&run, 400, 2000);
	CHECK_EQ(run.wanted, ASKED);
}

/* Sums have no bias, however much comes at a time. */
TEST(sums_are_right_whatever_the_throttle_does)
{
	struct run run = begin(RATE);
	double events = 0;

	for (unsigned i = 0; i < 400; i++) {
		double per_s = i % 40 < 20 ? 1000 : i % 40 < 30 ? 200000 : 20000;

		go_on(&run, per_s, 100);
		events += per_s / 10;
	}
	CHECK(run.wanted > ASKED);
	CHECK(run.sum > events * EACH * 0.98 && run.sum < events * EACH * 1.02);
}

/* Nothing of it is for objects that stand for more than what is wanted: these are all kept. */
TEST(what_is_wanted_stays_within_bounds)
{
	struct dnp_throttle throttle = dnp_throttle(RATE, 0);
	uint64_t wanted = ASKED, kept = 0;

	for (unsigned i = 1; i < 1000; i++)
		wanted = dnp_throttle_wanted(
			&throttle, ASKED, wanted, kept += 100000, i * TURN_MS * MS);
	CHECK_EQ(wanted, DNP_THROTTLE_MOST);
	for (unsigned i = 1000; i < 1100; i++)
		wanted = dnp_throttle_wanted(&throttle, ASKED, wanted, kept, i * TURN_MS * MS);
	CHECK_EQ(wanted, ASKED);
}
