/* SPDX-License-Identifier: MIT */
/* The log of calls: order, indentation, counts, threads, filters, losses. */
#include "base/clean.h"
#include "export/log.h"
#include "format/call_codec.h"

#include "profiled.h"

static struct dnp_sink_memory written;
static struct dnp_log_outcome outcome;

static int put(const struct recording *rec, const struct dnp_log_options *options)
{
	struct dnp_input input;
	struct dnp_err err;
	int status;

	dnp_sink_memory_init(&written);
	read_recording(&input, rec);
	status = dnp_log_put(&input, options, &written.sink, &outcome, &err);
	dnp_sink_write(&written.sink, "", 1);
	dnp_input_done(&input);
	return status;
}

static void check_log(void (*make)(struct recording *rec), const struct dnp_log_options *options,
	const char *expected)
{
	struct recording rec = recording_new(1);

	make(&rec);
	CHECK_EQ(put(&rec, options), 0);
	CHECK_STR(written.bytes.p, expected);
	dnp_vec_done(&written.bytes);
	recording_done(&rec);
}

TEST(thread_by_thread)
{
	check_log(recording_call_log, &(struct dnp_log_options){0},
		"Thread 60 main:\n"
		"App.Calls.Main, id=0x7f000b, call count = 1\n"
		"  App.Calls.Work, id=0x7f000c, call count = 1\n"
		"    App.Calls.Fib, id=0x7f000e, call count = 1\n"
		"      App.Calls.Fib, id=0x7f000e, call count = 2\n"
		"  App.Calls.Work, id=0x7f000d, call count = 1\n"
		"    App.Calls.Fib, id=0x7f000e, call count = 3\n"
		"Thread 61 worker:\n"
		"App.Calls.Work, id=0x7f000c, call count = 2\n"
		"[5 events lost]\n"
		"App.Calls.Fib, id=0x7f000e, call count = 4\n"
		"\n"
		"App.Calls.Fib : call count = 4\n"
		"App.Calls.Work : call count = 2\n"
		"App.Calls.Main : call count = 1\n"
		"App.Calls.Work : call count = 1\n");
	CHECK_EQ(outcome.calls, 8);
	CHECK_EQ(outcome.lost, 5);
	CHECK(outcome.incomplete && strstr(outcome.missing, "5 events"));
}

TEST(by_time_with_signatures)
{
	check_log(recording_call_log,
		&(struct dnp_log_options){
			.by_time = true, .times = true, .signatures = true, .no_summary = true},
		"     60        0.010000  App.Calls.Main(string[]), id=0x7f000b, call count = 1\n"
		"     61        0.015000  App.Calls.Work(int), id=0x7f000c, call count = 1\n"
		"     60        0.020000    App.Calls.Work(int), id=0x7f000c, call count = 2\n"
		"     60        0.025000      App.Calls.Fib(int), id=0x7f000e, call count = 1\n"
		"     60        0.027000        App.Calls.Fib(int), id=0x7f000e, call count = 2\n"
		"     61        0.030000  [5 events lost]\n"
		"     61        0.030000  App.Calls.Fib(int), id=0x7f000e, call count = 3\n"
		"     60        0.035000    App.Calls.Work(string), id=0x7f000d, call count = 1\n"
		"     60        0.041000      App.Calls.Fib(int), id=0x7f000e, call count = 4\n");
}

TEST(filters)
{
	const char *const worker[] = {"61"}, *const work[] = {"*.Work"},
			  *const fib[] = {"*.Fib(int)"};

	check_log(recording_call_log,
		&(struct dnp_log_options){.threads = worker, .thread_count = 1, .no_calls = true},
		"App.Calls.Fib : call count = 1\nApp.Calls.Work : call count = 1\n");
	check_log(recording_call_log,
		&(struct dnp_log_options){.include = work, .include_count = 1, .no_summary = true},
		"Thread 60 main:\n"
		"  App.Calls.Work, id=0x7f000c, call count = 1\n"
		"  App.Calls.Work, id=0x7f000d, call count = 1\n"
		"Thread 61 worker:\n"
		"App.Calls.Work, id=0x7f000c, call count = 2\n"
		"[5 events lost]\n");
	check_log(recording_call_log,
		&(struct dnp_log_options){.exclude = fib, .exclude_count = 1, .no_calls = true},
		"App.Calls.Work : call count = 2\nApp.Calls.Main : call count = 1\n"
		"App.Calls.Work : call count = 1\n");
}

TEST(trees_of_calls)
{
	check_log(recording_calls, &(struct dnp_log_options){0},
		"App.Calls.Main, id=0x7f000b, call count = 1\n"
		"  App.Calls.Work, id=0x7f000c, call count = 3\n"
		"    App.Calls.Fib, id=0x7f000e, call count = 3\n"
		"      App.Calls.Fib, id=0x7f000e, call count = 12\n"
		"  App.Calls.Work, id=0x7f000d, call count = 2\n"
		"App.Calls.Work, id=0x7f000c, call count = 5\n"
		"  App.Calls.Fib, id=0x7f000e, call count = 5\n"
		"\n"
		"App.Calls.Fib : call count = 20\n"
		"App.Calls.Work : call count = 8\n"
		"App.Calls.Work : call count = 2\n"
		"App.Calls.Main : call count = 1\n");
	CHECK_EQ(outcome.calls, 31);
}

