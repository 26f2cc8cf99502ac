/* SPDX-License-Identifier: MIT */
/* A thread that stores its own stack, while handlers may come. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agentless.h"
#include "capture/happened.h"
#include "capture/thin.h"
#include "clr/allocation.h"
#include "capture/self.h"
#include "os/clock.h"
#include "os/thread.h"
#include "store/drain.h"
#include "store/overflow.h"
#include "test.h"
#include "unwind/native.h"

#define CPU   0u
#define ALLOC 1u
#define LOAD  2u

static const struct dnp_engine_setting setting = {
	.thread = thread_of, .is_ours = is_ours, .own_id = no_id};

static void begin(uint32_t depth)
{
	dnp_threads_init(depth, DNP_EVENTS_MAX);
	dnp_native_refresh();
}

/* Of the sample that is in a ring at `at`, which then is that of the next. */
static struct dnp_sample read_sample(struct dnp_feed *feed, uint64_t *at, uint64_t wide[2])
{
	uint64_t head[DNP_SAMPLE_WORDS];
	struct dnp_sample sample;

	dnp_ring_read(&feed->ring, *at, head, DNP_SAMPLE_WORDS);
	sample = dnp_sample_unpack(head);
	if (sample.flags & DNP_SAMPLE_WIDE)
		dnp_ring_read(&feed->ring, *at + DNP_SAMPLE_WORDS, wide, DNP_SAMPLE_WIDE_WORDS);
	*at += dnp_sample_words(&sample) + sample.written;
	return sample;
}

TEST(what_happens_is_stored_with_the_stack_and_its_label)
{
	struct dnp_happening what = {
		.event = ALLOC, .label = 7, .time_ns = 1234, .weight = 1 << 20, .value = 24};
	struct dnp_thread *thread;
	struct dnp_sample sample;
	uint64_t at, wide[2] = {0};

	begin(64);
	dnp_happened(&setting, &what);
	thread = dnp_thread_find(dnp_thread_id());
	CHECK(thread != NULL);
	CHECK_EQ(thread->own.counts[ALLOC].samples, 1);
	CHECK_EQ(thread->own.counts[ALLOC].stops[DNP_STOP_END], 1);
	CHECK(dnp_ring_readable(&thread->own.ring, &at) > 6);
	sample = read_sample(&thread->own, &at, wide);
	CHECK_EQ(sample.event, ALLOC);
	CHECK_EQ(sample.time_ns, 1234);
	CHECK_EQ(wide[0], 1 << 20);
	CHECK_EQ(wide[1], 24);
	CHECK(thread->own.before[0] == dnp_label_frame(7));
	CHECK_EQ(DNP_FRAME_KIND(thread->own.before[1]), DNP_WALK_NATIVE);
	CHECK_EQ(thread->handling % 2, 0);
	CHECK_EQ(thread->busy, 0);
}

static unsigned n_asked;

static uintptr_t some_id(void)
{
	n_asked++;
	return 0x7000;
}

TEST(thread_that_the_runtime_has_not_told_of_learns_its_id)
{
	const struct dnp_engine_setting of_runtime = {
		.thread = thread_of, .is_ours = is_ours, .own_id = some_id};
	struct dnp_happening what = {.event = ALLOC, .label = 7, .weight = 1};
	struct dnp_thread *thread;

	begin(64);
	dnp_happened(&of_runtime, &what);
	dnp_happened(&of_runtime, &what);
	thread = dnp_thread_find(dnp_thread_id());
	CHECK(thread != NULL);
	CHECK_EQ(thread->managed, 0x7000);
	CHECK_EQ(n_asked, 1);
}

TEST(stack_of_one_frame_has_room_for_the_label_alone)
{
	struct dnp_happening what = {.event = ALLOC, .label = 7, .weight = 1};
	struct dnp_thread *thread;

	begin(1);
	dnp_happened(&setting, &what);
	thread = dnp_thread_find(dnp_thread_id());
	CHECK_EQ(thread->own.n_before, 1);
	CHECK_EQ(thread->own.counts[ALLOC].truncated, 1);
}

/* What a handler does that comes at this moment. */
static int handle(struct dnp_thread *thread, uint32_t units)
{
	if (dnp_self_enter(thread)) {
		dnp_self_leave(thread);
		return 1;
	}
	dnp_self_late(thread, CPU, units);
	return 0;
}

