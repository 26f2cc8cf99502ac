/* SPDX-License-Identifier: MIT */
/* Single calls of a page: slices that are few enough, and what is made of a recording's calls. */
#include "base/clean.h"
#include "export/lanes.h"
#include "export/page_calls.h"
#include "format/call_codec.h"
#include "format/varint.h"

#include "profiled.h"

#define MS UINT64_C(1000000)

/* A node's caller, where nodes are numbered so that it can be told. */
static uint32_t half(const void *arg, uint32_t node)
{
	(void)arg;
	return node / 2;
}

struct made {
	struct dnp_slices slices;
	uint64_t now, calls, outer;
	uint64_t longer; /* calls of at least `at_least` */
	uint64_t at_least;
	unsigned seed;
};

static unsigned next(struct made *made, unsigned below)
{
	made->seed = made->seed * 1103515245u + 12345u;
	return (made->seed >> 8) % below;
}

/* A call with calls in it; most are short. */
static void call(struct made *made, uint32_t node, uint32_t depth)
{
	struct dnp_slice slice = {.start_ns = made->now, .node = node, .calls = 1, .depth = depth};
	unsigned children = depth < 9 ? next(made, 4) : 0;

	made->now += 1 + next(made, 40);
	for (unsigned i = 0; i < children; i++) {
		call(made, node * 2 + next(made, 2), depth + 1);
		made->now += next(made, 30);
	}
	made->now += next(made, 200) ? next(made, 40) : next(made, 100000);
	slice.end_ns = made->now;
	made->calls++;
	made->outer += depth == 0;
	made->longer += slice.end_ns - slice.start_ns >= made->at_least;
	CHECK_EQ(dnp_slices_add(&made->slices, slice), 0);
}

static void make(struct made *made, size_t limit, uint64_t at_least)
{
	*made = (struct made){.seed = 7, .at_least = at_least};
	dnp_slices_init(&made->slices, limit, half, NULL);
	for (uint32_t thread = 0; thread < 3; thread++) {
		made->now = 0;
		CHECK_EQ(dnp_slices_thread(&made->slices, thread), 0);
		for (int i = 0; i < 3000; i++) {
			call(made, 1, 0);
			made->now += next(made, 300);
		}
	}
}

TEST(slices_are_all_the_calls_where_there_is_room)
{
	struct made made;

	make(&made, 10000000, 0);
	CHECK_EQ(made.slices.list.n, made.calls);
	CHECK_EQ(made.slices.merged_below_ns, 0);
	CHECK_EQ(dnp_slices_count(&made.slices, 0) + dnp_slices_count(&made.slices, 1) +
			dnp_slices_count(&made.slices, 2),
		made.calls);
	dnp_slices_done(&made.slices);
}

/* No two slices of a thread and depth overlap, and each follows what is below it. */
static void check_order(const struct dnp_slices *slices, size_t i)
{
	const struct dnp_slice *list = &slices->list.p[slices->threads.p[i].first];
	uint64_t ends[16] = {0};

	for (size_t k = 0; k < dnp_slices_count(slices, i); k++) {
		uint32_t depth = list[k].depth;

		CHECK(k == 0 || list[k].end_ns >= list[k - 1].end_ns);
		CHECK(list[k].start_ns >= ends[depth]);
		CHECK(k == 0 || list[k - 1].depth <= depth + 1);
		ends[depth] = list[k].end_ns;
	}
}

TEST(slices_are_few_enough_and_the_longest_stay)
{
	struct made all, made;
	uint64_t longer = 0, outer = 0;

	make(&all, 4000, 0);
	make(&made, 4000, all.slices.merged_below_ns);
	CHECK(made.calls > 10000);
	CHECK(made.slices.list.n < 4000);
	CHECK(made.slices.merged_below_ns >= 64);
	for (size_t i = 0; i < 3; i++)
		check_order(&made.slices, i);
	for (size_t i = 0; i < made.slices.list.n; i++) {
		const struct dnp_slice *slice = &made.slices.list.p[i];
		bool one = slice->calls == 1 && !slice->mixed;

		longer += one && slice->end_ns - slice->start_ns >= made.at_least;
		outer += slice->depth == 0 ? slice->calls : 0;
		/* A node's number tells how deep it is: that of a mixed one is its caller's. */
		CHECK_EQ(31 - (unsigned)__builtin_clz(slice->node) + slice->mixed, slice->depth);
	}
	CHECK_EQ(longer, made.longer);
	CHECK_EQ(outer, made.outer);
	dnp_slices_done(&all.slices);
	dnp_slices_done(&made.slices);
}

