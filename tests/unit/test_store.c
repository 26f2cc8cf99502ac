/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/u64map.h"
#include "format/agent_options.h"
#include "format/chunk.h"
#include "format/varint.h"
#include "os/clock.h"
#include "os/generation.h"
#include "os/process.h"
#include "os/thread.h"
#include "store/drain.h"
#include "store/labels.h"
#include "store/sample.h"
#include "test.h"

/* Which of the collector's threads tells of a collection is a matter of chance. */
TEST(threads_of_the_collector_collect)
{
	struct dnp_thread thread = {.name = "worker"};

	CHECK(!dnp_thread_collects(&thread));
	atomic_store(&thread.collecting, 1);
	CHECK(dnp_thread_collects(&thread));
	CHECK(dnp_thread_collects(&(struct dnp_thread){.name = ".NET BGC"}));
	CHECK(dnp_thread_collects(&(struct dnp_thread){.name = ".NET Server GC"}));
	CHECK(!dnp_thread_collects(&(struct dnp_thread){0}));
}

TEST(ring_refuses_what_does_not_fit_and_wraps)
{
	uint64_t words[8], out[8], at;
	struct dnp_ring ring;

	dnp_ring_init(&ring, words, 8);
	for (uint64_t round = 0; round < 100; round++) {
		uint64_t in[5] = {round, round + 1, round + 2, round + 3, round + 4};

		CHECK(dnp_ring_reserve(&ring, 5, &at));
		dnp_ring_write(&ring, at, in, 5);
		dnp_ring_commit(&ring, at + 5);
		CHECK(!dnp_ring_reserve(&ring, 4, &at));
		CHECK_EQ(dnp_ring_readable(&ring, &at), 5);
		dnp_ring_read(&ring, at, out, 5);
		CHECK(!memcmp(in, out, sizeof(in)));
		dnp_ring_release(&ring, at + 5);
	}
}

#define MESSAGES 200000u

static void *produce(void *context)
{
	struct dnp_ring *ring = context;
	uint64_t at;

	for (uint64_t i = 0; i < MESSAGES;) {
		uint64_t words[3] = {i, i * 3, ~i};
		size_t n = 1 + i % 3;

		if (!dnp_ring_reserve(ring, n, &at))
			continue;
		dnp_ring_write(ring, at, words, n);
		dnp_ring_commit(ring, at + n);
		i++;
	}
	return NULL;
}

TEST(ring_keeps_order_between_two_threads)
{
	static uint64_t words[64];
	struct dnp_ring ring;
	pthread_t thread;
	uint64_t at, out[3];

	dnp_ring_init(&ring, words, 64);
	CHECK_EQ(pthread_create(&thread, NULL, produce, &ring), 0);
	for (uint64_t i = 0; i < MESSAGES; i++) {
		size_t n = 1 + i % 3;

		while (dnp_ring_readable(&ring, &at) < n)
			;
		dnp_ring_read(&ring, at, out, n);
		CHECK(out[0] == i);
		CHECK(n < 2 || out[1] == i * 3);
		CHECK(n < 3 || out[2] == ~i);
		dnp_ring_release(&ring, at + n);
	}
	pthread_join(thread, NULL);
}

TEST(intern_gives_the_same_node_until_it_is_full)
{
	struct dnp_intern intern;
	uint32_t first[40];
	int is_new;

	CHECK_EQ(dnp_intern_init(&intern, 64), 0);
	for (uint32_t i = 0; i < 40; i++) {
		first[i] = dnp_intern_node(&intern, i / 3, i, &is_new);
		CHECK(is_new);
		CHECK_EQ(first[i], i + 1);
	}
	for (uint32_t i = 0; i < 40; i++) {
		CHECK_EQ(dnp_intern_node(&intern, i / 3, i, &is_new), first[i]);
		CHECK(!is_new);
	}
	CHECK_EQ(dnp_intern_make_room(&intern, 8), 0);
	CHECK_EQ(dnp_intern_make_room(&intern, 9), 1);
	CHECK_EQ(dnp_intern_node(&intern, 0, 0, &is_new), 41);
	CHECK(is_new);
	dnp_intern_done(&intern);
}

TEST(map_finds_puts_and_removes)
{
	struct dnp_u64map map = {0};

	CHECK(!dnp_u64map_get(&map, 0));
	for (uint64_t i = 0; i < 5000; i++)
		CHECK_EQ(dnp_u64map_put(&map, i * 4096, (uint32_t)i), 0);
	for (uint64_t i = 0; i < 5000; i += 2)
		dnp_u64map_remove(&map, i * 4096);
	for (uint64_t i = 0; i < 5000; i++) {
		uint32_t *value = dnp_u64map_get(&map, i * 4096);

		CHECK(i % 2 ? value && *value == i : !value);
	}
	dnp_u64map_done(&map);
}

TEST(map_does_not_grow_by_keys_that_come_and_go)
{
	struct dnp_u64map map = {0};

	for (uint64_t i = 0; i < 100000; i++) {
		CHECK_EQ(dnp_u64map_put(&map, i, (uint32_t)i), 0);
		if (i >= 10)
			dnp_u64map_remove(&map, i - 10);
	}
	CHECK_EQ(map.n, 10);
	CHECK_EQ(map.capacity, 64);
	CHECK(dnp_u64map_get(&map, 99990));
	dnp_u64map_done(&map);
}

/* A thread record of this thread, whose samples the test makes up. */
static struct dnp_thread *own_record(uint32_t depth)
{
	struct dnp_thread *thread;
	int is_new;

	dnp_threads_init(depth, DNP_EVENTS_MAX);
	thread = dnp_thread_begin(dnp_thread_id(), &is_new);
	CHECK(thread && is_new);
	CHECK(dnp_thread_begin(dnp_thread_id(), &is_new) == thread && !is_new);
	return thread;
}

/* Stores a sample whose stack is given root first, a letter a frame. */
static int store(struct dnp_feed *feed, const char *stack, struct dnp_sample *sample)
{
	uint32_t n = (uint32_t)strlen(stack);

	for (uint32_t i = 0; i < n; i++)
		feed->frames[n - 1 - i] = (dnp_frame_word)stack[i];
	sample->weight = 1;
	sample->time_ns++;
	return dnp_feed_put(feed, sample, n, DNP_STOP_END, 100);
}

