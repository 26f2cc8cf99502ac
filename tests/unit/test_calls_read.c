/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "format/call_codec.h"
#include "format/values.h"
#include "format/varint.h"
#include "os/file.h"
#include "os/ticks.h"
#include "read/call_values.h"
#include "read/calls.h"
#include "read/input.h"
#include "recording.h"
#include "test.h"

#define EVENT 2
#define SCALE (UINT64_C(10) << 32) /* 10 ns a unit */

/* What happens to a call, as in a script: "+7" it begins, "-7" returns, "!7" is unwound, "~7" … */
struct happening {
	char what;
	uint32_t method;
};

static struct dnp_call_encoder encoder;
static uint8_t bytes[DNP_CALL_BLOCK_MAX];

static enum dnp_call_kind kind_of(char what)
{
	switch (what) {
	case '+': return DNP_CALL_ENTER;
	case '-': return DNP_CALL_LEAVE;
	case '~': return DNP_CALL_TAILCALL;
	default: return DNP_CALL_UNWOUND;
	}
}

/* Encodes "+1 +2 -2 …", each 10 units (100 ns) after the one before. */
static struct dnp_str block_of(const char *script)
{
	int n;

	dnp_call_encoder_begin(&encoder, bytes, sizeof(bytes), 0, NULL);
	for (uint64_t time = 1000; *script; script += n, time += 10) {
		struct happening it;
		uint64_t word;

		CHECK_EQ(sscanf(script, " %c%u%n", &it.what, &it.method, &n), 2);
		word = dnp_call_word(it.method, kind_of(it.what), time * DNP_CALL_TIME_TICKS);
		CHECK_EQ(dnp_call_encoder_add(&encoder, &word, 1), 1);
	}
	return (struct dnp_str){(const char *)bytes, (size_t)(encoder.out - bytes)};
}

#define BLOCK(rec, script, ...)                                                                    \
	do {                                                                                       \
		struct dnp_str block_ = block_of(script);                                          \
                                                                                                   \
		RECORD(rec, call_events, .event = EVENT, .scale = SCALE, .count = encoder.count,   \
			.events = block_, __VA_ARGS__);                                            \
	} while (0)

/* Writes what a cursor gives as "time thread what method@depth", one after another. */
static void read_as(
	struct recording *rec, uint32_t thread, char *text, size_t size, uint64_t *damaged)
{
	static const char what[] = "+-~!x?";
	struct dnp_call_cursor *cursor;
	struct dnp_call_event event;
	struct dnp_call_log *log;
	struct dnp_input input;
	size_t n = 0;

	recording_flush(rec);
	dnp_input_init(&input);
	CHECK_EQ(dnp_input_add_bytes(&input, "test", rec->bytes.p, rec->bytes.n, NULL), 0);
	CHECK_EQ(dnp_input_finish(&input, NULL), 0);
	*damaged = 0;
	CHECK_EQ(dnp_call_log_new(&input.recordings.p[0], EVENT, &log, damaged), 0);
	CHECK_EQ(dnp_call_cursor_new(log, thread, &cursor), 0);
	text[0] = 0;
	while (dnp_call_cursor_next(cursor, &event) > 0 && n < size) {
		uint64_t number = event.kind == DNP_CALL_LOST ? event.lost : event.method;

		n += (size_t)snprintf(text + n, size - n, "%s%llu:%u%c%llu@%u", n ? " " : "",
			(unsigned long long)event.time_ns, event.thread, what[event.kind],
			(unsigned long long)number, event.depth);
		if (event.begin_ns)
			n += (size_t)snprintf(
				text + n, size - n, "(%llu)", (unsigned long long)event.begin_ns);
	}
	*damaged += dnp_call_cursor_damaged(cursor);
	dnp_call_cursor_free(cursor);
	dnp_call_log_free(log);
	dnp_input_done(&input);
	recording_done(rec);
}

static char text[4096];
static uint64_t damaged;