TEST(durations_fall_into_buckets)
{
	static const uint64_t starts[] = {0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48};

	for (unsigned i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
		CHECK_EQ(dnp_duration_bucket(starts[i]), i);
		if (i > 1)
			CHECK_EQ(dnp_duration_bucket(starts[i] - 1), i - 1);
	}
	CHECK(dnp_duration_bucket(UINT64_MAX) < DNP_DURATION_BUCKETS);
}

static void load_log(struct fixture *f, const struct dnp_filter *filter)
{
	f->rec = recording_new(1);
	recording_call_log(&f->rec);
	load(f, filter, DNP_BY_TIME);
}

static const char *frame_of(const struct fixture *f, uint32_t node)
{
	return name_of(f, f->profile.nodes.p[node].frame);
}

static uint64_t sum_of(const struct dnp_rows *rows)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < rows->n; i++)
		sum += rows->slots[i].weight;
	return sum;
}

struct expected {
	unsigned depth, start_ms, end_ms;
	const char *name;
};

static void check_slices(const struct fixture *f, const struct dnp_lanes *lanes,
	const struct expected *expected, size_t n)
{
	CHECK_EQ(lanes->slices.list.n, n);
	for (size_t i = 0; i < n && i < lanes->slices.list.n; i++) {
		const struct dnp_slice *slice = &lanes->slices.list.p[i];

		CHECK_EQ(slice->depth, expected[i].depth);
		CHECK_EQ(slice->start_ns / MS, expected[i].start_ms);
		CHECK_EQ(slice->end_ns / MS, expected[i].end_ms);
		CHECK(strstr(frame_of(f, slice->node), expected[i].name) != NULL);
	}
}

TEST(lanes_are_the_calls_of_a_recording)
{
	static const struct expected expected[] = {
		{3, 27, 31, "Fib"},
		{2, 25, 32, "Fib"},
		{1, 20, 32, "Work(int)"},
		{2, 41, 42, "Fib"},
		{1, 35, 42, "Work(string)"},
		{0, 10, 50, "Main"},
		{0, 15, 23, "Work(int)"},
		{0, 30, 32, "Fib"},
	};
	struct dnp_lanes lanes;
	struct fixture f;

	load_log(&f, NULL);
	CHECK_EQ(dnp_lanes_init(&lanes, &f.profile, 0, &f.input, 1000, 1000), 0);
	check_slices(&f, &lanes, expected, sizeof(expected) / sizeof(*expected));
	CHECK_EQ(lanes.slices.threads.n, 2);
	/* Main's 40 ms, up to the recording's end, hold all of its thread's. */
	CHECK_EQ(sum_of(&lanes.time) / MS, 40 + 8 + 2);
	CHECK_EQ(sum_of(&lanes.time), sum_of(&f.profile.events.p[0].rows));
	CHECK_EQ(sum_of(&lanes.counts), 8);
	CHECK_EQ(sum_of(&lanes.counts), f.profile.events.p[0].calls->calls);
	/* Main did not end. */
	CHECK_EQ(sum_of(&lanes.durations), 7);
	dnp_lanes_done(&lanes);
	done(&f);
}

/* What happens, and at which millisecond of its block. */
#define AT(ms, kind, method) dnp_call_word(method, DNP_CALL_##kind, (ms)*DNP_CALL_TIME_TICKS)

static void end_log(struct recording *rec)
{
	recording_call_methods(rec);
	RECORD(rec, end, .time_ns = 1050 * MS, .reason = DNP_END_EXIT);
	recording_flush(rec);
}

/* Checks all slices, and that rows and calls come to what the event has of them. */
static void check_lanes(struct fixture *f, const struct expected *expected, size_t n)
{
	struct dnp_lanes lanes;

	load(f, NULL, DNP_BY_TIME);
	CHECK_EQ(dnp_lanes_init(&lanes, &f->profile, 0, &f->input, 1000, 1000), 0);
	check_slices(f, &lanes, expected, n);
	CHECK_EQ(sum_of(&lanes.time), sum_of(&f->profile.events.p[0].rows));
	CHECK_EQ(sum_of(&lanes.counts), f->profile.events.p[0].calls->calls);
	dnp_lanes_done(&lanes);
	done(f);
}