TEST(sample_writes_only_what_differs_from_the_one_before)
{
	struct dnp_thread *thread = own_record(16);
	struct dnp_sample sample = {0};

	CHECK(store(&thread->own, "abc", &sample));
	CHECK_EQ(sample.written, 3);
	CHECK(store(&thread->own, "abcd", &sample));
	CHECK_EQ(sample.shared, 3);
	CHECK_EQ(sample.written, 1);
	CHECK(store(&thread->own, "abx", &sample));
	CHECK_EQ(sample.shared, 2);
	CHECK(store(&thread->own, "abx", &sample));
	CHECK_EQ(sample.written, 0);
	sample.flags = DNP_SAMPLE_INCOMPLETE;
	CHECK(store(&thread->own, "abx", &sample));
	CHECK_EQ(sample.shared, 3);
	sample.flags = DNP_SAMPLE_COLLECTING; /* the same addresses are other frames then */
	CHECK(store(&thread->own, "abx", &sample));
	CHECK_EQ(sample.shared, 0);
}

/* What has one address may be of two methods. */
TEST(sample_shares_nothing_with_one_from_before_code_went)
{
	struct dnp_thread *thread = own_record(16);
	struct dnp_sample sample = {0};

	CHECK(store(&thread->own, "abc", &sample));
	dnp_generation_bump();
	CHECK(store(&thread->own, "abc", &sample));
	CHECK_EQ(sample.shared, 0);
	CHECK_EQ(sample.written, 3);
	CHECK(store(&thread->own, "abc", &sample));
	CHECK_EQ(sample.shared, 3);
}

TEST(sample_that_was_refused_is_not_shared_with)
{
	struct dnp_thread *thread = own_record(16);
	struct dnp_sample sample = {0};
	char stack[] = "a0";
	uint64_t at;

	while (store(&thread->own, stack, &sample))
		stack[1] ^= 1;
	/* What is in the ring now is the truth for the next sample. */
	dnp_ring_release(&thread->own.ring, thread->own.ring.head);
	CHECK_EQ(dnp_ring_readable(&thread->own.ring, &at), 0);
	stack[1] ^= 1;
	CHECK(store(&thread->own, stack, &sample));
	CHECK_EQ(sample.shared, 2);
}

TEST(sample_is_repeated_with_its_flags_and_counts)
{
	struct dnp_thread *thread = own_record(16);
	struct dnp_feed *feed = &thread->outside;
	struct dnp_sample sample = {.event = 1, .weight = 7}, again = sample;
	uint64_t head[DNP_SAMPLE_WORDS], at;

	CHECK(!dnp_feed_has_last(feed));
	feed->frames[0] = 'b';
	feed->frames[1] = 'a';
	sample.flags = DNP_SAMPLE_WAITING;
	CHECK(dnp_feed_put(feed, &sample, 2, DNP_STOP_NO_RULE, 0));
	CHECK(dnp_feed_has_last(feed));
	dnp_ring_readable(&feed->ring, &at);
	dnp_ring_release(&feed->ring, at + DNP_SAMPLE_WORDS + 2);
	for (unsigned i = 0; i < 3; i++)
		CHECK(dnp_feed_repeat(feed, &again));
	CHECK_EQ(dnp_ring_readable(&feed->ring, &at), 3 * DNP_SAMPLE_WORDS);
	dnp_ring_read(&feed->ring, at, head, DNP_SAMPLE_WORDS);
	again = dnp_sample_unpack(head);
	CHECK_EQ(again.shared, 2);
	CHECK_EQ(again.written, 0);
	CHECK_EQ(again.weight, 7);
	CHECK_EQ(again.flags, DNP_SAMPLE_WAITING | DNP_SAMPLE_INCOMPLETE);
	CHECK_EQ(feed->counts[1].samples, 4);
	CHECK_EQ(feed->counts[1].frames, 8);
	CHECK_EQ(feed->counts[1].stops[DNP_STOP_NO_RULE], 4);
}

static uint32_t letter_frame(struct dnp_drain *drain, dnp_frame_word word, uint64_t time_ns,
	int collecting, unsigned *nature)
{
	(void)drain;
	(void)time_ns;
	(void)collecting;
	*nature = word == '?' ? DNP_NATURE_UNKNOWN : word == '&' ? DNP_NATURE_PART : 0;
	return word == '&' ? 'b' : (uint32_t)word; /* a part of b */
}

/* Reads records back: the stack of each sample as text, root first. */
#define NODES_MAX (2 * DNP_FRAMES_MAX + 1000)

struct reader {
	uint32_t parent[NODES_MAX];
	uint64_t frame[NODES_MAX];
	char stacks[64][32]; /* shorter ones */
	unsigned depths[64];
	uint64_t times[64];
	uint64_t weights[64], values[64], flags[64];
	unsigned n_samples, n_ends, n_chunks;
	struct dnp_rec_stats stats;
	struct dnp_rec_thread_end thread_end; /* the last one */
	char thread_name[32];                 /* that a thread got last */
	unsigned n_problems;
	char problem[128]; /* the last one */
	uint64_t base;
};

static void read_stack(struct reader *reader, const struct dnp_rec_stack *stack)
{
	const uint8_t *at = (const uint8_t *)stack->frames.p, *end = at + stack->frames.n;
	uint64_t parent = stack->parent;

	for (uint64_t node = stack->first; at < end; node++) {
		CHECK(node < NODES_MAX);
		at = dnp_varint_get(at, end, &reader->frame[node]);
		CHECK(at);
		reader->parent[node] = (uint32_t)parent;
		parent = node;
	}
}

static void read_sample(struct reader *reader, const struct dnp_rec_sample *sample)
{
	char *text = reader->stacks[reader->n_samples];
	unsigned n = 0;

	reader->base += (uint64_t)sample->delta_ns;
	reader->weights[reader->n_samples] = sample->weight;
	reader->values[reader->n_samples] = sample->value;
	reader->flags[reader->n_samples] = sample->flags;
	reader->times[reader->n_samples++] = reader->base;
	for (uint64_t node = sample->node; node; node = reader->parent[node]) {
		if (++n >= sizeof(reader->stacks[0]))
			continue;
		memmove(text + 1, text, n);
		text[0] = (char)reader->frame[node];
	}
	reader->depths[reader->n_samples - 1] = n;
}