TEST(calls_come_with_depth_and_begin)
{
	struct recording rec = recording_new(7);

	BLOCK(&rec, "+1 +2 -2 +3", .time_ns = 1000, .thread = 4);
	BLOCK(&rec, "~3 +5 !5", .time_ns = 2000, .thread = 4, .depth = 2, .kept = 2);
	read_as(&rec, 4, text, sizeof(text), &damaged);
	CHECK_STR(text,
		"1000:4+1@0 1100:4+2@1 1200:4-2@1(1100) 1300:4+3@1 "
		"2000:4~3@1(1300) 2100:4+5@1 2200:4!5@1(2100)");
	CHECK_EQ(damaged, 0);
}

TEST(threads_are_merged_by_time)
{
	struct recording rec = recording_new(7);

	BLOCK(&rec, "+1 -1", .time_ns = 1000, .thread = 9);
	BLOCK(&rec, "+2 -2", .time_ns = 1050, .thread = 4);
	BLOCK(&rec, "+3 -3", .time_ns = 1100, .thread = 5);
	BLOCK(&rec, "+1 -1", .time_ns = 1050, .thread = 9);
	read_as(&rec, DNP_CALL_ALL_THREADS, text, sizeof(text), &damaged);
	/* Times of a thread do not go back. */
	CHECK_STR(text,
		"1000:9+1@0 1050:4+2@0 1100:5+3@0 1100:9-1@0(1000) 1100:9+1@0 1150:4-2@0(1050) "
		"1150:9-1@0(1100) 1200:5-3@0(1100)");
}

TEST(another_event_and_another_thread_are_not_given)
{
	struct recording rec = recording_new(7);

	RECORD(&rec, call_events, .event = EVENT + 1, .thread = 4, .count = 0);
	BLOCK(&rec, "+1", .time_ns = 1000, .thread = 9);
	BLOCK(&rec, "+2", .time_ns = 1050, .thread = 4);
	read_as(&rec, 4, text, sizeof(text), &damaged);
	CHECK_STR(text, "1050:4+2@0");
}

TEST(gaps_are_told_and_calls_end_and_begin_in_them)
{
	struct recording rec = recording_new(7);

	BLOCK(&rec, "+1 +2 +3", .time_ns = 1000, .thread = 4);
	/* 2 and 3 ended, two calls began. */
	BLOCK(&rec, "-8 -9 -1", .time_ns = 2000, .thread = 4, .lost = 40, .kept = 1, .depth = 3);
	RECORD(&rec, call_events, .event = EVENT, .thread = 4, .time_ns = 3000, .lost = 5);
	read_as(&rec, 4, text, sizeof(text), &damaged);
	CHECK_STR(text,
		"1000:4+1@0 1100:4+2@1 1200:4+3@2 "
		"2000:4?40@3 2000:4x3@2(1200) 2000:4x2@1(1100) 2000:4+0@1 2000:4+0@2 "
		"2000:4-8@2 2100:4-9@1 2200:4-1@0(1000) 3000:4?5@0");
	CHECK_EQ(damaged, 0);
}

TEST(a_record_that_is_missing_is_a_gap)
{
	struct recording rec = recording_new(7);

	BLOCK(&rec, "+1 +2", .time_ns = 1000, .thread = 4);
	BLOCK(&rec, "+3", .time_ns = 2000, .thread = 4, .kept = 4, .depth = 4);
	BLOCK(&rec, "-1", .time_ns = 3000, .thread = 4, .kept = 1, .depth = 1);
	read_as(&rec, 4, text, sizeof(text), &damaged);
	CHECK_STR(text,
		"1000:4+1@0 1100:4+2@1 2000:4?0@2 2000:4+0@2 2000:4+0@3 2000:4+3@4 "
		"3000:4?0@5 3000:4x3@4(2000) 3000:4x0@3 3000:4x0@2 3000:4x2@1(1100) "
		"3000:4-1@0(1000)");
}

