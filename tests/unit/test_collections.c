/* SPDX-License-Identifier: MIT */
/* What the runtime's events of garbage collections come to, in the orders in which it sends them.
 */
#include "test.h"

#include "capture/collections.h"

enum { WANTS = 1, COLLECTOR, BACKGROUND, OTHER }; /* threads */

static struct dnp_collections all;
static uint64_t now_ns;

static void tell(int tid, struct dnp_gc_event event)
{
	dnp_collections_event(&all, &event,
		&(struct dnp_gc_moment){
			.time_ns = ++now_ns, .tid = tid, .thread = (uint32_t)tid, .trigger = 7});
}

#define TELL(tid, ...) tell(tid, (struct dnp_gc_event){__VA_ARGS__})

static void reset(void)
{
	all = (struct dnp_collections){0};
	now_ns = 0;
}

static void stop(int tid)
{
	TELL(tid, .id = DNP_GC_SUSPEND_BEGIN, .for_gc = true);
	TELL(tid, .id = DNP_GC_SUSPEND_END);
}

static void go_on(int tid)
{
	TELL(tid, .id = DNP_GC_RESTART_BEGIN);
	TELL(tid, .id = DNP_GC_RESTART_END);
}

static void histories(int tid, bool background, uint32_t heaps)
{
	TELL(tid, .id = DNP_GC_GLOBAL_HISTORY, .heaps = heaps, .background = background);
	for (uint32_t i = 0; i < heaps; i++)
		TELL(tid, .id = DNP_GC_HEAP_HISTORY, .before = {100, 10}, .after = {1, 2},
			.survived = {5, 6});
}

static void over(int tid, uint64_t number)
{
	TELL(tid, .id = DNP_GC_END, .number = number);
}

static struct dnp_collection taken(void)
{
	struct dnp_collection one = {0};

	CHECK(dnp_collections_take(&all, &one));
	return one;
}

/* Who tells of the end of it may wait for a processor, while the others go on. */
TEST(program_stands_still_until_it_may_go_on)
{
	struct dnp_gc_pause pause;
	struct dnp_collection one;

	reset();
	stop(WANTS);
	TELL(WANTS, .id = DNP_GC_START, .number = 3);
	over(WANTS, 3);
	TELL(WANTS, .id = DNP_GC_RESTART_BEGIN);
	now_ns += 1000;
	TELL(WANTS, .id = DNP_GC_RESTART_END);
	one = taken();
	CHECK(one.pauses == 1 && one.pause_ns == 4 && one.longest_ns == 4);
	CHECK(dnp_collections_take_pause(&all, &pause) && pause.end_ns == 5);
	/* Its beginning was not told. */
	stop(WANTS);
	TELL(WANTS, .id = DNP_GC_START, .number = 4);
	over(WANTS, 4);
	TELL(WANTS, .id = DNP_GC_RESTART_END);
	CHECK_EQ(taken().pause_ns, 4);
}

TEST(collection_that_stops_the_program)
{
	struct dnp_gc_pause pause;
	struct dnp_collection one;

	reset();
	stop(WANTS);
	TELL(WANTS, .id = DNP_GC_TRIGGERED);
	TELL(WANTS, .id = DNP_GC_START, .number = 3, .generation = 1, .reason = 4);
	histories(WANTS, false, 1);
	over(WANTS, 3);
	CHECK(!dnp_collections_take(&all, &one)); /* it is over when the program goes on */
	go_on(WANTS);
	one = taken();
	CHECK(one.number == 3 && one.generation == 1 && one.reason == 4 && one.trigger == 7);
	CHECK_EQ(one.kind, DNP_COLLECTION_BLOCKING);
	CHECK(one.begin_ns == 1 && one.end_ns == 7);
	CHECK(one.pauses == 1 && one.pause_ns == 7 && one.suspend_ns == 1 && one.longest_ns == 7);
	CHECK(one.before[0] == 100 && one.after[1] == 2 && one.survived[1] == 6);
	CHECK(dnp_collections_take_pause(&all, &pause));
	CHECK(pause.begin_ns == 1 && pause.end_ns == 8 && pause.number == 3 && pause.tid == WANTS);
	CHECK(!dnp_collections_take_pause(&all, &pause));
	CHECK_EQ(all.n_open, 0);
}