static void read_record(struct reader *reader, uint64_t id, struct dnp_str body)
{
	const uint8_t *bytes = (const uint8_t *)body.p;
	union {
		struct dnp_rec_stack stack;
		struct dnp_rec_sample sample;
		struct dnp_rec_base base;
		struct dnp_rec_thread_name name;
		struct dnp_rec_problem problem;
	} u;

	if (id == DNP_REC_stack && !dnp_get_stack(bytes, body.n, &u.stack))
		read_stack(reader, &u.stack);
	if (id == DNP_REC_base && !dnp_get_base(bytes, body.n, &u.base))
		reader->base = u.base.time_ns;
	if (id == DNP_REC_sample && !dnp_get_sample(bytes, body.n, &u.sample))
		read_sample(reader, &u.sample);
	if (id == DNP_REC_stats)
		dnp_get_stats(bytes, body.n, &reader->stats);
	if (id == DNP_REC_thread_end)
		CHECK_EQ(dnp_get_thread_end(bytes, body.n, &reader->thread_end), 0);
	if (id == DNP_REC_thread_name && !dnp_get_thread_name(bytes, body.n, &u.name))
		snprintf(reader->thread_name, sizeof(reader->thread_name), "%.*s",
			(int)u.name.name.n, u.name.name.p);
	if (id == DNP_REC_problem && !dnp_get_problem(bytes, body.n, &u.problem)) {
		reader->n_problems++;
		snprintf(reader->problem, sizeof(reader->problem), "%.*s", (int)u.problem.text.n,
			u.problem.text.p);
	}
	reader->n_ends += id == DNP_REC_end;
}

static void read_file(struct reader *reader, int fd)
{
	static uint8_t bytes[1 << 20];
	ssize_t n = pread(fd, bytes, sizeof(bytes), 0);
	struct dnp_chunk_header header;

	for (ssize_t at = 0; at < n; at += (ssize_t)(sizeof(header) + header.length)) {
		const uint8_t *payload = bytes + at + sizeof(header);
		size_t position = 0;
		struct dnp_str body;
		uint64_t id;

		memcpy(&header, bytes + at, sizeof(header));
		CHECK_EQ(dnp_chunk_check(&header, payload, (size_t)n - (size_t)at - sizeof(header)),
			0);
		CHECK_EQ(header.sequence, reader->n_chunks++);
		if (header.kind != DNP_CHUNK_RECORDS)
			continue;
		while (dnp_rec_next(payload, header.length, &position, &id, &body) == 1)
			read_record(reader, id, body);
	}
}

static int temporary_file(void)
{
	char name[] = "/tmp/dnprof-test-XXXXXX";
	int fd = mkstemp(name);

	CHECK(fd >= 0);
	unlink(name);
	return fd;
}

/* A drain of frames named by letters, into a file that is read afterwards. */
struct drained {
	struct dnp_drain drain;
	struct reader reader;
	int copy;
};

static struct drained *open_drain(unsigned n_events)
{
	static struct drained drained;
	int fd = temporary_file();

	drained.copy = dup(fd);
	CHECK_EQ(dnp_drain_open(&drained.drain, fd, 99, n_events), 0);
	drained.drain.frame_of = letter_frame;
	return &drained;
}

static const struct reader *close_drain(struct drained *drained)
{
	CHECK_EQ(dnp_drain_round(&drained->drain, 1), 0);
	dnp_drain_stats(&drained->drain, (struct dnp_drain_agent){0});
	CHECK_EQ(dnp_drain_close(&drained->drain, DNP_END_EXIT), 0);
	read_file(&drained->reader, drained->copy);
	close(drained->copy);
	return &drained->reader;
}

TEST(drain_writes_what_was_stored)
{
	static const char *const stacks[] = {"abc", "abd", "abd", "ab", "x?", "abc", "abcdefghij"};
	struct dnp_thread *thread = own_record(16);
	struct dnp_sample sample = {.time_ns = 1000};
	struct drained *drained = open_drain(1);
	const struct reader *reader;

	for (size_t i = 0; i < DNP_ARRAY_SIZE(stacks); i++) {
		CHECK(store(&thread->own, stacks[i], &sample));
		if (i % 2)
			CHECK_EQ(dnp_drain_round(&drained->drain, 0), 0);
	}
	reader = close_drain(drained);
	CHECK_EQ(reader->n_samples, DNP_ARRAY_SIZE(stacks));
	for (size_t i = 0; i < DNP_ARRAY_SIZE(stacks); i++) {
		CHECK_STR(reader->stacks[i], stacks[i]);
		CHECK_EQ(reader->times[i], 1001 + i);
	}
	CHECK_EQ(reader->stats.unresolved, 1);
	CHECK_EQ(reader->n_ends, 1);
}

TEST(drain_shows_a_method_and_its_part_as_one_frame)
{
	static const char *const stacks[] = {"ab&c", "ab&", "a&", "abb"};
	static const char *const shown[] = {"abc", "ab", "ab", "abb"};
	struct dnp_thread *thread = own_record(16);
	struct dnp_sample sample = {.time_ns = 1000};
	struct drained *drained = open_drain(1);
	const struct reader *reader;

	for (size_t i = 0; i < DNP_ARRAY_SIZE(stacks); i++)
		CHECK(store(&thread->own, stacks[i], &sample));
	reader = close_drain(drained);
	CHECK_EQ(reader->n_samples, DNP_ARRAY_SIZE(stacks));
	for (size_t i = 0; i < DNP_ARRAY_SIZE(stacks); i++)
		CHECK_STR(reader->stacks[i], shown[i]);
}

#define FIRST_FRAME 1000u /* no letter's */

/* More new frames than one record, or the ring of a feed for usual depths, has room for. */
TEST(stack_of_the_greatest_depth_goes_through)
{
	struct dnp_thread *thread = own_record(DNP_FRAMES_MAX);
	struct dnp_feed *feeds[] = {&thread->own, &thread->outside};
	struct drained *drained = open_drain(1);
	const struct reader *reader;
	uint64_t node;

	for (size_t i = 0; i < DNP_ARRAY_SIZE(feeds); i++) {
		struct dnp_sample sample = {.time_ns = 1000, .weight = 1};

		for (uint32_t k = 0; k < DNP_FRAMES_MAX; k++)
			feeds[i]->frames[k] = FIRST_FRAME + DNP_FRAMES_MAX * (i + 1) - k;
		CHECK(dnp_feed_put(feeds[i], &sample, DNP_FRAMES_MAX, DNP_STOP_END, 100));
		CHECK_EQ(sample.written, DNP_FRAMES_MAX);
	}
	reader = close_drain(drained);
	CHECK_EQ(reader->n_samples, 2);
	CHECK_EQ(reader->depths[0], DNP_FRAMES_MAX);
	CHECK_EQ(reader->depths[1], DNP_FRAMES_MAX);
	node = DNP_FRAMES_MAX; /* they count from 1, at the root */
	for (uint64_t frame = FIRST_FRAME + DNP_FRAMES_MAX; frame > FIRST_FRAME; frame--) {
		CHECK_EQ(reader->frame[node], frame);
		node = reader->parent[node];
	}
	CHECK_EQ(node, 0);
}

static void put_wide(struct dnp_feed *feed, char leaf, uint64_t weight)
{
	struct dnp_sample sample = {.time_ns = 5000,
		.event = 1,
		.flags = DNP_SAMPLE_WIDE,
		.weight = weight,
		.value = weight / 2};

	feed->frames[0] = dnp_label_frame((uint32_t)leaf);
	feed->frames[1] = 'b';
	feed->frames[2] = 'a';
	CHECK(dnp_feed_put(feed, &sample, 3, DNP_STOP_END, 100));
}