TEST(handler_that_comes_in_between_is_stored_with_the_stack_that_was_taken)
{
	struct dnp_sample sample = {
		.event = ALLOC, .flags = DNP_SAMPLE_WIDE, .weight = 100000, .value = 24};
	struct dnp_thread *thread;
	enum dnp_walk_stop stop;
	uint64_t at, wide[2];
	uint32_t n;

	begin(64);
	thread = thread_of(dnp_thread_id(), 0);
	CHECK(handle(thread, 1));
	dnp_self_begin(thread);
	CHECK(!handle(thread, 2));
	n = dnp_self_walk(thread, dnp_label_frame(7), NULL, &stop, NULL);
	CHECK(n > 2);
	CHECK(!handle(thread, 1));
	CHECK(dnp_feed_put(&thread->own, &sample, n, stop, 1));
	CHECK(!handle(thread, 70000));
	dnp_self_end(thread, 1);
	CHECK(handle(thread, 1));

	CHECK_EQ(thread->own.counts[CPU].samples, 1);
	CHECK_EQ(thread->own.counts[CPU].lost[DNP_LOSS_NESTED], 0);
	dnp_ring_readable(&thread->own.ring, &at);
	CHECK_EQ(read_sample(&thread->own, &at, wide).event, ALLOC);
	sample = read_sample(&thread->own, &at, wide);
	CHECK_EQ(sample.event, CPU);
	CHECK_EQ(wide[0], 70003);
	CHECK_EQ(wide[1], 0);
	CHECK_EQ(sample.shared, n - 1);
	CHECK_EQ(sample.written, 0);
}

TEST(handler_that_comes_in_between_is_stored_with_a_stack_that_is_stored_elsewhere)
{
	struct dnp_sample sample;
	struct dnp_thread *thread;
	enum dnp_walk_stop stop;
	uint64_t at, wide[2] = {0};
	uint32_t n;

	begin(64);
	thread = thread_of(dnp_thread_id(), 0);
	for (uint32_t units = 0; units <= 70000; units += 70000) {
		dnp_self_begin(thread);
		n = dnp_self_walk(thread, dnp_label_frame(7), NULL, &stop, NULL);
		if (units)
			CHECK(!handle(thread, units));
		dnp_self_end_walked(thread, n, stop);
	}
	dnp_self_begin(thread);
	CHECK(!handle(thread, 1));
	dnp_self_end_walked(thread, 0, DNP_STOP_UNKNOWN);
	CHECK_EQ(thread->own.counts[CPU].samples, 1);
	CHECK_EQ(thread->own.counts[CPU].lost[DNP_LOSS_NESTED], 1);
	dnp_ring_readable(&thread->own.ring, &at);
	sample = read_sample(&thread->own, &at, wide);
	CHECK(sample.event == CPU && wide[0] == 70000);
	CHECK_EQ(sample.written, n - 1);
}

TEST(handler_that_comes_where_no_stack_was_taken_is_lost_and_counted)
{
	struct dnp_thread *thread;

	begin(64);
	thread = thread_of(dnp_thread_id(), 0);
	dnp_self_begin(thread);
	CHECK(!handle(thread, 5));
	dnp_self_end(thread, 0);
	CHECK_EQ(thread->own.counts[CPU].samples, 0);
	CHECK_EQ(thread->own.counts[CPU].lost[DNP_LOSS_NESTED], 5);
	/* One within another handler, which has no end of its own. */
	CHECK(dnp_self_enter(thread));
	CHECK(!handle(thread, 1));
	dnp_self_leave(thread);
	CHECK_EQ(thread->own.counts[CPU].lost[DNP_LOSS_NESTED], 6);
}

static uint32_t seen_frames;

static void see_frames(struct dnp_thread *thread, const struct dnp_happening *happening,
	const struct dnp_walked *walked)
{
	(void)thread;
	(void)happening;
	seen_frames = walked->n;
}

/* Who is told of stacks is told as well that there is none, and can count it. */
TEST(whose_stack_cannot_be_taken_is_told_and_counted)
{
	struct dnp_happening what = {.event = ALLOC, .weight = 1 << 20, .walked = see_frames};
	struct dnp_thread *thread;

	begin(64);
	thread = thread_of(dnp_thread_id(), 0);
	seen_frames = 77;
	dnp_happened(&setting, &what);
	CHECK(seen_frames > 1 && seen_frames != 77);
	/* As if there were no room below. */
	thread->stack.low = (uintptr_t)__builtin_frame_address(0) - 4096;
	dnp_happened(&setting, &what);
	CHECK_EQ(seen_frames, 0);
	CHECK_EQ(thread->own.counts[ALLOC].lost[DNP_LOSS_STACK], 1 << 20);
}

/* ---- Allocations, while the recorder gets no turn */

