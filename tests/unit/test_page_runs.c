/* SPDX-License-Identifier: MIT */
/* Slices, clocks, losses, and what stands beside them, as a page has them. */
#include "export/page_runs.h"

#include <errno.h>

#include "export/export.h"
#include "export/html.h"
#include "format/slice_codec.h"

#include "profiled.h"

#define MS    UINT64_C(1000000)
#define START (5000 * MS)

struct run {
	uint64_t gap, length, where;
};

struct fixture_runs {
	struct recording rec; /* which the input has its records in */
	struct dnp_input input;
	struct dnp_profile profile;
	struct dnp_page_runs runs;
	const uint8_t *at;
};

static void put_slices(struct recording *rec, struct dnp_rec_slices slices, const struct run *runs)
{
	uint8_t bytes[8 * DNP_SLICE_BYTES];
	size_t n = 0;

	for (; runs->length; runs++)
		n += dnp_slice_put(bytes + n, runs->gap, runs->length, (uint32_t)runs->where / 8,
			(enum dnp_slice_end)(runs->where % 8));
	slices.slices = (struct dnp_str){(const char *)bytes, n};
	RECORD(rec, slices, .thread = slices.thread, .time_ns = slices.time_ns,
		.slices = slices.slices, .before = slices.before, .gap_ns = slices.gap_ns);
}

/* Two threads; the first has two records, and what was between them is lost. */
static void make(struct fixture_runs *f, struct dnp_filter filter)
{
	static const struct run first[] = {
		{0, 2 * MS, 8 * 1 + DNP_SLICE_PREEMPTED}, {MS, 3 * MS, 0 + DNP_SLICE_WAITS}, {0}};
	static const struct run later[] = {{0, 5 * MS, 8 * 3 + DNP_SLICE_RUNS}, {0}};
	static const struct run none[] = {{0}};
	struct recording *rec = &f->rec;

	*rec = recording_new(1);
	RECORD(rec, process, .pid = 42, .start_ns = START);
	RECORD(rec, event, .index = 0, .name = dnp_str("switch"), .unit = dnp_str("ns"));
	RECORD(rec, thread, .index = 0, .tid = 42, .start_ns = START);
	RECORD(rec, thread, .index = 1, .tid = 43, .start_ns = START);
	put_slices(rec,
		(struct dnp_rec_slices){.thread = 1,
			.time_ns = START + 10 * MS,
			.before = DNP_SLICE_WAITS,
			.gap_ns = 4 * MS},
		first);
	put_slices(rec,
		(struct dnp_rec_slices){.thread = 0, .time_ns = START + 9 * MS, .gap_ns = 9 * MS},
		none);
	put_slices(rec,
		(struct dnp_rec_slices){.thread = 1, .time_ns = START + 30 * MS, .gap_ns = 6 * MS},
		later);
	RECORD(rec, switch_loss, .cpu = 1, .from_ns = START + 16 * MS, .until_ns = START + 24 * MS,
		.count = 77);
	RECORD(rec, thread_clock, .thread = 1, .time_ns = START + 6 * MS, .cpu_ns = 100,
		.ready_ns = 7);
	RECORD(rec, thread_clock, .thread = 1, .time_ns = START + 35 * MS, .cpu_ns = 250,
		.ready_ns = 9);
	/* Waited on a stack that a sample stands on, on one that none does, and to the end. */
	RECORD(rec, frame, .index = 0, .kind = DNP_FRAME_MANAGED, .name = dnp_str("A.B()"));
	recording_stack(rec, 1, 0, (const uint64_t[]){0}, 1);
	recording_stack(rec, 2, 1, (const uint64_t[]){0}, 1);
	RECORD(rec, wait, .thread = 1, .since_ns = START + 16 * MS, .until_ns = START + 29 * MS,
		.kind = DNP_WAIT_LOCK, .node = 1, .call = dnp_str("futex"));
	RECORD(rec, wait, .thread = 0, .since_ns = START + 2 * MS, .kind = 99, .node = 2);
	/* Woken by a thread of its own, by two others of which one twice, by an interrupt. */
	RECORD(rec, mark, .time_ns = START + 12 * MS, .thread = 1, .text = dnp_str("<b>"));
	RECORD(rec, mark, .time_ns = START + 11 * MS, .thread = 0, .text = dnp_str("now"));
	RECORD(rec, mark, .time_ns = START + 13 * MS, .thread = 7, .text = dnp_str("nobody"));
	RECORD(rec, span, .event = 0, .id = 5, .time_ns = START + 13 * MS, .thread = 1,
		.name = dnp_str("order"));
	RECORD(rec, span_end, .event = 0, .id = 5, .time_ns = START + 16 * MS, .thread = 0);
	RECORD(rec, wakeup, .time_ns = START + 9 * MS, .thread = 1, .by = 1, .by_pid = 42,
		.by_tid = 42, .run_ns = START + 10 * MS);
	RECORD(rec, wakeup, .time_ns = START + 14 * MS, .thread = 1, .by_pid = 80, .by_tid = 81,
		.by_name = dnp_str("other"));
	RECORD(rec, wakeup, .time_ns = START + 12 * MS, .thread = 1, .by_pid = 80, .by_tid = 81,
		.by_name = dnp_str("renamed"));
	RECORD(rec, wakeup, .time_ns = START + 29 * MS, .thread = 1);
	RECORD(rec, wakeup, .time_ns = START + 29 * MS, .thread = 9);
	RECORD(rec, base, .time_ns = START);
	RECORD(rec, sample, .delta_ns = MS, .thread = 1, .node = 1, .weight = 1);
	RECORD(rec, end, .time_ns = START + 40 * MS);
	recording_flush(rec);
	profile_recording(&f->profile, &f->input, rec, &filter, DNP_BY_TIME);
	CHECK_EQ(dnp_page_runs_init(&f->runs, &f->profile, &f->input, 4), 0);
	f->at = f->runs.slices.p;
}