TEST(wide_samples_keep_their_weight_and_share_frames_with_others)
{
	struct dnp_thread *thread = own_record(16);
	struct dnp_sample narrow = {.time_ns = 1000};
	struct drained *drained = open_drain(2);
	const struct reader *reader;

	CHECK(store(&thread->own, "ab", &narrow));
	put_wide(&thread->own, 'T', UINT64_C(1) << 40);
	CHECK(store(&thread->own, "abc", &narrow));
	CHECK_EQ(narrow.shared, 2);
	put_wide(&thread->own, 'U', UINT64_MAX);
	reader = close_drain(drained);
	CHECK_EQ(reader->n_samples, 4);
	CHECK_STR(reader->stacks[1], "abT");
	CHECK(reader->weights[1] == UINT64_C(1) << 40);
	CHECK(reader->values[1] == UINT64_C(1) << 39);
	CHECK_EQ(reader->flags[1], 0);
	CHECK_STR(reader->stacks[2], "abc");
	CHECK_EQ(reader->weights[2], 1);
	CHECK_EQ(reader->values[2], 0);
	CHECK_STR(reader->stacks[3], "abU");
	CHECK(reader->weights[3] == UINT64_MAX);
}

TEST(label_of_an_event_is_not_repeated_with_the_stack)
{
	struct dnp_thread *thread = own_record(16);
	struct dnp_sample sample = {.time_ns = 1000}, again = {.time_ns = 6000, .weight = 3};
	struct drained *drained = open_drain(2);
	const struct reader *reader;

	put_wide(&thread->own, 'T', 100000);
	CHECK(dnp_feed_repeat(&thread->own, &again));
	CHECK(dnp_feed_repeat(&thread->own, &again));
	CHECK(store(&thread->own, "abx", &sample));
	CHECK_EQ(sample.shared, 2);
	reader = close_drain(drained);
	CHECK_EQ(reader->n_samples, 4);
	CHECK_STR(reader->stacks[0], "abT");
	CHECK_STR(reader->stacks[1], "ab");
	CHECK_EQ(reader->weights[1], 3);
	CHECK_EQ(reader->values[1], 0);
	CHECK_STR(reader->stacks[2], "ab");
	CHECK_STR(reader->stacks[3], "abx");
	CHECK_EQ(drained->drain.sums[0].samples, 3);
	CHECK_EQ(drained->drain.sums[1].samples, 1);
}

/* A thread that slept for long, or was in the kernel: of one place, more than the first word has
 * room for. */
TEST(great_weight_is_kept_and_is_the_sample_s_alone)
{
	struct dnp_thread *thread = own_record(16);
	struct dnp_sample sample = {.time_ns = 1000, .weight = 200000},
			  again = {.time_ns = 2000, .weight = 65536},
			  last = {.time_ns = 3000, .weight = 65535};
	struct drained *drained = open_drain(1);
	const struct reader *reader;

	thread->own.frames[0] = 'b';
	thread->own.frames[1] = 'a';
	CHECK(dnp_feed_put(&thread->own, &sample, 2, DNP_STOP_END, 0));
	CHECK(dnp_feed_repeat(&thread->own, &again));
	CHECK(dnp_feed_repeat(&thread->own, &last));
	CHECK(!(last.flags & DNP_SAMPLE_WIDE));
	reader = close_drain(drained);
	CHECK_EQ(reader->n_samples, 3);
	CHECK_EQ(reader->weights[0], 200000);
	CHECK_EQ(reader->weights[1], 65536);
	CHECK_EQ(reader->weights[2], 65535);
	for (unsigned i = 0; i < 3; i++) {
		CHECK_STR(reader->stacks[i], "ab");
		CHECK_EQ(reader->flags[i], 0);
		CHECK_EQ(reader->values[i], 0);
	}
	CHECK_EQ(drained->drain.sums[0].samples, 3);
	CHECK_EQ(drained->drain.sums[0].lost, 0);
}

TEST(wide_sample_that_is_lost_counts_all_of_its_weight)
{
	struct dnp_thread *thread = own_record(16);
	struct dnp_sample sample = {
		.event = 1, .flags = DNP_SAMPLE_WIDE, .weight = UINT64_C(5) << 32};

	for (unsigned i = 0; i < DNP_RING_WORDS / DNP_SAMPLE_WORDS_MAX; i++)
		CHECK(dnp_feed_put(&thread->own, &sample, 0, DNP_STOP_END, 0));
	CHECK(!dnp_feed_put(&thread->own, &sample, 0, DNP_STOP_END, 0));
	CHECK(thread->own.counts[1].lost[DNP_LOSS_RING] == UINT64_C(5) << 32);
}

TEST(label_has_one_number_until_it_is_forgotten)
{
	uint32_t a = dnp_label(dnp_str("System.String")), b = dnp_label(dnp_str("System.Byte[]"));

	CHECK(a && b && a != b);
	CHECK_EQ(dnp_label(dnp_str("System.String")), a);
	CHECK(dnp_str_eq(dnp_label_get(b).text, dnp_str("System.Byte[]")));
	CHECK(dnp_str_eq(dnp_label_get(DNP_LABEL_OTHER).text, dnp_str("[other]")));
	CHECK(dnp_str_eq(dnp_label_get(b + 1).text, dnp_str("[other]")));
	CHECK_EQ(dnp_label((struct dnp_str){0}), DNP_LABEL_OTHER);
	/* Two types of one name, and something that is not a type. */
	CHECK_EQ(dnp_label_of_type(dnp_str("Node"), 0x1000, 3), 3);
	CHECK_EQ(dnp_label_of_type(dnp_str("Node"), 0x2000, 4), 4);
	/* The text is right of any type of that text. */
	CHECK_EQ(dnp_label_of_type(dnp_str("Node"), 0x1000, 5), 3);
	CHECK_EQ(dnp_label(dnp_str("Node")), 5);
	CHECK_EQ(dnp_label_get(3).type, 0x1000);
	CHECK_EQ(dnp_label_get(3).unloadings, 3);
	dnp_labels_forget();
	CHECK_EQ(dnp_labels_bytes(), 0);
	CHECK(dnp_str_eq(dnp_label_get(a).text, dnp_str("[other]")));
	CHECK(dnp_label(dnp_str("another")));
	dnp_labels_forget();
}