TEST(ends_that_do_not_match_cut_what_is_within_or_are_left_out)
{
	struct recording rec = recording_new(7);

	BLOCK(&rec, "+1 +2 +3 -9 -2 -1 -1", .time_ns = 1000, .thread = 4);
	read_as(&rec, 4, text, sizeof(text), &damaged);
	CHECK_STR(text,
		"1000:4+1@0 1100:4+2@1 1200:4+3@2 1400:4x3@2(1200) 1400:4-2@1(1100) "
		"1500:4-1@0(1000)");
}

TEST(what_cannot_be_decoded_is_a_gap_and_the_next_block_is_read)
{
	struct recording rec = recording_new(7);
	struct dnp_str block = block_of("+1 +2 -2");

	RECORD(&rec, call_events, .event = EVENT, .scale = SCALE, .time_ns = 1000, .thread = 4,
		.count = 3, .events = {block.p, block.n - 1});
	RECORD(&rec, call_events, .event = EVENT, .thread = 4, .count = 300, .events = block);
	BLOCK(&rec, "-1", .time_ns = 2000, .thread = 4, .depth = 1, .kept = 1);
	read_as(&rec, 4, text, sizeof(text), &damaged);
	CHECK_STR(text,
		"1000:4+1@0 1100:4+2@1 1100:4?0@2 2000:4?0@2 2000:4x2@1(1100) 2000:4-1@0(1000)");
	CHECK(damaged > 0);
}

TEST(depths_that_cannot_be_are_not_believed)
{
	struct recording rec = recording_new(7);
	static char much[1 << 26];
	size_t n = 0;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	SKIP("a million calls as text take a minute with a sanitizer");
#endif
	for (int i = 0; i < 100; i++)
		BLOCK(&rec, "+1", .time_ns = 1000, .thread = 4, .lost = 1,
			.depth = UINT64_MAX >> (i & 1), .kept = UINT64_MAX);
	read_as(&rec, 4, much, sizeof(much), &damaged);
	for (const char *at = much; (at = strstr(at, "+0")); at++)
		n++;
	CHECK_EQ(n, 1 << 20);
}

static void read_log(struct recording *rec, struct dnp_input *input, struct dnp_call_log **log)
{
	recording_flush(rec);
	dnp_input_init(input);
	CHECK_EQ(dnp_input_add_bytes(input, "test", rec->bytes.p, rec->bytes.n, NULL), 0);
	CHECK_EQ(dnp_input_finish(input, NULL), 0);
	CHECK_EQ(dnp_call_log_new(&input->recordings.p[0], EVENT, log, &damaged), 0);
}

/* What all threads' cursors give, one after another. */
static uint64_t count_by_thread(struct dnp_call_log *log)
{
	size_t n;
	const struct dnp_call_thread *threads = dnp_call_log_threads(log, &n);
	struct dnp_call_event event;
	uint64_t events = 0;

	for (size_t i = 0; i < n; i++) {
		struct dnp_call_cursor *cursor;

		CHECK_EQ(dnp_call_cursor_new(log, threads[i].thread, &cursor), 0);
		while (dnp_call_cursor_next(cursor, &event) > 0) {
			CHECK_EQ(event.thread, threads[i].thread);
			events++;
		}
		dnp_call_cursor_free(cursor);
	}
	return events;
}

/* What all cursors give of threads that lost events and are so deep at the end. */
static uint64_t count_open(uint64_t threads, uint64_t depth)
{
	struct recording rec = recording_new(7);
	struct dnp_call_log *log;
	struct dnp_input input;
	uint64_t n;

	for (uint64_t i = 0; i < threads; i++)
		BLOCK(&rec, "+1", .time_ns = 1000, .thread = i, .lost = 1, .depth = depth);
	read_log(&rec, &input, &log);
	n = count_by_thread(log);
	dnp_call_log_free(log);
	dnp_input_done(&input);
	recording_done(&rec);
	/* Each has a gap and the call that began. */
	return n - threads * 2;
}

TEST(depths_of_all_threads_together_have_a_bound)
{
	CHECK(count_open(8, 1 << 19) < 3 << 20);
}