static void forget(struct fixture_runs *f)
{
	dnp_page_runs_done(&f->runs);
	dnp_profile_done(&f->profile);
	dnp_input_done(&f->input);
	recording_done(&f->rec);
}

static uint64_t next(struct fixture_runs *f)
{
	uint64_t value = 0;

	f->at = dnp_varint_get(f->at, f->runs.slices.p + f->runs.slices.n, &value);
	CHECK(f->at);
	return value;
}

static void check_slice(struct fixture_runs *f, uint64_t gap, uint64_t length, uint64_t where)
{
	CHECK_EQ(next(f), gap);
	CHECK_EQ(next(f), length);
	CHECK_EQ(next(f), where);
}

TEST(runs_of_a_page)
{
	struct fixture_runs f;

	make(&f, (struct dnp_filter){0});
	CHECK_EQ(f.runs.threads.n, 6);
	CHECK_EQ(f.runs.threads.p[0], 0); /* one that never had a processor */
	CHECK_EQ(f.runs.threads.p[1], 0);
	CHECK_EQ(next(&f), 0);
	CHECK_EQ(next(&f), 9 * MS);
	CHECK_EQ(f.runs.threads.p[3], 1);
	CHECK_EQ(f.runs.threads.p[4], 4);
	CHECK_EQ(f.runs.threads.p[5], DNP_SLICE_WAITS);
	CHECK_EQ(next(&f), 6 * MS);
	check_slice(&f, 4 * MS, 2 * MS, 8 + DNP_SLICE_PREEMPTED);
	check_slice(&f, MS, 3 * MS, DNP_SLICE_WAITS);
	check_slice(&f, 0, 0, DNP_SLICE_UNKNOWN);
	check_slice(&f, 14 * MS, 5 * MS, 8 * 3 + DNP_SLICE_RUNS);
	CHECK_EQ(next(&f), 0);
	CHECK(f.at == f.runs.slices.p + f.runs.slices.n);
	forget(&f);
}

TEST(clocks_and_losses_of_a_page)
{
	static const uint64_t clocks[] = {6 * MS, 100, 7, 29 * MS, 150, 2};
	static const uint64_t losses[] = {1, 16 * MS, 8 * MS, 77};
	struct fixture_runs f;
	const uint8_t *at;
	uint64_t value;

	make(&f, (struct dnp_filter){0});
	CHECK_EQ(f.runs.clock_threads.n, 2);
	CHECK_EQ(f.runs.clock_threads.p[0], 1);
	CHECK_EQ(f.runs.clock_threads.p[1], 2);
	at = f.runs.clocks.p;
	for (size_t i = 0; i < 6; i++) {
		at = dnp_varint_get(at, f.runs.clocks.p + f.runs.clocks.n, &value);
		CHECK(at && value == clocks[i]);
	}
	at = f.runs.losses.p;
	for (size_t i = 0; i < 4; i++) {
		at = dnp_varint_get(at, f.runs.losses.p + f.runs.losses.n, &value);
		CHECK(at && value == losses[i]);
	}
	forget(&f);
}