/* By its text alone nobody knows that another one has come in its place. */
TEST(label_that_has_a_type_s_own_name_passes_with_the_type_s_module)
{
	struct dnp_str item = dnp_str("Item");
	uint32_t first = dnp_label_of_type(item, 0x1000, 2), second;
	uint32_t other = dnp_label_of_type(item, 0x2000, 2);

	dnp_label_passes(first, 0x10);
	CHECK_EQ(dnp_label_of_type(item, 0x1000, 2), first);
	/* Another module is nothing to it. */
	dnp_labels_unloading(0x20);
	CHECK_EQ(dnp_label_of_type(item, 0x1000, 3), first);
	dnp_labels_unloading(0x10);
	second = dnp_label_of_type(item, 0x1000, 3);
	CHECK(second && second != first);
	CHECK_EQ(dnp_label_get(first).unloadings, 2);
	CHECK_EQ(dnp_label_get(second).unloadings, 3);
	CHECK_EQ(dnp_label_of_type(item, 0x1000, 3), second);
	/* What goes by its text, or does not go away, takes none. */
	dnp_labels_unloading(0x10);
	CHECK_EQ(dnp_label_of_type(item, 0x1000, 4), second);
	CHECK_EQ(dnp_label_of_type(item, 0x2000, 4), other);
	/* Whose module is not known may go with any. */
	dnp_label_passes(second, 0);
	dnp_labels_unloading(0x20);
	CHECK(dnp_label_of_type(item, 0x1000, 4) > second);
	CHECK_EQ(dnp_labels_refused(), 0);
	dnp_labels_forget();
}

TEST(labels_are_bounded)
{
	char text[DNP_LABEL_BYTES_MAX];
	uint32_t last = 0, n = 0;

	memset(text, 'x', sizeof(text));
	for (uint32_t i = 0; i < DNP_LABELS_MAX + 10; i++) {
		memcpy(text, &i, sizeof(i)); /* text need not be text */
		last = dnp_label((struct dnp_str){text, i % 2 ? sizeof(text) : 8});
		n += last != DNP_LABEL_OTHER;
	}
	CHECK_EQ(last, DNP_LABEL_OTHER);
	CHECK(n > 4096 && n < DNP_LABELS_MAX);
	CHECK_EQ(dnp_labels_refused(), DNP_LABELS_MAX + 10 - n);
	CHECK(dnp_labels_bytes() < DNP_LABELS_BYTES_MAX + (UINT32_C(2) << 20));
	memset(text, 0, sizeof(uint32_t)); /* the first */
	CHECK_EQ(dnp_label((struct dnp_str){text, 8}), 1);
	dnp_labels_forget();
	CHECK_EQ(dnp_labels_refused(), 0);
}

TEST(labels_that_were_refused_are_told_once)
{
	struct dnp_thread *thread = own_record(16);
	struct drained *drained = open_drain(1);
	const struct reader *reader;

	CHECK(thread);
	for (uint32_t i = 0; i < DNP_LABELS_MAX + 3; i++)
		dnp_label((struct dnp_str){(const char *)&i, sizeof(i)});
	dnp_drain_stats(&drained->drain, (struct dnp_drain_agent){0});
	reader = close_drain(drained);
	CHECK_EQ(reader->n_problems, 1);
	CHECK(!strncmp(reader->problem, "3 times ", 8));
	dnp_labels_forget();
}

TEST(two_feeds_of_a_thread_share_nothing)
{
	struct dnp_thread *thread = own_record(16);
	struct dnp_sample own = {.time_ns = 1000}, outside = {.time_ns = 2000, .event = 1};
	struct drained *drained = open_drain(2);
	const struct reader *reader;

	CHECK(store(&thread->own, "abc", &own));
	CHECK(store(&thread->outside, "axy", &outside));
	CHECK_EQ(outside.shared, 0);
	CHECK(store(&thread->own, "abd", &own));
	CHECK_EQ(own.shared, 2);
	CHECK(store(&thread->outside, "axy", &outside));
	CHECK_EQ(outside.shared, 3);
	dnp_feed_lost(&thread->outside, 1, DNP_LOSS_RING, 7);
	reader = close_drain(drained);
	CHECK_EQ(reader->n_samples, 4);
	CHECK_STR(reader->stacks[0], "abc");
	CHECK_STR(reader->stacks[1], "abd");
	CHECK_STR(reader->stacks[2], "axy");
	CHECK_STR(reader->stacks[3], "axy");
	CHECK_EQ(drained->drain.sums[0].samples, 2);
	CHECK_EQ(drained->drain.sums[1].samples, 2);
	CHECK_EQ(drained->drain.sums[0].lost, 0);
	CHECK_EQ(drained->drain.sums[1].lost, 7);
}

TEST(writer_on_a_full_disk_leaves_whole_chunks)
{
	struct rlimit limit = {150000, RLIM_INFINITY};
	struct dnp_writer writer;
	int fd = temporary_file(), copy = dup(fd), failed = 0;
	static struct reader reader;
	struct stat st;

	signal(SIGXFSZ, SIG_IGN);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
	CHECK_EQ(dnp_writer_open(&writer, fd, 5), 0);
	for (int i = 0; i < 100000 && !failed; i++)
		failed = dnp_write_problem(&writer,
			&(struct dnp_rec_problem){.text = dnp_str("something to fill the file")});
	CHECK_EQ(failed, -EFBIG);
	CHECK_EQ(dnp_writer_flush(&writer), -EFBIG);
	dnp_writer_close(&writer);
	CHECK_EQ(fstat(copy, &st), 0);
	CHECK(st.st_size > 60000);
	read_file(&reader, copy);
	CHECK(reader.n_chunks >= 2);
	close(copy);
}

static void count_visit(struct dnp_thread *thread, void *context)
{
	*(uint32_t *)context += thread->tid != 0;
}

/* A program that closes what it has not opened, and has a file of its own there then. */
TEST(writer_leaves_a_file_alone_that_is_not_its_own)
{
	char own[] = "/tmp/dnprof-unit-own-XXXXXX", theirs[] = "/tmp/dnprof-unit-theirs-XXXXXX";
	int fd = mkstemp(own), other = mkstemp(theirs);
	struct dnp_rec_thread_clock record = {.thread = 1};
	struct dnp_writer writer;
	struct stat st;

	CHECK(fd >= 0 && other >= 0);
	CHECK_EQ(dnp_writer_open(&writer, fd, 7), 0);
	CHECK_EQ(dnp_write_thread_clock(&writer, &record), 0);
	CHECK_EQ(dnp_writer_flush(&writer), 0);
	CHECK_EQ(dup2(other, fd), fd);
	dnp_write_thread_clock(&writer, &record);
	CHECK_EQ(dnp_writer_flush(&writer), -EBADF);
	CHECK_EQ(dnp_writer_close(&writer), -EBADF);
	CHECK_EQ(fstat(fd, &st), 0);
	CHECK_EQ(st.st_size, 0);
	close(fd);
	close(other);
	unlink(own);
	unlink(theirs);
}

