/* SPDX-License-Identifier: MIT */
#include "capture/lock_waits.h"
#include "test.h"

#define GATE  0x7000000000
#define OTHER 0x7000000100

enum { OWNER = 10, FIRST, SECOND, THIRD };

static void begin(int tid, uint64_t lock, int owner, uint64_t since_ns)
{
	CHECK(dnp_lock_waits_begin(&(struct dnp_lock_wait){
		.tid = tid, .lock = lock, .owner = owner, .since_ns = since_ns}));
}

TEST(a_wait_is_looked_at_once_and_in_its_turn)
{
	struct dnp_lock_wait wait;

	dnp_lock_waits_clear();
	CHECK(dnp_lock_waits_first() == UINT64_MAX);
	begin(FIRST, GATE, OWNER, 200);
	begin(SECOND, OTHER, OWNER, 100);
	CHECK_EQ(dnp_lock_waits_first(), 100);
	CHECK(!dnp_lock_waits_next(99, &wait));
	CHECK(dnp_lock_waits_next(100, &wait));
	CHECK_EQ(wait.tid, SECOND);
	CHECK_EQ(dnp_lock_waits_first(), 200);
	CHECK(dnp_lock_waits_next(500, &wait));
	CHECK_EQ(wait.tid, FIRST);
	CHECK(!dnp_lock_waits_next(500, &wait));
	CHECK(dnp_lock_waits_first() == UINT64_MAX);
}

TEST(a_wait_whose_owner_was_seen_is_kept_until_it_is_taken)
{
	struct dnp_lock_wait wait, over;

	dnp_lock_waits_clear();
	begin(FIRST, GATE, OWNER, 100);
	begin(SECOND, OTHER, OWNER, 100);
	CHECK(dnp_lock_waits_next(100, &wait));
	CHECK(dnp_lock_waits_saw(&wait));
	CHECK(!dnp_lock_waits_take(&over));
	CHECK(dnp_lock_waits_end(FIRST, 900, 800, &over));
	CHECK(over.seen && over.looked_at);
	CHECK(dnp_lock_waits_end(SECOND, 950, 850, &over));
	CHECK(!over.seen && !over.looked_at);
	CHECK(dnp_lock_waits_take(&over));
	CHECK_EQ(over.number, wait.number);
	CHECK_EQ(over.tid, FIRST);
	CHECK_EQ(over.ns, 800);
	CHECK_EQ(over.until_ns, 900);
	CHECK(!dnp_lock_waits_take(&over));
	CHECK(!dnp_lock_waits_end(FIRST, 1000, 1, &over));
}

TEST(what_was_seen_too_late_does_not_count)
{
	struct dnp_lock_wait wait, over;

	dnp_lock_waits_clear();
	begin(FIRST, GATE, OWNER, 100);
	CHECK(dnp_lock_waits_next(100, &wait));
	CHECK(dnp_lock_waits_end(FIRST, 900, 800, &over));
	CHECK(!dnp_lock_waits_saw(&wait));
	/* The same thread waits again: that is another wait. */
	begin(FIRST, GATE, OWNER, 1000);
	CHECK(!dnp_lock_waits_saw(&wait));
	CHECK(!dnp_lock_waits_take(&over));
}

TEST(who_stops_waiting_has_the_lock)
{
	struct dnp_lock_wait wait, over, third;

	dnp_lock_waits_clear();
	begin(FIRST, GATE, OWNER, 100);
	begin(SECOND, GATE, OWNER, 110);
	begin(THIRD, OTHER, OWNER, 120);
	CHECK(dnp_lock_waits_next(110, &wait));
	CHECK(dnp_lock_waits_next(110, &wait));
	CHECK_EQ(wait.tid, SECOND);
	CHECK_EQ(wait.owner, OWNER);
	CHECK(dnp_lock_waits_end(FIRST, 200, 100, &over));
	/* Its owner was looked at, but is none any more. */
	CHECK(!dnp_lock_waits_saw(&wait));
	CHECK(dnp_lock_waits_next(200, &third));
	CHECK_EQ(third.tid, THIRD);
	CHECK_EQ(third.owner, OWNER);
	begin(THIRD + 1, GATE, 0, 300);
	CHECK(dnp_lock_waits_end(SECOND, 400, 290, &over));
	CHECK_EQ(over.owner, FIRST);
	CHECK(dnp_lock_waits_next(400, &wait));
	CHECK_EQ(wait.owner, SECOND);
}

TEST(who_was_interrupted_waits_for_what_it_began_to_wait_for_last)
{
	struct dnp_lock_wait wait, over;

	dnp_lock_waits_clear();
	begin(FIRST, GATE, OWNER, 100);
	begin(SECOND, GATE, OWNER, 110);
	CHECK(dnp_lock_waits_next(100, &wait));
	CHECK(dnp_lock_waits_saw(&wait));
	begin(FIRST, OTHER, THIRD, 300);
	CHECK(dnp_lock_waits_take(&over));
	CHECK(over.number == wait.number && over.until_ns && !over.ns);
	CHECK(dnp_lock_waits_end(FIRST, 400, 90, &over));
	CHECK(over.lock == OTHER && over.owner == THIRD && over.since_ns == 300);
	CHECK(dnp_lock_waits_end(SECOND, 500, 380, &over));
	CHECK_EQ(over.owner, OWNER); /* FIRST has not got it */
	CHECK(dnp_lock_waits_first() == UINT64_MAX);
}

TEST(who_has_gone_does_not_wait)
{
	struct dnp_lock_wait wait;

	dnp_lock_waits_clear();
	begin(FIRST, GATE, OWNER, 100);
	begin(SECOND, GATE, OWNER, 200);
	dnp_lock_waits_leave(FIRST, 300);
	dnp_lock_waits_leave(SECOND, 200); /* who waits has its number, and began then */
	dnp_lock_waits_leave(THIRD, 300);
	CHECK_EQ(dnp_lock_waits_first(), 200);
	CHECK(!dnp_lock_waits_end(FIRST, 400, 300, &wait));
	CHECK(!dnp_lock_waits_take(&wait));
}

TEST(who_begins_to_wait_is_told_the_owner_for_all)
{
	struct dnp_lock_wait over;

	dnp_lock_waits_clear();
	begin(FIRST, GATE, OWNER, 100);
	begin(SECOND, GATE, THIRD, 200);
	CHECK(dnp_lock_waits_end(FIRST, 300, 200, &over));
	CHECK_EQ(over.owner, THIRD);
}

TEST(there_are_no_more_waits_than_there_is_room_for)
{
	struct dnp_lock_wait wait = {.lock = GATE, .owner = OWNER};

	dnp_lock_waits_clear();
	for (unsigned i = 0; i < DNP_LOCK_WAITS_MAX; i++)
		begin((int)i + 1, GATE, OWNER, i);
	CHECK(!dnp_lock_waits_begin(&wait));
	CHECK(dnp_lock_waits_end(1, 5000, 5000, &wait));
	begin(1, GATE, OWNER, 1);
}