/* Of 11 to 14 ms: the first slice began before, the second one goes on. */
TEST(runs_of_a_part_of_the_time)
{
	struct fixture_runs f;

	make(&f, (struct dnp_filter){.from_ns = 11 * MS, .to_ns = 14 * MS});
	CHECK_EQ(f.runs.threads.p[4], 2);
	f.at = f.runs.slices.p;
	CHECK_EQ(next(&f), 11 * MS); /* of the first thread, which was gone by then */
	CHECK_EQ(next(&f), 0);
	CHECK_EQ(next(&f), 11 * MS);
	check_slice(&f, 0, MS, 8 + DNP_SLICE_PREEMPTED);
	check_slice(&f, MS, MS, DNP_SLICE_RUNS);
	CHECK_EQ(next(&f), 0);
	CHECK_EQ(f.runs.losses.n + f.runs.clock_threads.n, 0);
	forget(&f);
}

/* One slice too many: the page is refused, with what to do instead; and nothing of it is written.
 */
TEST(runs_too_many_for_a_page)
{
	struct dnp_str template = dnp_str("<@DNPROF_META@><@DNPROF_DATA@>");
	struct dnp_export_options options = {.slices_max = 3};
	struct dnp_sink_memory sink;
	struct dnp_err err = {0};
	struct fixture_runs f;

	make(&f, (struct dnp_filter){0});
	dnp_page_runs_done(&f.runs);
	CHECK_EQ(dnp_page_runs_init(&f.runs, &f.profile, &f.input, 3), -E2BIG);
	options.input = &f.input;
	dnp_sink_memory_init(&sink);
	CHECK_EQ(dnp_html_write(template, &f.profile, &options, &sink.sink, &err), -E2BIG);
	CHECK_STR(err.text,
		"cannot write the page: it would have more than 3 slices, which is too much for "
		"browsers; show fewer threads, with --thread, or write all for other tools, with "
		"dnprof export");
	CHECK_EQ(sink.bytes.n, 0);
	options.slices_max = 4;
	CHECK_EQ(dnp_html_write(template, &f.profile, &options, &sink.sink, &err), 0);
	CHECK(sink.bytes.n > 0);
	dnp_vec_done(&sink.bytes);
	forget(&f);
}

TEST(waits_of_a_page)
{
	static const uint64_t times[] = {2 * 16 * MS, 13 * MS, 2 * 14 * MS - 1, 0};
	struct fixture_runs f;
	const struct dnp_wait *waits;
	const uint8_t *at;
	uint64_t value;

	make(&f, (struct dnp_filter){0});
	waits = f.profile.waits.p;
	CHECK_EQ(f.profile.waits.n, 2);
	CHECK_EQ(waits[0].thread, 1);
	CHECK_EQ(waits[0].kind, DNP_WAIT_LOCK);
	CHECK_EQ(waits[0].node, 1);
	CHECK(!strcmp(dnp_profile_string(&f.profile, waits[0].call), "futex"));
	CHECK_EQ(waits[1].kind, DNP_WAIT_OTHER);
	CHECK_EQ(waits[1].node, 0);
	at = f.runs.wait_times.p;
	for (size_t i = 0; i < 4; i++) {
		at = dnp_varint_get(at, f.runs.wait_times.p + f.runs.wait_times.n, &value);
		CHECK(at && value == times[i]);
	}
	forget(&f);
}

static void check_times(const struct dnp_bytes *bytes, const uint64_t *times, size_t n)
{
	const uint8_t *at = bytes->p;
	uint64_t value;

	for (size_t i = 0; i < n; i++) {
		at = dnp_varint_get(at, bytes->p + bytes->n, &value);
		CHECK(at && value == times[i]);
	}
	CHECK(at == bytes->p + bytes->n);
}

TEST(marks_of_a_page)
{
	static const uint64_t times[] = {2 * 11 * MS, 2 * MS, 2 * MS};
	static const uint64_t lengths[] = {0, 0, 2 * 3 * MS};
	static const char *const texts[] = {"now", "<b>", "order"};
	static const uint32_t threads[] = {0, 1, 1};
	struct fixture_runs f;
	const struct dnp_page_beside *beside = &f.runs.beside;

	make(&f, (struct dnp_filter){0});
	CHECK_EQ(beside->marks.n, 3);
	CHECK_EQ(beside->mark_count, 3);
	for (size_t i = 0; i < 3; i++) {
		CHECK_EQ(beside->marks.p[i].thread, threads[i]);
		CHECK_STR(dnp_strings_get(&beside->strings, beside->marks.p[i].text), texts[i]);
	}
	check_times(&beside->mark_times, times, 3);
	check_times(&beside->mark_lengths, lengths, 3);
	forget(&f);
}