TEST(calls_below_one_whose_beginning_was_lost_are_shown)
{
	static const struct expected expected[] = {
		{2, 30, 33, "Fib"},
		{1, 30, 34, "[lost]"},
		{1, 35, 37, "Work(string)"},
		{0, 10, 50, "Main"},
	};
	const uint64_t before[] = {AT(0, ENTER, 11)};
	const uint64_t after[] = {AT(0, ENTER, 14), AT(3, LEAVE, 14), AT(4, LEAVE, 12),
		AT(5, ENTER, 13), AT(7, LEAVE, 13)};
	struct fixture f = {.rec = recording_new(1)};

	recording_call_process(&f.rec);
	recording_call_events(&f.rec, 1, 1010 * MS, 0, before, 1);
	recording_call_events_behind(
		&f.rec, 1, 1030 * MS, (struct recording_gap){2, 1, 2}, after, 5);
	end_log(&f.rec);
	check_lanes(&f, expected, DNP_ARRAY_SIZE(expected));
}

TEST(calls_below_one_of_a_method_that_is_not_known_are_shown)
{
	static const struct expected expected[] = {
		{2, 12, 15, "Fib"},
		{1, 11, 16, "[lost]"},
		{0, 10, 50, "Main"},
	};
	const uint64_t words[] = {AT(0, ENTER, 11), AT(1, ENTER, 77), AT(2, ENTER, 14),
		AT(5, LEAVE, 14), AT(6, LEAVE, 77)};
	struct fixture f = {.rec = recording_new(1)};

	recording_call_process(&f.rec);
	recording_call_events(&f.rec, 1, 1010 * MS, 0, words, 5);
	end_log(&f.rec);
	check_lanes(&f, expected, DNP_ARRAY_SIZE(expected));
}

/* When a method was last at work on a thread, by what was added up for bins. */
static uint64_t last_ns(
	const struct fixture *f, const struct dnp_rows *rows, uint32_t thread, const char *name)
{
	uint64_t last = 0;

	for (size_t i = 0; i < rows->n; i++) {
		uint64_t at_ns = ((uint64_t)rows->slots[i].bin << rows->shift) * 1000;

		if (rows->slots[i].thread == thread && at_ns > last &&
			strstr(frame_of(f, rows->slots[i].node), name))
			last = at_ns;
	}
	return last;
}

/* The worker's first call ends after 23 ms, then events are lost until 30 ms. */
TEST(time_before_lost_events_is_not_shown_after_them)
{
	struct dnp_lanes lanes;
	struct fixture f;

	load_log(&f, NULL);
	CHECK_EQ(dnp_lanes_init(&lanes, &f.profile, 0, &f.input, 1000, 1000), 0);
	CHECK_EQ(last_ns(&f, &lanes.time, lanes.slices.threads.p[1].thread, "Work(int)") / MS, 22);
	dnp_lanes_done(&lanes);
	done(&f);
}

TEST(lanes_keep_to_the_time_that_is_asked_for)
{
	static const struct expected expected[] = {
		{3, 30, 31, "Fib"},
		{2, 30, 32, "Fib"},
		{1, 30, 32, "Work(int)"},
		{1, 35, 40, "Work(string)"},
		{0, 30, 40, "Main"},
		{0, 30, 32, "Fib"},
	};
	struct dnp_filter filter = {.from_ns = 30 * MS, .to_ns = 40 * MS};
	struct dnp_lanes lanes;
	struct fixture f;

	load_log(&f, &filter);
	CHECK_EQ(dnp_lanes_init(&lanes, &f.profile, 0, &f.input, 1000, 1000), 0);
	check_slices(&f, &lanes, expected, sizeof(expected) / sizeof(*expected));
	CHECK_EQ(sum_of(&lanes.time) / MS, 10 + 2);
	dnp_lanes_done(&lanes);
	done(&f);
}