/* One that could not begin: what others had written before it stays. */
TEST(what_a_writer_has_written_is_taken_away)
{
	struct dnp_rec_thread_clock record = {.thread = 1};
	int fd = temporary_file(), look = dup(fd);
	struct dnp_writer writer;
	struct stat st;

	CHECK_EQ(write(fd, "before", 6), 6);
	CHECK_EQ(dnp_writer_open(&writer, fd, 7), 0);
	CHECK_EQ(dnp_write_thread_clock(&writer, &record), 0);
	CHECK_EQ(dnp_writer_flush(&writer), 0);
	CHECK_EQ(dnp_write_thread_clock(&writer, &record), 0);
	CHECK_EQ(dnp_writer_abandon(&writer), 0);
	CHECK_EQ(fstat(look, &st), 0);
	CHECK_EQ(st.st_size, 6);
	CHECK(fcntl(fd, F_GETFD) < 0);
	close(look);
}

TEST(thread_that_has_gone_is_released_and_its_record_used_again)
{
	struct dnp_drain drain = {0};
	struct dnp_thread *thread, *again;
	struct dnp_sample sample = {0};
	int is_new, fd = temporary_file();
	uint32_t place;

	dnp_threads_init(16, 1);
	/* No thread has the largest id there can be. */
	thread = dnp_thread_begin(4194303, &is_new);
	CHECK(thread && is_new);
	place = thread->place;
	CHECK(store(&thread->own, "ab", &sample) && store(&thread->outside, "ab", &sample));
	dnp_feed_lost(&thread->own, 0, DNP_LOSS_RING, 7);
	atomic_store(&thread->collecting, 1);
	thread->end_ns = 5;
	CHECK_EQ(dnp_drain_open(&drain, fd, 1, 1), 0);
	drain.frame_of = letter_frame;
	CHECK_EQ(dnp_drain_round(&drain, 1), 0);
	CHECK(!dnp_thread_find(4194303));
	again = dnp_thread_begin(4194302, &is_new);
	CHECK(again == thread && is_new);
	CHECK_EQ(again->index, 1);
	CHECK_EQ(again->place, place);
	CHECK(!again->collecting && !again->end_ns && !again->announced);
	CHECK(!dnp_feed_has_last(&again->own) && !dnp_feed_has_last(&again->outside));
	for (size_t i = 0; i < sizeof(again->own.counts); i++)
		CHECK(!((const char *)again->own.counts)[i] &&
			!((const char *)again->outside.counts)[i]);
	for (unsigned i = 0; i < DNP_EVENTS_MAX; i++)
		CHECK(!again->own.reported[i].samples &&
			!again->own.reported[i].lost[DNP_LOSS_RING]);
	CHECK_EQ(dnp_drain_close(&drain, DNP_END_STOP), 0);
}

/* Many may come and go between two looks for those that have gone. */
TEST(thread_that_told_of_its_end_is_released_as_soon_as_it_has_gone)
{
	struct dnp_drain drain = {0};
	struct dnp_thread *ended, *silent, *here;
	int is_new, fd = temporary_file();

	dnp_threads_init(16, 1);
	ended = dnp_thread_begin(4194303, &is_new);
	silent = dnp_thread_begin(4194302, &is_new);
	here = dnp_thread_begin(dnp_thread_id(), &is_new);
	CHECK(ended && silent && here);
	ended->end_ns = here->end_ns = 5;
	CHECK_EQ(dnp_drain_open(&drain, fd, 1, 1), 0);
	CHECK_EQ(dnp_drain_round(&drain, 0), 0);
	CHECK(!dnp_thread_find(4194303));
	CHECK(dnp_thread_find(4194302) == silent);
	CHECK(dnp_thread_find(dnp_thread_id()) == here);
	CHECK_EQ(dnp_drain_round(&drain, 1), 0);
	CHECK(!dnp_thread_find(4194302));
	CHECK_EQ(dnp_drain_close(&drain, DNP_END_STOP), 0);
}

/* Of one that the system has just told of it is not asked again. */
TEST(thread_that_the_system_has_listed_is_there)
{
	struct dnp_drain drain = {0};
	struct dnp_thread *listed, *ended;
	int is_new, fd = temporary_file();

	dnp_threads_init(16, 1);
	listed = dnp_thread_begin(4194303, &is_new);
	ended = dnp_thread_begin(4194302, &is_new);
	CHECK(listed && ended);
	listed->listed = ended->listed = true;
	ended->end_ns = 5;
	CHECK_EQ(dnp_drain_open(&drain, fd, 1, 1), 0);
	CHECK_EQ(dnp_drain_round(&drain, 1), 0);
	CHECK(dnp_thread_find(4194303) == listed);
	CHECK(!dnp_thread_find(4194302));
	CHECK_EQ(dnp_drain_round(&drain, 1), 0);
	CHECK(!dnp_thread_find(4194303));
	CHECK_EQ(dnp_drain_close(&drain, DNP_END_STOP), 0);
}

static uint64_t told_gone_ns;

static void note_gone(struct dnp_thread *thread)
{
	told_gone_ns = thread->gone_ns;
}

/* Engines are told by when whoever had the number has gone; another may have it by now. */
TEST(drain_tells_since_when_a_thread_has_gone)
{
	struct dnp_drain drain = {0};
	struct dnp_thread *thread;
	int is_new, fd = temporary_file();
	uint64_t before_ns;

	dnp_threads_init(16, 1);
	CHECK(dnp_thread_begin(4194303, &is_new));
	thread = dnp_thread_begin(dnp_thread_id(), &is_new);
	CHECK(thread);
	CHECK_EQ(dnp_drain_open(&drain, fd, 1, 1), 0);
	drain.gone = note_gone;
	before_ns = dnp_now_ns();
	CHECK_EQ(dnp_drain_round(&drain, 1), 0);
	CHECK(told_gone_ns >= before_ns && told_gone_ns <= dnp_now_ns());
	dnp_drain_thread_gone(&drain, thread, 5);
	CHECK_EQ(told_gone_ns, 5);
	CHECK_EQ(dnp_drain_close(&drain, DNP_END_STOP), 0);
}

static struct {
	struct dnp_thread *busy;
	unsigned stored, lost;
} while_one_goes;

/* It takes long, and the thread that is still there fills most of its ring meanwhile. */
static void go_slowly(struct dnp_thread *thread)
{
	struct dnp_sample sample = {0};

	(void)thread;
	for (size_t words = 0; words < DNP_RING_WORDS_OUTSIDE * 3 / 4; words += DNP_SAMPLE_WORDS)
		if (store(&while_one_goes.busy->outside, "ab", &sample))
			while_one_goes.stored++;
		else
			while_one_goes.lost++;
	dnp_sleep_until_ns(dnp_now_ns() + 15000000);
}