TEST(calls_made_up_at_once_have_a_bound)
{
	struct recording rec = recording_new(7);
	struct dnp_call_cursor *cursor;
	struct dnp_call_event event;
	struct dnp_call_log *log;
	struct dnp_input input;
	uint64_t open[8] = {0}, all = 0, most = 0;

	for (uint64_t i = 0; i < 8; i++) {
		BLOCK(&rec, "+1", .time_ns = 1000, .thread = i, .lost = 1, .depth = 1 << 19);
		BLOCK(&rec, "-1", .time_ns = 2000, .thread = i, .kept = (1 << 19) + 1,
			.depth = (1 << 19) + 1);
	}
	read_log(&rec, &input, &log);
	CHECK_EQ(dnp_call_cursor_new(log, DNP_CALL_ALL_THREADS, &cursor), 0);
	while (dnp_call_cursor_next(cursor, &event) > 0) {
		all -= open[event.thread];
		open[event.thread] = event.depth + (event.kind == DNP_CALL_ENTER);
		all += open[event.thread];
		most = most < all ? all : most;
	}
	CHECK_EQ(most, (1 << 20) + 8);
	dnp_call_cursor_free(cursor);
	dnp_call_log_free(log);
	dnp_input_done(&input);
	recording_done(&rec);
}

TEST(threads_that_were_read_leave_their_place_to_others)
{
	CHECK_EQ(count_open(18, 60000), 18 * 60000);
}

/* Calls that no record tells of. */
static uint64_t count_unknown(struct recording *rec)
{
	struct dnp_call_cursor *cursor;
	struct dnp_call_event event;
	struct dnp_call_log *log;
	struct dnp_input input;
	uint64_t n = 0;

	read_log(rec, &input, &log);
	CHECK_EQ(dnp_call_cursor_new(log, 4, &cursor), 0);
	while (dnp_call_cursor_next(cursor, &event) > 0)
		n += event.kind == DNP_CALL_ENTER && !event.method;
	dnp_call_cursor_free(cursor);
	dnp_call_log_free(log);
	dnp_input_done(&input);
	recording_done(rec);
	return n;
}

/* Of a thread whose depth goes up and down among lost events. */
static void add_depths(struct recording *rec, uint64_t times, uint64_t depth)
{
	for (uint64_t i = 0; i < times; i++) {
		BLOCK(rec, "+1 -1", .time_ns = 1000, .thread = 4, .lost = depth, .depth = depth);
		BLOCK(rec, "+1 -1", .time_ns = 1000, .thread = 4, .lost = depth);
	}
}

TEST(deep_recursion_may_lose_events_again_and_again)
{
	struct recording rec = recording_new(7);

	add_depths(&rec, 20, 60000);
	CHECK_EQ(count_unknown(&rec), 20 * 60000);
}

TEST(depths_of_a_small_file_have_a_bound_however_often_they_change)
{
	struct recording rec = recording_new(7);

	add_depths(&rec, 100, 1 << 20);
	CHECK(count_unknown(&rec) < 3 << 20);
}

/* Bytes of which no event comes bear out none either. */
TEST(depths_have_a_bound_that_grows_with_events)
{
	static const char nothing[30000];
	struct recording rec = recording_new(7);
	uint64_t events = 20 * 4 + 30000;

	for (int i = 0; i < 10; i++)
		RECORD(&rec, call_events, .event = EVENT, .thread = 4, .time_ns = 1000,
			.events = {nothing, sizeof(nothing)});
	RECORD(&rec, call_events, .event = EVENT, .thread = 4, .time_ns = 1000, .count = 30000,
		.events = {nothing, sizeof(nothing)});
	add_depths(&rec, 20, 1 << 20);
	CHECK_EQ(count_unknown(&rec), (2 << 20) + 2 * events);
}

/* A number that an event at that time was given, or gave back; in a record of its own. */
static void add_value(
	struct recording *rec, uint64_t units, uint32_t method, enum dnp_call_kind kind, uint64_t n)
{
	uint8_t record[64], *p = record, buffer[32];
	struct dnp_values values;