TEST(wakes_of_a_page)
{
	static const uint64_t times[] = {2 * 9 * MS, 2 * 5 * MS, 2 * 2 * MS - 1, 2 * 17 * MS};
	static const uint32_t by[] = {0, 1, 1, 2};
	struct fixture_runs f;
	const struct dnp_page_beside *beside = &f.runs.beside;

	make(&f, (struct dnp_filter){0});
	CHECK_EQ(beside->wakes.n, 4);
	CHECK_EQ(beside->wake_count, 4);
	for (size_t i = 0; i < 4; i++) {
		CHECK_EQ(beside->wakes.p[i].thread, 1);
		CHECK_EQ(beside->wakes.p[i].by, by[i]);
	}
	check_times(&beside->wake_times, times, 4);
	CHECK_EQ(beside->wakers.n, 3);
	CHECK_EQ(beside->wakers.p[0].thread, 0);
	CHECK_EQ(beside->wakers.p[1].thread, DNP_NONE);
	CHECK_EQ(beside->wakers.p[1].pid, 80);
	CHECK_EQ(beside->wakers.p[1].tid, 81);
	CHECK_STR(dnp_strings_get(&beside->strings, beside->wakers.p[1].name), "other");
	CHECK_EQ(beside->wakers.p[2].pid, 0);
	forget(&f);
}

/* The waker is not among the threads that stay. */
TEST(beside_of_a_part_of_a_page)
{
	static const char *const only[] = {"43"};
	static const uint64_t wake[] = {2 * 9 * MS}, mark[] = {2 * 12 * MS};
	struct fixture_runs f;
	const struct dnp_page_beside *beside = &f.runs.beside;

	make(&f, (struct dnp_filter){.to_ns = 12 * MS, .threads = only, .thread_count = 1});
	CHECK_EQ(beside->mark_count, 0);
	CHECK_EQ(beside->wakes.n, 1);
	check_times(&beside->wake_times, wake, 1);
	CHECK_EQ(beside->wakers.p[0].thread, DNP_NONE);
	CHECK_EQ(beside->wakers.p[0].tid, 42);
	/* As in the sums of other outputs, which are of the whole time. */
	CHECK_EQ(f.profile.wakes.n, 3);
	CHECK(f.profile.wakes.p[0].own);
	CHECK_EQ(f.profile.wakes.p[0].by_tid, 42);
	forget(&f);
	make(&f, (struct dnp_filter){.from_ns = 12 * MS, .to_ns = 13 * MS});
	CHECK_EQ(beside->marks.n, 1);
	check_times(&beside->mark_times, mark, 1);
	CHECK_EQ(beside->wakes.n, 1);
	forget(&f);
}

/* No more than a page can take; it says how many there were. */
TEST(beside_is_bounded)
{
	struct fixture_runs f = {.rec = recording_new(1)};
	struct recording *rec = &f.rec;
	struct dnp_filter filter = {0};

	RECORD(rec, process, .pid = 42, .start_ns = START);
	RECORD(rec, event, .index = 0, .name = dnp_str("switch"), .unit = dnp_str("ns"));
	RECORD(rec, thread, .index = 0, .tid = 42, .start_ns = START);
	RECORD(rec, slices, .thread = 0, .time_ns = START);
	for (uint64_t i = 0; i < DNP_PAGE_MARKS + 5; i++)
		RECORD(rec, mark, .time_ns = START + i, .text = dnp_str("again"));
	for (uint64_t i = 0; i < DNP_PAGE_WAKES + 7; i++)
		RECORD(rec, wakeup, .time_ns = START + i);
	RECORD(rec, end, .time_ns = START + MS);
	recording_flush(rec);
	profile_recording(&f.profile, &f.input, rec, &filter, DNP_BY_TIME);
	CHECK_EQ(dnp_page_runs_init(&f.runs, &f.profile, &f.input, DNP_PAGE_RUNS), 0);
	CHECK_EQ(f.runs.beside.marks.n, DNP_PAGE_MARKS);
	CHECK_EQ(f.runs.beside.mark_count, DNP_PAGE_MARKS + 5);
	CHECK_EQ(dnp_strings_count(&f.runs.beside.strings), 2);
	CHECK_EQ(f.runs.beside.wakes.n, DNP_PAGE_WAKES);
	CHECK_EQ(f.runs.beside.wake_count, DNP_PAGE_WAKES + 7);
	CHECK_EQ(f.runs.beside.wakers.n, 1);
	forget(&f);
}