/* However long a round takes: where the system is busy, each thread that is asked for takes its
 * time. */
TEST(drain_empties_all_rings_while_a_round_goes_on)
{
	struct drained *drained;
	int is_new;

	dnp_threads_init(16, 1);
	drained = open_drain(1);
	while_one_goes.busy = dnp_thread_begin(dnp_thread_id(), &is_new);
	CHECK(while_one_goes.busy);
	for (int i = 0; i < 5; i++)
		CHECK(dnp_thread_begin(4194303 - i, &is_new));
	drained->drain.gone = go_slowly;
	CHECK_EQ(dnp_drain_round(&drained->drain, 1), 0);
	CHECK(!dnp_thread_find(4194303) && !dnp_thread_find(4194303 - 4));
	CHECK_EQ(while_one_goes.lost, 0);
	CHECK_EQ(dnp_drain_round(&drained->drain, 0), 0);
	CHECK_EQ(drained->drain.sums[0].lost, 0);
	dnp_drain_stats(&drained->drain, (struct dnp_drain_agent){0});
	CHECK_EQ(drained->drain.sums[0].samples, while_one_goes.stored);
	CHECK_EQ(dnp_drain_close(&drained->drain, DNP_END_EXIT), 0);
	close(drained->copy);
}

/* A number that is another's by now must not lend it its name. */
TEST(thread_that_has_gone_is_not_asked_for_its_name)
{
	struct dnp_drain drain = {0};
	struct dnp_thread *thread;
	int is_new, fd = temporary_file();

	dnp_threads_init(16, 1);
	thread = dnp_thread_begin(dnp_thread_id(), &is_new);
	CHECK(thread);
	memcpy(thread->name, "old", sizeof("old"));
	CHECK_EQ(dnp_drain_open(&drain, fd, 1, 1), 0);
	dnp_drain_thread_gone(&drain, thread, dnp_now_ns());
	CHECK_STR(thread->announced_name, "old");
	CHECK_EQ(dnp_drain_close(&drain, DNP_END_STOP), 0);
}

static struct dnp_drain *announcing_drain;

static void announce_it(struct dnp_thread *thread)
{
	dnp_drain_announce(announcing_drain, thread);
}

/* Nor by what engines do for one that has gone. */
TEST(thread_that_has_gone_is_announced_by_its_own_name)
{
	struct dnp_drain drain = {0};
	struct dnp_thread *thread;
	int is_new, fd = temporary_file();

	dnp_threads_init(16, 1);
	thread = dnp_thread_begin(dnp_thread_id(), &is_new);
	CHECK(thread);
	memcpy(thread->name, "old", sizeof("old"));
	CHECK_EQ(dnp_drain_open(&drain, fd, 1, 1), 0);
	announcing_drain = &drain;
	drain.gone = announce_it;
	dnp_drain_thread_gone(&drain, thread, dnp_now_ns());
	CHECK_STR(thread->announced_name, "old");
	CHECK_EQ(dnp_drain_close(&drain, DNP_END_STOP), 0);
}

/* Visited are those that are live, also where others between them are not. */
TEST(all_live_threads_are_visited)
{
	struct dnp_thread *threads[150];
	uint32_t n = 0;
	int is_new;

	dnp_threads_init(16, 1);
	for (int i = 0; i < 150; i++)
		CHECK((threads[i] = dnp_thread_begin(4000000 + i, &is_new)));
	for (int i = 0; i < 150; i += 3)
		dnp_thread_release(threads[i]);
	dnp_threads_each(count_visit, &n);
	CHECK_EQ(n, 100);
}

/* Handlers find it by the number, as long as the record is the thread's and the recording goes on.
 */
TEST(thread_finds_its_own_record)
{
	struct dnp_thread *thread;
	int is_new, tid = dnp_thread_id();

	dnp_threads_init(16, DNP_EVENTS_MAX);
	CHECK(!dnp_thread_own());
	thread = dnp_thread_begin(tid, &is_new);
	CHECK(thread && dnp_thread_own() == thread);
	/* Others whose places are the next ones, and the same. */
	for (int i = 1; i < 8; i++)
		CHECK(dnp_thread_begin(tid + i, &is_new) &&
			dnp_thread_begin(tid + i * 65536, &is_new));
	CHECK(dnp_thread_own() == thread);
	dnp_thread_release(thread);
	CHECK(!dnp_thread_own());
	thread = dnp_thread_begin(tid, &is_new);
	CHECK(thread && dnp_thread_own() == thread);
	dnp_threads_done();
	CHECK(!dnp_thread_own());
	dnp_threads_init(16, DNP_EVENTS_MAX);
	CHECK(dnp_thread_begin(tid + 1, &is_new));
	CHECK(!dnp_thread_own());
}

static struct dnp_thread *handled;
static _Atomic int handles;
static bool kept_sampler;

/* As a handler, on a thread that the drain takes for another one that has gone. */
static void *handle(void *context)
{
	int is_new;

	handled = dnp_thread_begin(dnp_thread_id(), &is_new);
	CHECK(handled && is_new);
	handled->sampler.interval_ns = 1;
	atomic_fetch_add(&handled->handling, 1);
	atomic_store(&handles, 1);
	while (dnp_thread_own())
		sched_yield();
	kept_sampler = handled->sampler.interval_ns;
	atomic_fetch_add_explicit(&handled->handling, 1, memory_order_release);
	return context;
}

TEST(sampler_stops_when_no_handler_looks_at_it)
{
	struct dnp_drain drain = {0};
	pthread_t thread;
	int fd = temporary_file();

	dnp_threads_init(16, 1);
	CHECK_EQ(dnp_drain_open(&drain, fd, 1, 1), 0);
	CHECK_EQ(pthread_create(&thread, NULL, handle, NULL), 0);
	while (!atomic_load(&handles))
		sched_yield();
	dnp_drain_thread_gone(&drain, handled, dnp_now_ns());
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK(kept_sampler);
	CHECK_EQ(dnp_drain_close(&drain, DNP_END_STOP), 0);
}

/* Two that the kernel told of are two, however soon one comes after the other. */
TEST(number_used_again_is_another_thread)
{
	struct dnp_thread *thread;
	uint64_t start;
	int is_new;

	dnp_threads_init(16, DNP_EVENTS_MAX);
	thread = dnp_thread_begin(4194303, &is_new);
	CHECK(thread && is_new);
	start = thread->start_ns;
	CHECK(dnp_thread_begun_at(thread, start - 2000000));
	CHECK(dnp_thread_begun_at(thread, start - 2000000));
	CHECK(!dnp_thread_begun_at(thread, start + 1));
	/* It was another's number before, and was seen after both had begun. */
	CHECK(dnp_thread_begun_at(thread, start - 3000000));
	CHECK(dnp_thread_begun_at(thread, start - 1000000));
	CHECK(!dnp_thread_begun_at(thread, start + 1));
}