#define EACH_BYTES  8192u
#define ASKED_BYTES 102400u

static uint32_t type_label(uintptr_t class_id, struct dnp_str name)
{
	(void)name;
	return (uint32_t)class_id;
}

/* An object of one of three types, as the runtime tells of it. */
static void allocate(uint8_t type)
{
	uint8_t data[40] = {[6] = type, [25] = EACH_BYTES >> 8}; /* kind, instance, type, "", … */

	dnp_engine_alloc.delivered(&(struct dnp_delivered){.provider = DNP_PROVIDER_RUNTIME,
		.id = DNP_EVENT_ALLOCATION_SAMPLED,
		.data = data,
		.bytes = sizeof(data)});
}

/* What the recorder finds at last: how much there was, by what is in the ring. */
static double take_allocations(struct dnp_feed *feed, uint64_t *most)
{
	double sum = 0;
	uint64_t at, end, wide[2] = {0};

	for (end = dnp_ring_readable(&feed->ring, &at) + at; at < end;) {
		CHECK_EQ(read_sample(feed, &at, wide).event, ALLOC);
		sum += (double)wide[0];
		if (wide[0] > *most)
			*most = wide[0];
	}
	dnp_ring_release(&feed->ring, at);
	return sum;
}

/* More than there is room for, again and again: none is lost, and the sum is right by and large. */
TEST(allocations_are_not_lost_while_the_recorder_gets_no_turn)
{
	enum { ROUNDS = 40, OBJECTS = 3000 };
	struct dnp_agent_options options = {.alloc_bytes = ASKED_BYTES};
	struct dnp_engine_setting telling = setting;
	double sum = 0, there = dnp_allocation_stands_for(EACH_BYTES) * ROUNDS * OBJECTS;
	uint64_t most = 0;

	telling.options = &options;
	telling.runtime = 10;
	telling.type_label = type_label;
	begin(64);
	CHECK_EQ(dnp_engine_alloc.start(&telling, ALLOC, NULL), 0);
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < OBJECTS; i++)
			allocate((uint8_t)(1 + i % 3));
		sum += take_allocations(&dnp_thread_find(dnp_thread_id())->own, &most);
	}
	CHECK_EQ(dnp_thread_find(dnp_thread_id())->own.counts[ALLOC].lost[DNP_LOSS_RING], 0);
	CHECK(sum > there * 0.9 && sum < there * 1.1);
	CHECK(most > 2 * ASKED_BYTES);
}

static uint64_t not_understood;

static void tell_failure(unsigned event, const char *reason, uint64_t count)
{
	CHECK_EQ(event, ALLOC);
	CHECK_STR(reason, "event of an unknown layout");
	not_understood += count;
}

/* A later runtime's, say. */
TEST(allocations_that_are_not_understood_are_counted)
{
	static const uint8_t data[40]; /* an object of no size; shorter, too short for any */
	struct dnp_agent_options options = {.alloc_bytes = ASKED_BYTES};
	struct dnp_engine_setting telling = setting;

	telling.options = &options;
	telling.type_label = type_label;
	begin(64);
	for (telling.runtime = 9; telling.runtime <= 10; telling.runtime++) {
		CHECK_EQ(dnp_engine_alloc.start(&telling, ALLOC, NULL), 0);
		for (size_t n = 0; n <= sizeof(data); n += sizeof(data) / 2)
			dnp_engine_alloc.delivered(
				&(struct dnp_delivered){.provider = DNP_PROVIDER_RUNTIME,
					.id = telling.runtime == 10 ? DNP_EVENT_ALLOCATION_SAMPLED
								    : DNP_EVENT_ALLOCATION_TICK,
					.version = telling.runtime == 10 ? 0 : 4,
					.data = data,
					.bytes = n});
		not_understood = 0;
		dnp_engine_alloc.failures(ALLOC, tell_failure);
		CHECK_EQ(not_understood, 3);
	}
}

/* ---- What has to be counted one by one, while the recorder gets no turn */

static uint32_t frame_of_word(struct dnp_drain *drain, dnp_frame_word word, uint64_t time_ns,
	int collecting, unsigned *nature)
{
	(void)drain;
	(void)time_ns;
	(void)collecting;
	(void)nature;
	return (uint32_t)(word ^ word >> 32);
}

static void open_drain(struct dnp_drain *drain)
{
	FILE *file = tmpfile();

	CHECK(file != NULL);
	CHECK_EQ(dnp_drain_open(drain, dup(fileno(file)), 1, DNP_EVENTS_MAX), 0);
	fclose(file);
	drain->frame_of = frame_of_word;
}

