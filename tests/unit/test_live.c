/* SPDX-License-Identifier: MIT */
/* Objects that are watched: places, lots, and what they have come through. */
#include "test.h"

#include "base/clean.h"
#include "capture/live_objects.h"
#include "capture/thin.h"

static struct dnp_live_object memory[8];

TEST(live_places_are_taken_and_given_back)
{
	struct dnp_live_objects objects;

	dnp_live_objects_init(&objects, memory, DNP_ARRAY_SIZE(memory));
	for (uint32_t i = 0; i < 6; i++)
		CHECK_EQ(dnp_live_take(&objects), i);
	CHECK(!dnp_live_is_crowded(&objects));
	CHECK_EQ(dnp_live_take(&objects), 6);
	CHECK(dnp_live_is_crowded(&objects));
	CHECK_EQ(dnp_live_take(&objects), 7);
	CHECK_EQ(dnp_live_take(&objects), DNP_LIVE_NONE);
	CHECK_EQ(objects.n, 8);
	dnp_live_give(&objects, 3);
	dnp_live_give(&objects, 5);
	CHECK_EQ(dnp_live_take(&objects), 5);
	CHECK_EQ(dnp_live_take(&objects), 3);
	CHECK_EQ(dnp_live_take(&objects), DNP_LIVE_NONE);
	CHECK_EQ(objects.end, 8);
}

/* A place may be given back without an object that is watched. */
TEST(live_objects_count_when_they_are_kept)
{
	struct dnp_live_objects objects;

	dnp_live_objects_init(&objects, memory, DNP_ARRAY_SIZE(memory));
	for (unsigned i = 0; i < 6; i++) {
		uint32_t place = dnp_live_take(&objects);

		if (i % 2)
			dnp_live_give(&objects, place);
		else
			dnp_live_keep(&objects);
	}
	CHECK_EQ(objects.watched, 3);
	CHECK_EQ(objects.most, 3);
	CHECK_EQ(objects.n, 3);
}

/* Whatever the mean grows to: what stays weighs as much as there was. */
TEST(live_weights_have_no_bias)
{
	enum { LOTS = 100000, BYTES = 3000 };

	for (uint64_t mean = 1024; mean <= 1 << 20; mean *= 2) {
		double sum = 0;

		for (unsigned i = 0; i < LOTS; i++)
			sum += (double)dnp_thin(BYTES, (i + 0.5) / LOTS, mean);
		CHECK(sum / LOTS > BYTES * 0.99 && sum / LOTS < BYTES * 1.01);
	}
}

/* Who goes when the mean grows does not come back. */
TEST(live_objects_that_stay_are_among_those_before)
{
	for (unsigned i = 0; i < 1000; i++)
		for (uint64_t mean = 1024; mean < 1 << 20; mean *= 2)
			if (!dnp_thin(5000, i / 1000.0, mean))
				CHECK(!dnp_thin(5000, i / 1000.0, mean * 2));
	CHECK_EQ(dnp_thin(5000, 0.999, 4096), 5000);
	CHECK_EQ(dnp_thin(5000, 0, UINT64_C(1) << 40), UINT64_C(1) << 40);
}

/* Nobody gives anything back: all the same a half lasts twice as long as the one before. */
TEST(room_lasts_longer_the_less_there_is)
{
	enum { ENOUGH = 4096 };
	double came = 0, half = 0;

	CHECK_EQ(dnp_shortage(2 * ENOUGH, ENOUGH), 0);
	CHECK_EQ(dnp_shortage(ENOUGH, ENOUGH), 0);
	for (size_t room = ENOUGH; room-- > 1;) {
		came += (double)(UINT64_C(1) << dnp_shortage(room, ENOUGH));
		if (room == ENOUGH / 2)
			half = came;
		for (uint64_t power = 2; power <= 6; power++)
			if (room == (size_t)ENOUGH >> power)
				CHECK(came > half * (double)((1 << power) - 1) * 0.99);
	}
	CHECK_EQ(dnp_shortage(0, ENOUGH), DNP_SHORTAGE_MAX);
}

