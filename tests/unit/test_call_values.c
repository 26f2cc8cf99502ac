/* SPDX-License-Identifier: MIT */
#include "capture/call_values.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/call_seen.h"
#include "capture/calls.h"
#include "clr/hresult.h"
#include "clr/info.h"
#include "format/agent_options.h"
#include "format/call_codec.h"
#include "format/chunk.h"
#include "format/rec.h"
#include "format/varint.h"
#include "test.h"

/* A recording in memory, and what is in it. */
static struct dnp_writer writer;
static int recording_fd;

static void open_recording(void)
{
	recording_fd = memfd_create("recording", 0);
	CHECK(recording_fd >= 0);
	CHECK_EQ(dnp_writer_open(&writer, dup(recording_fd), 1), 0);
}

/* Calls `take` for each record of `want`. */
static void each_record(uint64_t want, void (*take)(const uint8_t *body, size_t n))
{
	struct stat status;
	uint8_t *bytes;
	size_t at = 0;

	CHECK_EQ(dnp_writer_close(&writer), 0);
	CHECK_EQ(fstat(recording_fd, &status), 0);
	bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, recording_fd, 0);
	CHECK(bytes != MAP_FAILED);
	while (at < (size_t)status.st_size) {
		struct dnp_chunk_header header;
		struct dnp_str body;
		size_t in = 0;
		uint64_t id;

		memcpy(&header, bytes + at, sizeof(header));
		at += sizeof(header);
		while (header.kind == DNP_CHUNK_RECORDS &&
			dnp_rec_next(bytes + at, header.length, &in, &id, &body) > 0)
			if (id == want)
				take((const uint8_t *)body.p, body.n);
		at += header.length;
	}
	munmap(bytes, (size_t)status.st_size);
	close(recording_fd);
}

/* --- rings --- */

static uint64_t n_read, next_time;

static void read_values(const uint8_t *body, size_t n)
{
	struct dnp_rec_call_values rec;
	const uint8_t *p, *end;
	uint64_t time = 0;

	CHECK_EQ(dnp_get_call_values(body, n, &rec), 0);
	CHECK_EQ(rec.thread, 7);
	p = (const uint8_t *)rec.values.p;
	for (end = p + rec.values.n; p < end; n_read++) {
		uint64_t delta, what, bytes;

		p = dnp_varint_get(p, end, &delta);
		p = p ? dnp_varint_get(p, end, &what) : NULL;
		p = p ? dnp_varint_get(p, end, &bytes) : NULL;
		CHECK(p && bytes <= (size_t)(end - p));
		time = (time + delta) & DNP_CALL_TIME_MASK;
		CHECK(time >= next_time);
		next_time = time + 1;
		CHECK_EQ(what, (time % 1000 + 1) << 2 | DNP_CALL_LEAVE);
		CHECK_EQ(bytes, time % 900);
		for (size_t i = 0; i < bytes; i++)
			CHECK_EQ(p[i], (uint8_t)(time + i));
		p += bytes;
	}
}

static void put_one(struct dnp_call_values *ring, uint64_t time)
{
	uint8_t values[900];

	for (size_t i = 0; i < sizeof(values); i++)
		values[i] = (uint8_t)(time + i);
	dnp_call_values_put(ring, 7,
		dnp_call_word(
			(uint32_t)(time % 1000) + 1, DNP_CALL_LEAVE, time * DNP_CALL_TIME_TICKS),
		values, time % 900);
}

TEST(call_values_come_as_they_were)
{
	struct dnp_call_values *ring = dnp_call_values_new();

	CHECK(ring);
	open_recording();
	/* Several times round. */
	for (uint64_t time = 0; time < 50000; time++) {
		put_one(ring, time);
		if (time % 700 == 0)
			dnp_call_values_write(&writer, 3);
	}
	dnp_call_values_write(&writer, 3);
	CHECK_EQ(dnp_call_values_lost(), 0);
	each_record(DNP_REC_call_values, read_values);
	CHECK_EQ(n_read, 50000);
}