TEST(collection_by_threads_of_the_collector)
{
	struct dnp_collection one;

	reset();
	TELL(WANTS, .id = DNP_GC_TRIGGERED);
	stop(COLLECTOR);
	TELL(BACKGROUND, .id = DNP_GC_START, .number = 1);
	histories(BACKGROUND, false, 3);
	over(COLLECTOR, 1);
	go_on(COLLECTOR);
	one = taken();
	CHECK(one.trigger == 7 && one.pauses == 1 && one.tid == COLLECTOR);
	CHECK(one.before[0] == 300 && one.after[0] == 3 && one.survived[0] == 15);
}

/* The young are collected before it begins, and once more amid it; its histories come last. */
TEST(collection_in_the_background_with_others_amid)
{
	struct dnp_collection one;

	reset();
	stop(WANTS);
	TELL(WANTS, .id = DNP_GC_TRIGGERED);
	TELL(WANTS, .id = DNP_GC_START, .number = 1, .generation = 2, .background = true);
	TELL(WANTS, .id = DNP_GC_START, .number = 2, .generation = 1);
	histories(WANTS, false, 1);
	over(WANTS, 2);
	go_on(WANTS);
	one = taken();
	CHECK(one.number == 2 && one.kind == DNP_COLLECTION_FOREGROUND && one.pauses == 1);
	CHECK(one.trigger == 7 && one.inherited);
	stop(WANTS);
	TELL(WANTS, .id = DNP_GC_TRIGGERED);
	TELL(WANTS, .id = DNP_GC_START, .number = 3);
	histories(WANTS, false, 1);
	over(WANTS, 3);
	go_on(WANTS);
	one = taken();
	CHECK(one.number == 3 && one.kind == DNP_COLLECTION_FOREGROUND && !one.inherited);
	stop(BACKGROUND);
	go_on(BACKGROUND);
	over(BACKGROUND, 1);
	CHECK(!dnp_collections_take(&all, &one));
	histories(BACKGROUND, true, 2);
	one = taken();
	CHECK(one.number == 1 && one.kind == DNP_COLLECTION_BACKGROUND && one.pauses == 1);
	CHECK(one.trigger == 7 && !one.inherited && one.before[0] == 200 && one.survived[0] == 10);
	CHECK_EQ(all.n_open, 0);
	CHECK_EQ(all.n_pauses, 3);
}

/* The runtime calls it so before it knows. */
TEST(collection_that_was_meant_for_the_background)
{
	struct dnp_collection one;

	reset();
	stop(WANTS);
	TELL(WANTS, .id = DNP_GC_START, .number = 1, .generation = 2, .background = true);
	histories(WANTS, false, 1);
	over(WANTS, 1);
	go_on(WANTS);
	one = taken();
	CHECK_EQ(one.kind, DNP_COLLECTION_BLOCKING);
	CHECK(one.trigger == 0 && one.pauses == 1 && one.before[0] == 100);
}

TEST(background_begins_and_ends_with_pauses)
{
	struct dnp_collection one;

	reset();
	stop(WANTS);
	TELL(WANTS, .id = DNP_GC_START, .number = 1, .generation = 2, .background = true);
	go_on(WANTS);
	stop(BACKGROUND);
	go_on(BACKGROUND);
	histories(BACKGROUND, true, 1);
	over(BACKGROUND, 1);
	one = taken();
	CHECK(one.kind == DNP_COLLECTION_BACKGROUND && one.pauses == 2 && one.pause_ns == 3 + 2);
	CHECK(one.longest_ns == 3 && one.suspend_ns == 2 && one.tid == BACKGROUND);
}

