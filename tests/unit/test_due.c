/* SPDX-License-Identifier: MIT */
/* Samples that are due of a thread that was looked at after very many intervals, or a second time.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "capture/due.h"
#include "format/rec.h"
#include "os/clock.h"
#include "os/thread.h"
#include "os/thread_state.h"
#include "store/sample.h"
#include "test.h"

#define INTERVAL_NS UINT64_C(10000)
#define PLACE       (dnp_frame_word) DNP_WALK_NOT_YET << DNP_FRAME_SHIFT
#define MANY        UINT64_C(200000) /* more than a sample has room for in its first word */

static const unsigned event_index[DNP_DUE_EVENTS] = {0, 1};

static struct dnp_managed managed;
static struct dnp_feed *feed;

static void begin(void)
{
	int is_new;

	dnp_threads_init(16, DNP_EVENTS_MAX);
	managed.thread = dnp_thread_begin(dnp_thread_id(), &is_new);
	CHECK(managed.thread && is_new);
	feed = &managed.thread->outside;
}

/* What the samples in the ring weigh. */
static uint64_t stored(unsigned event)
{
	uint64_t at, sum = 0;
	size_t n = dnp_ring_readable(&feed->ring, &at);

	for (uint64_t end = at + n; at < end;) {
		uint64_t words[DNP_SAMPLE_WORDS], wide[DNP_SAMPLE_WIDE_WORDS];
		struct dnp_sample sample;

		dnp_ring_read(&feed->ring, at, words, DNP_SAMPLE_WORDS);
		sample = dnp_sample_unpack(words);
		dnp_ring_read(&feed->ring, at + DNP_SAMPLE_WORDS, wide, DNP_SAMPLE_WIDE_WORDS);
		if (sample.event == event)
			sum += sample.flags & DNP_SAMPLE_WIDE ? wide[0] : sample.weight;
		at += dnp_sample_words(&sample) + sample.written;
	}
	return sum;
}

static uint64_t lost(unsigned event)
{
	return feed->counts[event].lost[DNP_LOSS_RING];
}

static void fill_ring(void)
{
	struct dnp_sample sample = {.event = 2, .weight = 1};
	uint64_t at;

	feed->frames[0] = PLACE;
	CHECK(dnp_feed_put(feed, &sample, 1, DNP_STOP_END, 0));
	while (dnp_ring_reserve(&feed->ring, DNP_SAMPLE_WORDS, &at))
		CHECK(dnp_feed_repeat(feed, &sample));
}

TEST(samples_that_are_due_weigh_all_that_is)
{
	struct dnp_due due = {.weight = {MANY, MANY + 1}, .stop = DNP_STOP_END};

	begin();
	feed->frames[0] = PLACE;
	dnp_due_store(&due, feed, event_index, 1, 1);
	CHECK_EQ(stored(DNP_DUE_CPU), MANY);
	CHECK_EQ(stored(DNP_DUE_WALL), MANY + 1);
	CHECK_EQ(due.weight[DNP_DUE_CPU], 0);
	CHECK_EQ(due.weight[DNP_DUE_WALL], 0);
	CHECK_EQ(lost(DNP_DUE_CPU) + lost(DNP_DUE_WALL), 0);
}

TEST(samples_that_are_due_and_have_no_room_are_lost_with_all_that_they_weigh)
{
	struct dnp_due due = {.weight = {MANY, MANY + 1}, .stop = DNP_STOP_END};

	begin();
	fill_ring();
	feed->frames[0] = PLACE;
	dnp_due_store(&due, feed, event_index, 1, 1);
	CHECK_EQ(lost(DNP_DUE_CPU), MANY);
	CHECK_EQ(lost(DNP_DUE_WALL), MANY + 1);
	CHECK_EQ(stored(DNP_DUE_CPU) + stored(DNP_DUE_WALL), 0);
}