/* As the tree has it: of these slices in all so much time. */
static void check_chosen(
	const struct dnp_filter *filter, const struct expected *expected, size_t n, uint64_t ms)
{
	struct dnp_lanes lanes;
	struct fixture f;

	load_log(&f, filter);
	CHECK_EQ(dnp_lanes_init(&lanes, &f.profile, 0, &f.input, 1000, 1000), 0);
	check_slices(&f, &lanes, expected, n);
	CHECK_EQ(sum_of(&lanes.time), sum_of(&f.profile.events.p[0].rows));
	CHECK_EQ(sum_of(&lanes.counts), f.profile.events.p[0].calls->calls);
	CHECK_EQ(sum_of(&lanes.time) / MS, ms);
	CHECK_EQ(sum_of(&lanes.durations), 4 - (filter->exclude_count > 0));
	dnp_lanes_done(&lanes);
	done(&f);
}

/* Who is around such calls is drawn, and has neither their time nor theirs. */
TEST(lanes_keep_to_the_methods_that_are_asked_for)
{
	static const struct expected expected[] = {
		{3, 27, 31, "Fib"},
		{2, 25, 32, "Fib"},
		{1, 20, 32, "Work(int)"},
		{0, 10, 50, "Main"},
		{0, 15, 23, "Work(int)"},
	};
	static const char *const include[] = {"*Work(int)"};

	check_chosen(&(struct dnp_filter){.include = include, .include_count = 1}, expected,
		sizeof(expected) / sizeof(*expected), 12 + 8);
}

TEST(lanes_leave_out_the_methods_that_are_not_wanted)
{
	static const struct expected expected[] = {
		{2, 41, 42, "Fib"},
		{1, 35, 42, "Work(string)"},
		{0, 10, 50, "Main"},
		{0, 30, 32, "Fib"},
	};
	static const char *const exclude[] = {"*Work(int)"};

	check_chosen(&(struct dnp_filter){.exclude = exclude, .exclude_count = 1}, expected,
		sizeof(expected) / sizeof(*expected), 40 - 12 + 2);
}

/* Calls that are counted, and (or not) CPU time that is sampled. */
static struct recording counted_tree(uint64_t number, bool sampled)
{
	const uint64_t counts[] = {1, 9, 0, sampled ? 3 * MS : 0, 0, 0};
	struct recording rec = recording_new(number);

	recording_call_process(&rec);
	recording_call_methods(&rec);
	recording_call_nodes(&rec, 1, 1, (const uint64_t[]){1, 11}, 2);
	recording_call_counts(&rec, 1, 1020 * MS, counts, 6);
	recording_flush(&rec);
	return rec;
}

static struct recording call_log(uint64_t number)
{
	struct recording rec = recording_new(number);

	recording_call_log(&rec);
	return rec;
}

static uint32_t event_of_single_calls(const struct fixture *f)
{
	for (uint32_t i = 0; i < f->profile.events.n; i++)
		if (f->profile.events.p[i].calls->depth == DNP_CALL_EVENTS)
			return i;
	FAIL("there is none");
}

/* Those of recording_call_log, whatever else is there. */
static void check_single_calls(struct fixture *f)
{
	struct dnp_lanes lanes;
	uint32_t event;

	load(f, NULL, DNP_BY_TIME);
	event = event_of_single_calls(f);
	CHECK_EQ(dnp_lanes_init(&lanes, &f->profile, event, &f->input, 1000, 1000), 0);
	CHECK_EQ(lanes.slices.list.n, 8);
	CHECK_EQ(sum_of(&lanes.counts), 8);
	CHECK_EQ(sum_of(&lanes.time), sum_of(&f->profile.events.p[event].rows));
	dnp_lanes_done(&lanes);
	done(f);
}

TEST(single_calls_are_found_beside_a_recording_of_sampled_times)
{
	for (int last = 0; last < 2; last++) {
		struct recording log = call_log(1), tree = counted_tree(2, true);
		struct fixture f = {.rec = last ? tree : log};

		recording_append(&f.rec, last ? &log : &tree);
		check_single_calls(&f);
	}
}

TEST(single_calls_are_found_where_the_name_of_their_event_is_lost)
{
	struct fixture f = {.rec = recording_new(1)};
	const uint64_t words[] = {AT(0, ENTER, 11), AT(1, ENTER, 14), AT(4, LEAVE, 14)};

	RECORD(&f.rec, process, .pid = 60, .start_ns = 1000 * MS);
	RECORD(&f.rec, thread, .index = 1, .tid = 60, .name = dnp_str("main"));
	recording_call_events(&f.rec, 1, 1010 * MS, 0, words, 3);
	end_log(&f.rec);
	check_lanes(&f, (const struct expected[]){{1, 11, 14, "Fib"}, {0, 10, 50, "Main"}}, 2);
}

