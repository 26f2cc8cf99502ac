/* SPDX-License-Identifier: MIT */
#include "capture/nesting.h"
#include "capture/thin.h"
#include "test.h"

enum { ROOM = 4 };

static struct nest {
	uint32_t n;
	struct dnp_nested open[ROOM];
} nest;

static struct dnp_nesting nesting(void)
{
	return (struct dnp_nesting){.n = &nest.n, .open = nest.open, .room = ROOM};
}

static void begin(uint64_t what, uint64_t at_ns)
{
	dnp_nesting_begin(nesting(), (struct dnp_nested){.what = what, .begin_ns = at_ns});
}

/* Its own time. */
static uint64_t end(uint64_t what, uint64_t at_ns)
{
	struct dnp_nested one;

	CHECK(dnp_nesting_take(nesting(), what, &one));
	CHECK_EQ(one.what, what);
	dnp_nesting_over(nesting(), &one, at_ns);
	return dnp_nested_own_ns(&one, at_ns);
}

TEST(what_is_within_another_has_its_time_alone)
{
	nest.n = 0;
	begin(1, 100);
	begin(2, 110);
	begin(3, 120);
	CHECK_EQ(end(3, 150), 30);
	begin(3, 160);
	CHECK_EQ(end(3, 161), 1);
	CHECK_EQ(end(2, 170), 60 - 30 - 1);
	CHECK_EQ(end(1, 200), 100 - 60);
	CHECK_EQ(nest.n, 0);
}

TEST(the_innermost_of_a_kind_ends_and_those_in_it_came_to_nothing)
{
	struct dnp_nested one;

	nest.n = 0;
	begin(1, 100);
	begin(1, 110);
	begin(2, 120);
	CHECK_EQ(end(1, 150), 40);
	CHECK(!dnp_nesting_take(nesting(), 2, &one));
	CHECK_EQ(dnp_nesting_innermost(nesting())->begin_ns, 100);
	dnp_nesting_drop(nesting());
	CHECK(!dnp_nesting_innermost(nesting()));
	CHECK(!dnp_nesting_take(nesting(), 1, &one));
}

TEST(what_was_in_one_that_came_to_nothing_is_no_time_of_those_around_it)
{
	nest.n = 0;
	begin(1, 100);
	begin(2, 110);
	begin(3, 120);
	CHECK_EQ(end(3, 150), 30);
	CHECK_EQ(end(1, 200), 100 - 30);
}

TEST(of_too_many_the_outermost_are_forgotten)
{
	struct dnp_nested one;

	nest.n = 0;
	for (uint64_t i = 0; i <= ROOM; i++)
		begin(i, 100 * i);
	for (uint64_t i = ROOM; i > 0; i--)
		CHECK_EQ(end(i, 1000), i == ROOM ? 600 : 100);
	CHECK(!dnp_nesting_take(nesting(), 0, &one));
}

/* Beyond five standard deviations, once in a million. */
TEST(what_is_left_to_the_lot_adds_up)
{
	enum { MANY = 1000000, WANTED = 1000 };
	uint64_t turn = 0, sum = 0, kept = 0;

	for (int i = 0; i < MANY; i++) {
		uint64_t weight = dnp_thin(10, dnp_lot(turn += DNP_LOT_STEP), WANTED);

		CHECK(!weight || weight == WANTED);
		kept += weight > 0;
		sum += weight;
	}
	CHECK(kept > 9500 && kept < 10500);
	CHECK_EQ(sum, kept * WANTED);
	CHECK_EQ(dnp_thin(1000, 0.999, WANTED), 1000);
	CHECK_EQ(dnp_thin(5000.7, 0.999, WANTED), 5001);
	CHECK_EQ(dnp_thin(0, 0, WANTED), 0);
}
