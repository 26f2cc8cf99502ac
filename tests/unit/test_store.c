/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/u64map.h"
#include "format/chunk.h"
#include "os/thread.h"
#include "store/drain.h"
#include "store/sample.h"
#include "test.h"

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

/* A thread record of this thread, whose samples the test makes up. */
static struct dnp_thread *own_record(uint32_t depth)
{
	struct dnp_thread *thread;
	int is_new;

	dnp_threads_init(depth);
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
	CHECK_EQ(sample.shared, 0);
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
struct reader {
	uint32_t parent[1000];
	char frame[1000];
	char stacks[64][32];
	uint64_t times[64];
	unsigned n_samples, n_ends, n_chunks;
	struct dnp_rec_stats stats;
	uint64_t base;
};

static void read_stack(struct reader *reader, const struct dnp_rec_stack *stack)
{
	uint64_t parent = stack->parent;

	for (size_t i = 0; i < stack->frames.n; i++) {
		uint64_t node = stack->first + i;

		CHECK(node < 1000);
		reader->parent[node] = (uint32_t)parent;
		reader->frame[node] = stack->frames.p[i];
		parent = node;
	}
}

static void read_sample(struct reader *reader, const struct dnp_rec_sample *sample)
{
	char *text = reader->stacks[reader->n_samples];
	size_t n = 0;

	reader->base += (uint64_t)sample->delta_ns;
	reader->times[reader->n_samples++] = reader->base;
	for (uint64_t node = sample->node; node; node = reader->parent[node]) {
		memmove(text + 1, text, ++n);
		text[0] = reader->frame[node];
	}
}

static void read_record(struct reader *reader, uint64_t id, struct dnp_str body)
{
	const uint8_t *bytes = (const uint8_t *)body.p;
	union {
		struct dnp_rec_stack stack;
		struct dnp_rec_sample sample;
		struct dnp_rec_base base;
	} u;

	if (id == DNP_REC_stack && !dnp_get_stack(bytes, body.n, &u.stack))
		read_stack(reader, &u.stack);
	if (id == DNP_REC_base && !dnp_get_base(bytes, body.n, &u.base))
		reader->base = u.base.time_ns;
	if (id == DNP_REC_sample && !dnp_get_sample(bytes, body.n, &u.sample))
		read_sample(reader, &u.sample);
	if (id == DNP_REC_stats)
		dnp_get_stats(bytes, body.n, &reader->stats);
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
	dnp_drain_stats(&drained->drain, 0);
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

TEST(thread_that_has_gone_is_released_and_its_record_used_again)
{
	struct dnp_drain drain = {0};
	struct dnp_thread *thread, *again;
	int is_new, fd = temporary_file();

	dnp_threads_init(16);
	/* No thread has the largest id there can be. */
	thread = dnp_thread_begin(4194303, &is_new);
	CHECK(thread && is_new);
	CHECK_EQ(dnp_drain_open(&drain, fd, 1, 1), 0);
	drain.frame_of = letter_frame;
	CHECK_EQ(dnp_drain_round(&drain, 1), 0);
	CHECK(!dnp_thread_find(4194303));
	again = dnp_thread_begin(4194302, &is_new);
	CHECK(again == thread && is_new);
	CHECK_EQ(again->index, 1);
	CHECK_EQ(dnp_drain_close(&drain, DNP_END_STOP), 0);
}