TEST(call_values_without_room_are_counted)
{
	struct dnp_call_values *ring = dnp_call_values_new();

	CHECK(ring);
	open_recording();
	for (uint64_t time = 0; time < 100000; time++)
		put_one(ring, time);
	dnp_call_values_write(&writer, 3);
	put_one(ring, 100000);
	dnp_call_values_write(&writer, 3);
	CHECK(dnp_call_values_lost() > 0);
	each_record(DNP_REC_call_values, read_values);
	CHECK_EQ(n_read + dnp_call_values_lost(), 100001);
	CHECK_EQ(next_time, 100001);
}

/* --- what hooks see first --- */

#define SLOW 800 /* function, which the runtime does not tell of for long */

static _Atomic uint32_t last_number;
static _Atomic uint32_t n_exact, n_slow; /* that are known, and that are asked for */
static _Atomic bool is_told;

static uint32_t reserve(void)
{
	return ++last_number;
}

static void exact(
	uint32_t number, uintptr_t function, uintptr_t class_id, const uintptr_t *args, uint32_t n)
{
	CHECK(number && dnp_call_methods[number].function == function);
	CHECK_EQ(n, 2);
	CHECK_EQ(args[0] + args[1], class_id);
	n_slow += function == SLOW;
	while (function == SLOW && !is_told)
		sched_yield();
	n_exact++;
}

static uint32_t n_asked;

/* Whatever class it is: the runtime is asked. */
static HRESULT DNP_COM is_array(
	ICorProfilerInfo *self, ClassID class_id, uint32_t *element, ClassID *of, uint32_t *rank)
{
	(void)self;
	(void)class_id;
	*element = *rank = 0;
	*of = 0;
	n_asked++;
	return S_FALSE;
}

static HRESULT DNP_COM no_class(ICorProfilerInfo *self, ClassID class_id, ModuleID *module,
	mdTypeDef *type, ClassID *parent, uint32_t cap, uint32_t *n, ClassID *args)
{
	(void)self;
	(void)class_id;
	(void)module;
	(void)type;
	(void)parent;
	(void)cap;
	(void)n;
	(void)args;
	n_asked++;
	return E_FAIL;
}

static void open_seen(void)
{
	static const struct ICorProfilerInfoVtbl vtbl = {
		.IsArrayClass = is_array, .GetClassIDInfo2 = no_class};
	static ICorProfilerInfo com = {&vtbl};
	static struct dnp_info info = {.com = &com, .version = 15};
	static struct dnp_engine_setting setting = {
		.info = &info, .reserve = reserve, .exact = exact};

	CHECK_EQ(dnp_calls_open(DNP_CALLS_TREE, NULL), 0);
	CHECK_EQ(dnp_call_seen_open(&setting), 0);
}

/* Threads that meet one at the same time take a number each: those there are must do for all four.
 */
#define KINDS 60

static void *see(void *numbers)
{
	for (int round = 0; round < 50; round++)
		for (uintptr_t i = 1; i <= KINDS; i++) {
			uint32_t number = dnp_call_seen_method(
				8 * i, 3 * i, (const uintptr_t[]){i, 2 * i}, 2);

			CHECK(number);
			CHECK(!round || ((uint32_t *)numbers)[i - 1] == number);
			((uint32_t *)numbers)[i - 1] = number;
		}
	return NULL;
}

TEST(instantiations_have_one_number_each)
{
	static uint32_t numbers[4][KINDS];
	pthread_t threads[4];

	open_seen();
	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, see, numbers[i]), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 1; i < 4; i++)
		CHECK(!memcmp(numbers[0], numbers[i], sizeof(numbers[0])));
	for (int i = 0; i < KINDS; i++)
		for (int k = 0; k < i; k++)
			CHECK(numbers[0][i] != numbers[0][k]);
	open_recording();
	dnp_call_seen_write(&writer, 0, false);
	CHECK(n_exact >= KINDS);
	dnp_writer_close(&writer);
	close(recording_fd);
}