	dnp_values_init(&values, buffer, sizeof(buffer));
	dnp_values_put_number(&values, DNP_VALUE_UINT, n);
	p = dnp_varint_put(p, units & DNP_CALL_TIME_MASK);
	p = dnp_varint_put(p, (uint64_t)method << 2 | kind);
	p = dnp_varint_put(p, values.n);
	memcpy(p, values.p, values.n);
	RECORD(rec, call_values, .event = EVENT, .thread = 4,
		.values = {(const char *)record, (size_t)(p - record) + values.n});
}

/* What all events of a recording have, as "method:value". */
static void read_values(struct recording *rec)
{
	struct dnp_call_values *values;
	struct dnp_call_cursor *cursor;
	struct dnp_call_event event;
	struct dnp_call_log *log;
	struct dnp_input input;

	read_log(rec, &input, &log);
	CHECK_EQ(dnp_call_values_new(&input.recordings.p[0], EVENT, &values), 0);
	CHECK_EQ(dnp_call_cursor_new(log, 4, &cursor), 0);
	text[0] = 0;
	while (dnp_call_cursor_next(cursor, &event) > 0) {
		char buffer[64];
		struct dnp_text value;
		size_t n = strlen(text);

		dnp_text_init(&value, buffer, sizeof(buffer));
		if (dnp_call_values_text(values, &event, &value))
			snprintf(text + n, sizeof(text) - n, "%s%u:%s", n ? " " : "", event.method,
				buffer);
	}
	dnp_call_cursor_free(cursor);
	dnp_call_values_free(values);
	dnp_call_log_free(log);
	dnp_input_done(&input);
	recording_done(rec);
}

/* Of a thread that makes calls, and again after so many units; half-way the first call ends. */
static struct recording resting(uint64_t units)
{
	struct recording rec = recording_new(7);
	uint64_t half = units / 2;

	BLOCK(&rec, "+1 +2 -2", .time_ns = 10000, .thread = 4, .units = 1000);
	add_value(&rec, 1000, 1, DNP_CALL_ENTER, 5);
	add_value(&rec, 1005, 9, DNP_CALL_ENTER, 6); /* that event is missing */
	add_value(&rec, 1010, 2, DNP_CALL_ENTER, 7);
	BLOCK(&rec, "-1", .time_ns = 10000 + half * 10, .thread = 4, .depth = 1, .kept = 1,
		.units = (1000 + half) & DNP_CALL_TIME_MASK);
	return rec;
}

TEST(values_are_found_however_long_a_thread_has_rested)
{
	for (uint64_t tenths = 1; tenths < 40; tenths += 4) {
		uint64_t units = (UINT64_C(1) << 42) / 10 * tenths;
		struct recording rec = resting(units);

		/* They may come before their events. */
		RECORD(&rec, call_stats, .event = EVENT, .time_ns = units * 10);
		add_value(&rec, 1000 + units, 3, DNP_CALL_ENTER, 8);
		BLOCK(&rec, "+3 -3", .time_ns = 10000 + units * 10, .thread = 4,
			.units = (1000 + units) & DNP_CALL_TIME_MASK);
		add_value(&rec, 1010 + units, 3, DNP_CALL_LEAVE, 9);
		read_values(&rec);
		CHECK_STR(text, "1:5 2:7 3:8 3:9");
	}
}

TEST(values_of_events_that_are_missing_are_passed_over_after_a_rest)
{
	for (uint64_t tenths = 1; tenths < 40; tenths += 4) {
		uint64_t units = (UINT64_C(1) << 42) / 10 * tenths;
		struct recording rec = resting(units);

		add_value(&rec, 1000 + units / 2, 9, DNP_CALL_LEAVE, 8);
		BLOCK(&rec, "+3", .time_ns = 10000 + units * 10, .thread = 4,
			.units = (1000 + units) & DNP_CALL_TIME_MASK);
		add_value(&rec, 1000 + units, 3, DNP_CALL_ENTER, 9);
		read_values(&rec);
		CHECK_STR(text, "1:5 2:7 3:9");
	}
}

#define MANY_THREADS 100000