/* Node 2 is not told of, a method has no name, and Main calls one that nothing tells of. */
static void callers_missing(struct recording *rec)
{
	static const uint64_t first[] = {1, 11}, rest[] = {1, 12, 3, 99};
	static const uint64_t counts[] = {1, 1, 0, 0, 0, 0, 2, 4, 0, 0, 0, 0, 1, 6, 0, 0, 0, 0};

	recording_call_process(rec);
	recording_call_nodes(rec, 1, 1, first, 2);
	recording_call_nodes(rec, 1, 3, rest, 4);
	recording_call_counts(rec, 1, 1020000000, counts, 18);
	recording_call_methods(rec);
	RECORD(rec, traced, .method = 98, .frame = 998, .function_id = 0x7f0062);
	RECORD(rec, end, .time_ns = 1030000000);
	recording_flush(rec);
}

/* Nobody has counted them, but what they called. */
TEST(callers_that_are_missing_have_no_count)
{
	check_log(callers_missing, &(struct dnp_log_options){.no_summary = true},
		"App.Calls.Main, id=0x7f000b, call count = 1\n"
		"  [lost], id=0x0, call count = 6\n"
		"[lost]\n"
		"  App.Calls.Work, id=0x7f000c, call count = 4\n");
}

static void two_processes(struct recording *rec)
{
	struct recording second = recording_new(2);

	recording_call_log(rec);
	recording_call_log(&second);
	if (dnp_vec_reserve(&rec->bytes, rec->bytes.n + second.bytes.n))
		abort();
	memcpy(rec->bytes.p + rec->bytes.n, second.bytes.p, second.bytes.n);
	rec->bytes.n += second.bytes.n;
	recording_done(&second);
}

TEST(each_process_has_its_log)
{
	const char *const main_method[] = {"*.Main"};

	check_log(two_processes,
		&(struct dnp_log_options){
			.include = main_method, .include_count = 1, .no_calls = true},
		"Process 60 calls.dll:\nApp.Calls.Main : call count = 1\n"
		"Process 60 calls.dll:\nApp.Calls.Main : call count = 1\n");
	CHECK_EQ(outcome.calls, 2);
}

static void check_missing(struct recording *rec, const char *missing)
{
	recording_flush(rec);
	CHECK_EQ(put(rec, &(struct dnp_log_options){0}), 0);
	CHECK(outcome.incomplete);
	CHECK_STR(outcome.missing, missing);
	dnp_vec_done(&written.bytes);
	recording_done(rec);
}

/* The first cannot hold so many calls, the second ends amid one. */
TEST(calls_that_cannot_be_decoded_are_missing)
{
	struct recording rec = recording_new(1);

	recording_call_process(&rec);
	RECORD(&rec, call_events, .event = 3, .thread = 1, .count = 3, .events = {"a", 1});
	RECORD(&rec, call_events, .event = 3, .thread = 1, .count = 1, .events = {"\xff\xff", 2});
	RECORD(&rec, end, .time_ns = 1200000000);
	check_missing(&rec, "3 bytes of calls could not be understood and were skipped");
}

TEST(calls_that_are_lost_are_told_beside_what_else_is_missing)
{
	struct recording rec = recording_new(1);
	const uint64_t words[] = {dnp_call_word(14, DNP_CALL_ENTER, 0)};

	recording_call_process(&rec);
	recording_call_events(&rec, 1, 1000000000, 5, words, 1);
	check_missing(&rec,
		"the recording ends early: the program was killed, or is still being recorded; "
		"what was written until then is here; 5 events of calls were lost; record fewer "
		"methods, with --include");
}

#define DEEP 1100u

static void deep(struct recording *rec)
{
	uint64_t words[DEEP];

	for (size_t i = 0; i < DEEP; i++)
		words[i] = dnp_call_word(14, DNP_CALL_ENTER, i * DNP_CALL_TIME_TICKS);
	recording_call_process(rec);
	recording_call_events(rec, 1, 1000000000, 0, words, DEEP);
	recording_call_methods(rec);
	RECORD(rec, end, .time_ns = 1200000000);
	recording_flush(rec);
}

TEST(indentation_ends)
{
	struct recording rec = recording_new(1);
	const char *line;

	deep(&rec);
	CHECK_EQ(put(&rec, &(struct dnp_log_options){0}), 0);
	line = strstr(written.bytes.p, "[1099] App.Calls.Fib, id=0x7f000e, call count = 1100\n");
	CHECK(line && line - written.bytes.p > 2000 && line[-2001] == '\n');
	CHECK(!strstr(written.bytes.p, "[1000]"));
	dnp_vec_done(&written.bytes);
	recording_done(&rec);
}

static void nothing_defined(struct recording *rec)
{
	const uint64_t words[] = {dnp_call_word(77, DNP_CALL_ENTER, 0),
		dnp_call_word(14, DNP_CALL_LEAVE, DNP_CALL_TIME_TICKS)};

	recording_call_process(rec);
	recording_call_events(rec, 9, 1000000000, 0, words, 2);
	RECORD(rec, end, .time_ns = 1200000000);
	recording_flush(rec);
}

TEST(what_is_not_defined_is_lost)
{
	check_log(nothing_defined, &(struct dnp_log_options){0},
		"[lost], id=0x0, call count = 1\n\n[lost] : call count = 1\n");
}

TEST(no_calls_no_log)
{
	struct recording rec = recording_new(1);

	recording_small(&rec);
	CHECK_EQ(put(&rec, &(struct dnp_log_options){0}), -ENODATA);
	dnp_vec_done(&written.bytes);
	recording_done(&rec);
}