/* He waits for the collector, which wins. */
TEST(pause_amid_which_another_one_wants_threads_to_stop)
{
	struct dnp_gc_pause pause;
	struct dnp_collection one;

	reset();
	TELL(WANTS, .id = DNP_GC_SUSPEND_BEGIN, .for_gc = true);
	TELL(OTHER, .id = DNP_GC_SUSPEND_BEGIN, .for_gc = false);
	TELL(WANTS, .id = DNP_GC_SUSPEND_END);
	TELL(WANTS, .id = DNP_GC_START, .number = 1);
	over(WANTS, 1);
	go_on(WANTS);
	TELL(OTHER, .id = DNP_GC_SUSPEND_END);
	go_on(OTHER);
	one = taken();
	CHECK(one.pauses == 1 && one.suspend_ns == 2 && one.pause_ns == 5);
	CHECK(dnp_collections_take_pause(&all, &pause) && pause.number == 1 && pause.end_ns == 6);
	CHECK(!dnp_collections_take_pause(&all, &pause));
}

TEST(pause_that_another_one_holds_up)
{
	struct dnp_gc_pause pause;
	struct dnp_collection one;

	reset();
	TELL(OTHER, .id = DNP_GC_SUSPEND_BEGIN, .for_gc = false);
	TELL(WANTS, .id = DNP_GC_SUSPEND_BEGIN, .for_gc = true);
	TELL(OTHER, .id = DNP_GC_SUSPEND_END);
	go_on(OTHER);
	CHECK(!dnp_collections_take_pause(&all, &pause));
	TELL(WANTS, .id = DNP_GC_SUSPEND_END);
	TELL(WANTS, .id = DNP_GC_START, .number = 1, .background = true);
	over(WANTS, 1);
	go_on(WANTS);
	one = taken();
	CHECK(one.begin_ns == 2 && one.kind == DNP_COLLECTION_BLOCKING);
	CHECK(one.pauses == 1 && one.suspend_ns == 4 && one.pause_ns == 7);
	CHECK(dnp_collections_take_pause(&all, &pause) && pause.tid == WANTS);
	CHECK(!dnp_collections_take_pause(&all, &pause));
}

TEST(collections_that_are_not_told_whole)
{
	struct dnp_collection one;
	struct dnp_gc_pause pause;

	reset();
	/* Began before; the program was stopped for something else. */
	TELL(BACKGROUND, .id = DNP_GC_SUSPEND_END);
	go_on(BACKGROUND);
	stop(BACKGROUND);
	go_on(BACKGROUND);
	over(BACKGROUND, 4);
	histories(BACKGROUND, true, 1);
	TELL(WANTS, .id = DNP_GC_SUSPEND_BEGIN, .for_gc = false);
	go_on(WANTS);
	CHECK(dnp_collections_take_pause(&all, &pause) && !pause.number);
	CHECK(!dnp_collections_take(&all, &one) && !dnp_collections_take_pause(&all, &pause));
	/* Histories that do not come, and an end. */
	stop(WANTS);
	TELL(WANTS, .id = DNP_GC_START, .number = 5, .generation = 2, .background = true);
	go_on(WANTS);
	dnp_collections_flush(&all, now_ns);
	CHECK(!dnp_collections_take(&all, &one));
	over(BACKGROUND, 5);
	dnp_collections_flush(&all, now_ns);
	CHECK(!dnp_collections_take(&all, &one));
	dnp_collections_flush(&all, now_ns + 1);
	one = taken();
	CHECK(one.number == 5 && !one.heaps && one.end_ns);
	stop(WANTS);
	TELL(WANTS, .id = DNP_GC_START, .number = 6, .generation = 2, .background = true);
	go_on(WANTS);
	dnp_collections_flush(&all, UINT64_MAX);
	one = taken();
	CHECK(one.number == 6 && !one.end_ns && one.kind == DNP_COLLECTION_BACKGROUND);
}