/* Nobody looks at the thread again: what is not told now never is. */
TEST(time_that_is_split_is_told_to_its_end)
{
	struct dnp_due due = {
		.stop = DNP_STOP_END,
		.split =
			{
				.ran = (int64_t)((MANY + 1) * INTERVAL_NS),
				.waited = (int64_t)((MANY + 2) * INTERVAL_NS),
				.slept = (int64_t)((MANY + 3) * INTERVAL_NS),
			},
	};

	begin();
	dnp_due_split_end(&due, &managed, INTERVAL_NS, event_index, false);
	CHECK_EQ(stored(DNP_DUE_WALL), MANY + 2);
	CHECK_EQ(due.weight[DNP_DUE_WALL], MANY + 1);
	feed->frames[0] = PLACE;
	dnp_due_store(&due, feed, event_index, 1, 0);
	dnp_due_split_slept(&due, INTERVAL_NS);
	feed->frames[0] = PLACE;
	dnp_due_store(&due, feed, event_index, 1, 0);
	CHECK_EQ(stored(DNP_DUE_WALL), 3 * MANY + 6);
	CHECK_EQ(lost(DNP_DUE_WALL), 0);
}

#define REFUSED 10 /* intervals */

/*
 * The runtime refuses a walk, and the thread is looked at again: what was due then is due as what
 * it was. This time that is told which it was not, of which there is none.
 */
static struct dnp_due refused(bool slept)
{
	const struct dnp_due_round round = {
		.events = 1U << DNP_DUE_WALL,
		.interval_ns = INTERVAL_NS,
		.splits = true,
	};
	struct dnp_due due = {
		.serial = managed.serial,
		.weight = {[DNP_DUE_WALL] = REFUSED},
		.waiting = slept,
		.cpu_ns = dnp_thread_cpu_ns(managed.thread->tid),
		.split = {.slept = -(int64_t)TEST_HANG_NS}, /* so much passes meanwhile at most */
		.walked_ns = UINT64_MAX,
	};

	while (slept && dnp_thread_cpu_ns(managed.thread->tid) == due.cpu_ns)
		;
	CHECK(dnp_due_look(&due, &managed, &round));
	due.split.cpu_ns = due.cpu_ns;
	due.split.booked_ns = dnp_now_ns();
	due.asleep = !slept;
	dnp_due_split(&due, &managed, INTERVAL_NS, event_index);
	CHECK_EQ(due.weight[DNP_DUE_WALL], 0);
	CHECK_EQ(stored(DNP_DUE_WALL), 0);
	return due;
}

TEST(sleep_whose_walk_is_refused_is_none_of_what_the_thread_runs)
{
	struct dnp_due due;

	begin();
	due = refused(true);
	CHECK_EQ(due.split.ran, 0);
}

static int ends[2];

static void *sleep_on(void *context)
{
	_Atomic int *tid = context;
	char end;

	atomic_store(tid, dnp_thread_id());
	CHECK_EQ(read(ends[0], &end, 1), 0);
	return NULL;
}

TEST(time_that_ran_whose_walk_is_refused_is_none_of_what_the_thread_sleeps)
{
	_Atomic int tid = 0;
	struct dnp_thread_state state = {0};
	struct dnp_due due;
	pthread_t thread;

	begin();
	CHECK(!pipe(ends) && !pthread_create(&thread, NULL, sleep_on, &tid));
	while (!atomic_load(&tid) || dnp_thread_state(tid, &state) || !state.asleep)
		dnp_sleep_until_ns(dnp_now_ns() + 1000000);
	managed.thread->tid = tid;
	due = refused(false);
	CHECK_EQ(due.split.ran, REFUSED * INTERVAL_NS);
	CHECK(!close(ends[1]) && !pthread_join(thread, NULL) && !close(ends[0]));
}

/* What is not told is no beginning from which it could be counted. */
TEST(waits_that_are_not_told_are_known_no_more_than_before)
{
	struct dnp_due due = {.walked_ns = UINT64_MAX};
	struct rlimit before, none;

	begin();
	due.split.booked_ns = dnp_now_ns();
	due.split.cpu_ns = dnp_thread_cpu_ns(0);
	due.cpu_ns = dnp_thread_cpu_ns(0);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){.rlim_max = before.rlim_max};
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	dnp_due_split(&due, &managed, TEST_HANG_NS, event_index);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
	CHECK(due.split.cpu_ns >= due.cpu_ns);
	CHECK(!due.split.waits_known);
	due.cpu_ns = dnp_thread_cpu_ns(0);
	dnp_due_split(&due, &managed, TEST_HANG_NS, event_index);
	CHECK(due.split.waits_known);
	CHECK_EQ(due.split.waited, 0);
}