/* Before its word comes, a thread is listed for a moment. */
TEST(thread_that_was_listed_first_is_the_one_that_the_kernel_tells_of)
{
	struct dnp_thread *thread;
	int is_new;

	dnp_threads_init(16, DNP_EVENTS_MAX);
	thread = dnp_thread_begin(4194303, &is_new);
	CHECK(thread && is_new);
	CHECK(!dnp_thread_begun_at(thread, thread->start_ns + 2000000));
	CHECK(dnp_thread_begun_at(thread, thread->start_ns + 1000));
	CHECK(!dnp_thread_begun_at(thread, thread->start_ns + 2000));
}

/* The thread that begins it may have to wait for a processor before the kernel's word. */
TEST(living_thread_is_told_from_another_by_when_it_began)
{
	struct dnp_thread *thread;
	int is_new;

	dnp_threads_init(16, DNP_EVENTS_MAX);
	thread = dnp_thread_begin(dnp_thread_id(), &is_new);
	CHECK(thread && is_new);
	CHECK(dnp_thread_begun_at(thread, thread->start_ns + 20000000));
	CHECK(!dnp_thread_begun_at(thread, thread->start_ns + 30000000));
	/* Of one that had the number before this process was. */
	thread->begun_ns = 0;
	thread->start_ns = dnp_process_start_ns(dnp_process_id()) - 20000000;
	CHECK(!dnp_thread_begun_at(thread, thread->start_ns + 40000000));
}

/* Between the last round and the recording's end; what it said when it went stands. */
TEST(thread_that_goes_last_has_the_clock_that_it_told)
{
	struct drained *drained;
	struct dnp_thread *thread;
	int is_new;

	dnp_threads_init(16, DNP_EVENTS_MAX);
	drained = open_drain(1);
	thread = dnp_thread_begin(4194303, &is_new);
	CHECK(thread && is_new);
	thread->end_cpu_ns = 167000000;
	thread->end_ns = thread->start_ns + 1;
	CHECK_EQ(dnp_drain_close(&drained->drain, DNP_END_EXIT), 0);
	read_file(&drained->reader, drained->copy);
	close(drained->copy);
	CHECK_EQ(drained->reader.thread_end.cpu_ns, 167000000);
	CHECK_EQ(drained->reader.thread_end.time_ns, thread->start_ns + 1);
}

/* An engine's first look at a thread may come when another one's samples of it are written. */
TEST(time_that_a_thread_is_found_to_have_missed_late_is_told)
{
	struct dnp_thread *thread = own_record(16);
	struct dnp_sample sample = {.time_ns = 1000};
	struct drained *drained = open_drain(2);
	const struct reader *reader;

	CHECK(store(&thread->outside, "ab", &sample));
	CHECK_EQ(dnp_drain_round(&drained->drain, 0), 0);
	thread->missed_events = 1U << 1;
	thread->missed = 3;
	reader = close_drain(drained);
	CHECK_EQ(reader->n_samples, 2);
	CHECK_EQ(reader->weights[1], 3);
	CHECK_EQ(reader->times[1], thread->start_ns);
}

TEST(time_after_a_thread_s_last_sample_is_told_at_its_end)
{
	struct dnp_thread *thread = own_record(16);
	struct dnp_sample sample = {.time_ns = 1000};
	struct drained *drained = open_drain(2);
	const struct reader *reader;
	uint64_t end_ns = thread->start_ns + 5000;

	CHECK(store(&thread->outside, "ab", &sample));
	CHECK_EQ(dnp_drain_round(&drained->drain, 0), 0);
	thread->missed_events = 1U << 1;
	thread->missed = 3;
	thread->rest = 4;
	thread->end_ns = end_ns;
	reader = close_drain(drained);
	CHECK_EQ(reader->n_samples, 3);
	CHECK_EQ(reader->weights[1], 3);
	CHECK_EQ(reader->weights[2], 4);
	CHECK_EQ(reader->times[2], end_ns);
}

/* Whoever makes a thread may name it long after, and counters are told at any time. */
TEST(thread_has_the_name_that_it_got_after_it_was_announced)
{
	struct drained *drained;
	struct dnp_thread *thread;
	char before[16];
	int is_new;

	prctl(PR_GET_NAME, before);
	dnp_threads_init(16, DNP_EVENTS_MAX);
	drained = open_drain(1);
	thread = dnp_thread_begin(dnp_thread_id(), &is_new);
	CHECK(thread && is_new);
	dnp_drain_announce(&drained->drain, thread);
	for (uint64_t age_s = 1; age_s <= 25; age_s *= 5) {
		thread->start_ns = dnp_now_ns() - age_s * UINT64_C(1000000000);
		dnp_drain_stats(&drained->drain, (struct dnp_drain_agent){0});
		CHECK_EQ(dnp_drain_round(&drained->drain, 1), 0);
	}
	prctl(PR_SET_NAME, "named late");
	CHECK_EQ(close_drain(drained)->thread_name[0], 'n');
	CHECK(!strcmp(drained->reader.thread_name, "named late"));
	prctl(PR_SET_NAME, before);
}

/* It is not waited for the end: who reads along wants to know it, and a thread may end before. */
TEST(names_are_looked_at_while_threads_live)
{
	struct drained *drained;
	struct dnp_thread *thread;
	char before[16];
	int is_new;

	prctl(PR_GET_NAME, before);
	dnp_threads_init(16, DNP_EVENTS_MAX);
	drained = open_drain(1);
	thread = dnp_thread_begin(dnp_thread_id(), &is_new);
	CHECK(thread && is_new);
	dnp_drain_announce(&drained->drain, thread);
	for (unsigned age_s = 1; age_s <= 25; age_s *= 5) {
		char name[16];

		snprintf(name, sizeof(name), "%u s old", age_s);
		prctl(PR_SET_NAME, name);
		thread->start_ns = dnp_now_ns() - age_s * UINT64_C(1000000000);
		CHECK_EQ(dnp_drain_round(&drained->drain, 1), 0);
		CHECK_STR(thread->announced_name, name);
		prctl(PR_SET_NAME, "not due");
		CHECK_EQ(dnp_drain_round(&drained->drain, 1), 0);
		CHECK_STR(thread->announced_name, name);
	}
	prctl(PR_SET_NAME, before);
	close_drain(drained);
}
