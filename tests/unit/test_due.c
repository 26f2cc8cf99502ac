/* SPDX-License-Identifier: MIT */
/* Samples that are due of a thread that was looked at after very many intervals. */
#include "capture/due.h"
#include "format/rec.h"
#include "os/thread.h"
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