/* Samples of time, each of another stack, until there is no room for more. */
static uint64_t fill_with_samples(struct dnp_thread *thread)
{
	uint64_t n = 0;

	do {
		struct dnp_sample sample = {.event = CPU, .weight = 1, .time_ns = ++n};

		thread->own.frames[0] = n;
		CHECK(dnp_self_enter(thread));
		dnp_feed_put(&thread->own, &sample, 1, DNP_STOP_END, 1);
		dnp_self_leave(thread);
	} while (!thread->own.counts[CPU].lost[DNP_LOSS_RING]);
	return n - 1;
}

/* So many, one after the other. */
static void happen(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		dnp_happened(&setting,
			&(struct dnp_happening){.event = LOAD,
				.label = i,
				.time_ns = dnp_now_ns(),
				.weight = 3,
				.value = i});
}

TEST(what_happens_is_not_lost_where_samples_fill_the_ring_and_the_recorder_gets_no_turn)
{
	enum { TIMES = 2500, ROUNDS = 5 };
	static struct dnp_drain drain;
	struct dnp_thread *thread;
	uint64_t samples = 0;

	begin(64);
	open_drain(&drain);
	thread = thread_of(dnp_thread_id(), 0);
	/* Also where what there is besides has been used to its end before. */
	for (unsigned round = 1; round <= ROUNDS; round++) {
		thread->own.counts[CPU].lost[DNP_LOSS_RING] = 0;
		samples += fill_with_samples(thread);
		happen(TIMES);
		CHECK_EQ(dnp_drain_round(&drain, 0), 0);
		CHECK_EQ(thread->own.counts[LOAD].lost[DNP_LOSS_RING], 0);
	}
	dnp_drain_stats(&drain, (struct dnp_drain_agent){0});
	CHECK_EQ(drain.sums[LOAD].samples, TIMES * ROUNDS);
	CHECK_EQ(drain.sums[LOAD].lost, 0);
	CHECK_EQ(drain.sums[CPU].samples, samples);
	CHECK_EQ(dnp_drain_close(&drain, DNP_END_EXIT), 0);
}

TEST(what_happens_more_often_than_there_is_room_is_counted_as_lost)
{
	enum { TIMES = 200000 };
	static struct dnp_drain drain;

	begin(64);
	open_drain(&drain);
	happen(TIMES);
	CHECK_EQ(dnp_drain_round(&drain, 0), 0);
	dnp_drain_stats(&drain, (struct dnp_drain_agent){0});
	CHECK(drain.sums[LOAD].samples > 5000);
	CHECK(drain.sums[LOAD].lost > 0);
	CHECK_EQ(drain.sums[LOAD].samples * 3 + drain.sums[LOAD].lost, TIMES * 3);
	/* And what comes then has room again. */
	happen(1);
	CHECK_EQ(dnp_drain_round(&drain, 0), 0);
	dnp_drain_stats(&drain, (struct dnp_drain_agent){0});
	CHECK_EQ(drain.sums[LOAD].samples * 3 + drain.sums[LOAD].lost, (TIMES + 1) * 3);
	CHECK_EQ(dnp_drain_close(&drain, DNP_END_EXIT), 0);
	/* Nobody takes it any more. */
	CHECK_EQ(dnp_overflow_bytes(), 0);
}

/* A sample of time that comes meanwhile. */
static void late_sample(struct dnp_thread *thread, const struct dnp_happening *happening,
	const struct dnp_walked *walked)
{
	(void)happening;
	(void)walked;
	CHECK(!handle(thread, 2));
}

TEST(handler_that_comes_while_there_is_no_room_is_counted_as_lost_for_want_of_it)
{
	static struct dnp_drain drain;
	struct dnp_thread *thread;

	begin(64);
	open_drain(&drain);
	thread = thread_of(dnp_thread_id(), 0);
	fill_with_samples(thread);
	thread->own.counts[CPU].lost[DNP_LOSS_RING] = 0;
	dnp_happened(&setting,
		&(struct dnp_happening){.event = LOAD, .weight = 1, .walked = late_sample});
	CHECK_EQ(thread->own.counts[CPU].lost[DNP_LOSS_RING], 2);
	CHECK_EQ(thread->own.counts[CPU].lost[DNP_LOSS_NESTED], 0);
	CHECK(dnp_self_enter(thread));
	dnp_self_leave(thread);
	CHECK_EQ(dnp_drain_round(&drain, 0), 0);
	CHECK_EQ(drain.sums[LOAD].samples, 1);
	CHECK_EQ(dnp_drain_close(&drain, DNP_END_EXIT), 0);
}