TEST(instantiations_without_a_number_stay_shared)
{
	uint32_t number = 1, n = 0;

	open_seen();
	for (uintptr_t i = 1; number; i++, n++)
		number = dnp_call_seen_method(8, i, (const uintptr_t[]){1, i - 1}, 2);
	CHECK_EQ(n, 4096 + 1);
	CHECK_EQ(dnp_call_seen_no_number(), 1);
	CHECK_EQ(dnp_call_seen_no_room(), 0);
	CHECK(!dnp_call_seen_method(
		8, 1, (const uintptr_t[DNP_SEEN_ARGS + 1]){0}, DNP_SEEN_ARGS + 1));
	open_recording();
	dnp_call_seen_write(&writer, 0, false);
	for (uintptr_t i = 1; i <= 4096; i++)
		CHECK(dnp_call_seen_method(16, i, (const uintptr_t[]){1, i - 1}, 2));
	CHECK_EQ(dnp_call_seen_no_number(), 1);
	dnp_writer_close(&writer);
	close(recording_fd);
}

static void *unload(void *context)
{
	(void)context;
	dnp_call_seen_unloading();
	return NULL;
}

/* There is no next time. */
TEST(what_is_seen_last_is_told_though_another_thread_is_at_it)
{
	pthread_t thread;

	open_seen();
	CHECK(dnp_call_seen_method(SLOW, 3, (const uintptr_t[]){1, 2}, 2));
	CHECK(dnp_call_seen_method(8, 3, (const uintptr_t[]){1, 2}, 2));
	CHECK(dnp_call_seen_method(16, 3, (const uintptr_t[]){1, 2}, 2));
	CHECK_EQ(pthread_create(&thread, NULL, unload, NULL), 0);
	while (!n_slow)
		sched_yield();
	open_recording();
	dnp_call_seen_write(&writer, 0, false);
	CHECK_EQ(n_exact, 0);
	dnp_call_seen_write(&writer, 0, true);
	CHECK_EQ(n_exact, 2);
	is_told = true;
	pthread_join(thread, NULL);
	CHECK_EQ(n_exact, 3);
	CHECK_EQ(n_slow, 1);
	dnp_writer_close(&writer);
	close(recording_fd);
}

static void no_types(const uint8_t *body, size_t n)
{
	(void)body;
	(void)n;
	FAIL("a class that is none has a name");
}

/* Nothing that cannot be one reaches the runtime. */
TEST(words_that_are_no_class)
{
	void *nothing = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t none = (uintptr_t)nothing;
	uint32_t number;

	CHECK(nothing != MAP_FAILED);
	open_seen();
	CHECK(!dnp_call_seen_type(0));
	number = dnp_call_seen_type(none);
	CHECK(number);
	CHECK_EQ(dnp_call_seen_type(none), number);
	CHECK(dnp_call_seen_type(0x12345) != number);
	dnp_call_seen_unloading();
	CHECK(dnp_call_seen_type(none) != number);
	open_recording();
	dnp_call_seen_write(&writer, 0, false);
	each_record(DNP_REC_call_type, no_types);
	munmap(nothing, 4096);
}

/* Nobody is told any more what the runtime unloads: classes may have gone. */
TEST(classes_are_not_asked_for_behind_the_end)
{
	static const uint64_t head[64];
	uintptr_t class_id = (uintptr_t)head, later = (uintptr_t)(head + 1);
	uint32_t number, asked;

	open_seen();
	CHECK(dnp_call_seen_type(class_id));
	dnp_call_seen_unloading();
	asked = n_asked;
	CHECK(asked > 0);
	number = dnp_call_seen_type(later);
	CHECK(number);
	dnp_call_seen_end();
	dnp_call_seen_unloading();
	CHECK_EQ(n_asked, asked);
	CHECK(dnp_call_seen_type(later) != number);
}