static struct dnp_live_object made(const struct dnp_live_clock *clock, bool young)
{
	struct dnp_live_times now = dnp_live_clock_now(clock);

	return (struct dnp_live_object){
		.begun = now.begun, .full_begun = now.full_begun, .young = young};
}

static uint32_t survived(
	const struct dnp_live_clock *clock, const struct dnp_live_object *object, uint32_t *full)
{
	struct dnp_live_times now = dnp_live_clock_now(clock);

	return dnp_live_survived(object, &now, full);
}

static void collect(struct dnp_live_clock *clock, unsigned generation)
{
	uint64_t number = clock->begun + 1;

	dnp_live_clock_begin(clock, number, generation, clock->begun + 100);
	dnp_live_clock_end(clock, number);
}

TEST(live_collections_that_were_survived)
{
	struct dnp_live_clock clock = {0};
	struct dnp_live_object first = made(&clock, true), large = made(&clock, false), second;
	uint32_t full;

	CHECK_EQ(survived(&clock, &first, &full), 0);
	collect(&clock, 0);
	second = made(&clock, true);
	CHECK_EQ(survived(&clock, &first, &full), 1);
	CHECK_EQ(full, 0);
	CHECK_EQ(survived(&clock, &second, &full), 0);
	CHECK_EQ(survived(&clock, &large, &full), 0);
	collect(&clock, 2);
	CHECK_EQ(survived(&clock, &first, &full), 2);
	CHECK_EQ(full, 1);
	CHECK_EQ(survived(&clock, &large, &full), 1);
	CHECK_EQ(survived(&clock, &second, &full), 1);
	CHECK_EQ(clock.seen_ns, 101);
}

/* One in the background has not seen what was made amid it; others come meanwhile. */
TEST(live_collections_amid_each_other)
{
	struct dnp_live_clock clock = {0};
	struct dnp_live_object amid;
	uint32_t full;

	dnp_live_clock_begin(&clock, 1, 2, 1);
	amid = made(&clock, true);
	collect(&clock, 1);
	CHECK_EQ(survived(&clock, &amid, &full),
		0); /* one too few: it may be the other that ended */
	dnp_live_clock_end(&clock, 1);
	CHECK_EQ(survived(&clock, &amid, &full), 1);
	CHECK_EQ(full, 0);
	collect(&clock, 2);
	CHECK_EQ(survived(&clock, &amid, &full), 2);
	CHECK_EQ(full, 1);
}

/* One that is over has seen all that was made before it, however long another one goes on. */
TEST(live_time_that_was_seen_does_not_go_back)
{
	struct dnp_live_clock clock = {0};

	dnp_live_clock_begin(&clock, 1, 2, 100);
	dnp_live_clock_begin(&clock, 2, 0, 200);
	dnp_live_clock_end(&clock, 2);
	CHECK_EQ(clock.seen_ns, 200);
	dnp_live_clock_end(&clock, 1);
	CHECK_EQ(clock.seen_ns, 200);
}

/* It began before watching did. */
TEST(live_collection_that_is_not_known_ends)
{
	struct dnp_live_clock clock = {0};
	struct dnp_live_object object = made(&clock, true);
	uint32_t full;

	dnp_live_clock_end(&clock, 7);
	CHECK_EQ(survived(&clock, &object, &full), 0);
	for (unsigned i = 8; i < 8 + DNP_LIVE_OPEN + 3; i++)
		dnp_live_clock_begin(&clock, i, 2, i);
	for (unsigned i = 8; i < 8 + DNP_LIVE_OPEN + 3; i++)
		dnp_live_clock_end(&clock, i);
	CHECK_EQ(clock.over, DNP_LIVE_OPEN);
	CHECK_EQ(clock.full_over, DNP_LIVE_OPEN);
	collect(&clock, 2);
	CHECK_EQ(clock.over, DNP_LIVE_OPEN + 1);
}