/* What a page shows of all events. */
static uint64_t calls_of_page(const struct fixture *f)
{
	struct dnp_page_calls calls;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < f->profile.events.n; i++) {
		CHECK_EQ(dnp_page_calls_init(&calls, &f->profile, i, &f->input), 0);
		sum += sum_of(&calls.lanes.counts);
		dnp_page_calls_done(&calls);
	}
	return sum;
}

static struct recording timed_sums(uint64_t number)
{
	struct recording rec = recording_new(number);

	recording_calls(&rec);
	return rec;
}

static void check_page_of(struct recording first, struct recording second, uint64_t n)
{
	struct fixture f = {.rec = first};

	recording_append(&f.rec, &second);
	load(&f, NULL, DNP_BY_TIME);
	CHECK_EQ(f.profile.events.n, 2);
	CHECK_EQ(calls_of_page(&f), n);
	done(&f);
}

TEST(calls_that_were_added_up_are_shown_beside_single_ones)
{
	check_page_of(call_log(1), timed_sums(2), 8 + 31);
	check_page_of(timed_sums(2), call_log(1), 31 + 8);
	check_page_of(call_log(1), counted_tree(2, false), 8 + 9);
	check_page_of(counted_tree(2, false), call_log(1), 9 + 8);
}

/* In a page's columns of 32 bits. */
TEST(more_calls_than_a_row_of_a_page_can_hold_are_several_rows)
{
	const uint64_t many = UINT64_C(9000000000);
	const uint64_t counts[] = {1, many, 0, 3 * MS, 0, 0};
	struct fixture f = {.rec = recording_new(1)};
	struct dnp_page_calls calls;

	recording_call_process(&f.rec);
	recording_call_nodes(&f.rec, 1, 1, (const uint64_t[]){1, 11}, 2);
	recording_call_counts(&f.rec, 1, 1020 * MS, counts, 6);
	end_log(&f.rec);
	load(&f, NULL, DNP_BY_TIME);
	CHECK_EQ(dnp_page_calls_init(&calls, &f.profile, 0, &f.input), 0);
	CHECK_EQ(calls.lanes.counts.n, 3);
	CHECK_EQ(sum_of(&calls.lanes.counts), many);
	for (size_t i = 0; i < calls.lanes.counts.n; i++) {
		const struct dnp_row *row = &calls.lanes.counts.slots[i];

		CHECK(row->weight <= UINT32_MAX);
		CHECK_EQ(row->node, calls.lanes.counts.slots[0].node);
		CHECK_EQ(row->thread, calls.lanes.counts.slots[0].thread);
		CHECK_EQ(row->bin, calls.lanes.counts.slots[0].bin);
	}
	dnp_page_calls_done(&calls);
	done(&f);
}

TEST(what_a_page_holds_of_slices_can_be_read_back)
{
	struct dnp_page_calls calls;
	struct fixture f;
	const uint8_t *at;
	uint64_t value = 0, sum = 0;

	load_log(&f, NULL);
	CHECK_EQ(dnp_page_calls_init(&calls, &f.profile, 0, &f.input), 0);
	CHECK(calls.single);
	CHECK_EQ(calls.threads.n, 4);
	CHECK_EQ(calls.threads.p[1] + calls.threads.p[3], 8);
	at = calls.length.p;
	while (at && at < calls.length.p + calls.length.n) {
		at = dnp_varint_get(at, calls.length.p + calls.length.n, &value);
		sum += value;
	}
	CHECK_EQ(sum / MS, 4 + 7 + 12 + 1 + 7 + 40 + 8 + 2);
	CHECK_EQ(dnp_page_calls_bin_ns(&calls) % 1000, 0);
	dnp_page_calls_done(&calls);
	CHECK_EQ(dnp_page_calls_init(&calls, &f.profile, 0, NULL), 0);
	CHECK(!calls.single);
	CHECK_EQ(sum_of(&calls.lanes.counts), 8);
	dnp_page_calls_done(&calls);
	done(&f);
}