static void wanted(uint64_t trigger)
{
	dnp_collections_event(&all, &(struct dnp_gc_event){.id = DNP_GC_TRIGGERED},
		&(struct dnp_gc_moment){.time_ns = ++now_ns, .tid = WANTS, .trigger = trigger});
}

TEST(collections_that_are_awaited)
{
	reset();
	wanted(1);
	CHECK(dnp_collections_await(&all, 1));
	wanted(2);
	CHECK(!dnp_collections_await(&all, 1) && dnp_collections_await(&all, 2));
	stop(WANTS);
	TELL(WANTS, .id = DNP_GC_START, .number = 1, .generation = 0);
	wanted(3);
	CHECK(dnp_collections_await(&all, 2) && dnp_collections_await(&all, 3));
	over(WANTS, 1);
	go_on(WANTS);
	dnp_collections_flush(&all, now_ns);
	CHECK(dnp_collections_await(&all, 2));
	CHECK_EQ(taken().trigger, 2);
	CHECK(!dnp_collections_await(&all, 2) && dnp_collections_await(&all, 3));
}

/* TryStartNoGCRegion, where the memory is there: threads stop for it, and no collection starts. */
TEST(collection_that_does_not_come_is_not_awaited)
{
	reset();
	stop(WANTS);
	wanted(5);
	go_on(WANTS);
	dnp_collections_flush(&all, now_ns);
	CHECK(dnp_collections_await(&all, 5)); /* the pause may have been another's */
	dnp_collections_flush(&all, now_ns + 1);
	CHECK(!dnp_collections_await(&all, 5));
	/* Nor is the next one its, nor the next that is wanted given up with it. */
	stop(WANTS);
	TELL(WANTS, .id = DNP_GC_START, .number = 1);
	over(WANTS, 1);
	go_on(WANTS);
	CHECK_EQ(taken().trigger, 0);
	wanted(6);
	dnp_collections_flush(&all, now_ns + 1);
	CHECK(dnp_collections_await(&all, 6));
}

/* The server's collector has its threads stop for it, with another pause before that. */
TEST(collection_that_comes_after_a_pause_for_none_is_awaited)
{
	reset();
	wanted(5);
	stop(COLLECTOR);
	go_on(COLLECTOR);
	dnp_collections_flush(&all, now_ns);
	stop(COLLECTOR);
	dnp_collections_flush(&all, now_ns + 1);
	CHECK(dnp_collections_await(&all, 5)); /* however long it takes them to stop */
	TELL(COLLECTOR, .id = DNP_GC_START, .number = 1);
	over(COLLECTOR, 1);
	go_on(COLLECTOR);
	CHECK_EQ(taken().trigger, 5);
	CHECK(!dnp_collections_await(&all, 5));
}

TEST(collections_that_nobody_takes_are_counted)
{
	struct dnp_collection one;

	reset();
	for (uint64_t i = 1; i <= DNP_COLLECTIONS_ENDED + 3; i++) {
		stop(WANTS);
		TELL(WANTS, .id = DNP_GC_START, .number = i);
		over(WANTS, i);
		go_on(WANTS);
	}
	CHECK_EQ(all.lost, 3);
	CHECK_EQ(all.lost_pauses, 3);
	for (uint64_t i = 1; i <= DNP_COLLECTIONS_ENDED; i++)
		CHECK(dnp_collections_take(&all, &one) && one.number == i);
	CHECK(!dnp_collections_take(&all, &one));
	reset();
	for (uint64_t i = 1; i <= DNP_COLLECTIONS_OPEN + 1; i++)
		TELL(WANTS, .id = DNP_GC_START, .number = i);
	CHECK_EQ(all.lost, 1);
	CHECK_EQ(all.n_open, DNP_COLLECTIONS_OPEN);
}