TEST(many_threads_are_gone_through_in_linear_time)
{
	struct recording rec = recording_new(7);
	struct dnp_call_log *log;
	struct dnp_input input;
	clock_t begin;

	for (uint64_t i = 0; i < MANY_THREADS; i++)
		BLOCK(&rec, "+1", .time_ns = 1000, .thread = i);
	read_log(&rec, &input, &log);
	begin = clock();
	CHECK_EQ(count_by_thread(log), MANY_THREADS);
	CHECK(clock() - begin < 10 * CLOCKS_PER_SEC);
	dnp_call_log_free(log);
	dnp_input_done(&input);
	recording_done(&rec);
}

#define LARGE_BLOCKS 800   /* of 60 KiB: 47 MiB */
#define EVENTS       60000 /* in each, and all of them end */

static void write_large(FILE *file)
{
	struct recording rec = recording_new(7);
	uint64_t word, i = 0;

	dnp_call_encoder_begin(&encoder, bytes, sizeof(bytes), 0, NULL);
	do
		word = dnp_call_word(5, i & 1 ? DNP_CALL_LEAVE : DNP_CALL_ENTER, i * 100);
	while (++i <= EVENTS && dnp_call_encoder_add(&encoder, &word, 1));
	for (i = 0; i < LARGE_BLOCKS; i++) {
		RECORD(&rec, call_events, .event = EVENT, .scale = SCALE, .thread = 1 + i % 3,
			.time_ns = i * 1000000, .count = encoder.count,
			.events = {(const char *)bytes, (size_t)(encoder.out - bytes)});
		recording_flush(&rec);
		CHECK_EQ(fwrite(rec.bytes.p, 1, rec.bytes.n, file), rec.bytes.n);
		rec.bytes.n = 0;
	}
	recording_done(&rec);
	CHECK_EQ(fflush(file), 0);
}

TEST(a_large_recording_is_never_in_memory_all_at_once)
{
	char path[] = "dnprof-test-XXXXXX";
	int fd = dnp_file_create(path);
	struct dnp_call_cursor *cursor;
	struct dnp_call_event event;
	struct dnp_call_log *log;
	struct dnp_input input;
	uint64_t n = 0;
	FILE *file;
	uint64_t before;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	SKIP("a sanitizer has memory of its own for what is read");
#endif
	CHECK(fd >= 0);
	file = fdopen(fd, "w");
	CHECK(file != NULL);
	write_large(file);
	CHECK_EQ(fclose(file), 0); /* what somebody writes to is read into memory */
	before = test_peak_memory();
	dnp_input_init(&input);
	CHECK_EQ(dnp_input_add_file(&input, path, NULL), 0);
	CHECK_EQ(dnp_input_finish(&input, NULL), 0);
	CHECK_EQ(dnp_call_log_new(&input.recordings.p[0], EVENT, &log, &damaged), 0);
	CHECK_EQ(dnp_call_cursor_new(log, DNP_CALL_ALL_THREADS, &cursor), 0);
	while (dnp_call_cursor_next(cursor, &event) > 0)
		n += event.kind != DNP_CALL_LOST;
	CHECK_EQ(n, (uint64_t)LARGE_BLOCKS * EVENTS);
	CHECK(test_peak_memory() - before < 30 << 20);
	dnp_call_cursor_free(cursor);
	dnp_call_log_free(log);
	dnp_input_done(&input);
	dnp_file_remove(path);
}

TEST(clock_of_ticks_is_the_common_one)
{
	struct dnp_ticks_clock clock;

	if (!dnp_ticks_steady())
		SKIP("the processor's counter is not steady");
	dnp_ticks_begin(&clock);
	CHECK(clock.scale > SCALE / 1000 && clock.scale < SCALE);
	CHECK_EQ(dnp_ticks_time_ns(&clock, clock.ticks), clock.ns);
	CHECK_EQ(dnp_ticks_time_ns(&clock, clock.ticks - 1000),
		clock.ns - dnp_ticks_span_ns(&clock, 1000));
}
