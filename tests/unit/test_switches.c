/* SPDX-License-Identifier: MIT */
/* Slices of all threads in the order of time. */
#include "read/switches.h"
#include "recording.h"
#include "test.h"

struct expected {
	uint64_t from_us, to_us, cpu, how, tid;
	const char *name;
};

static struct dnp_input read_input(const struct recording *rec)
{
	struct dnp_input input;

	dnp_input_init(&input);
	CHECK_EQ(dnp_input_add_bytes(&input, "test", rec->bytes.p, rec->bytes.n, NULL), 0);
	CHECK_EQ(dnp_input_finish(&input, NULL), 0);
	return input;
}

TEST(slices_come_as_they_began)
{
	static const struct expected expected[] = {
		{10, 20, 0, DNP_SLICE_WAITS, 70, "main"},
		{15, 18, 1, DNP_SLICE_PREEMPTED, 71, "first, \"1\""},
		{20, 30, 0, DNP_SLICE_ENDED, 71, "first, \"1\""},
		{41, 45, 1, DNP_SLICE_WAITS, 71, "again"},
		{50, 60, 0, DNP_SLICE_PREEMPTED, 70, "main"},
		{62, 70, 1, DNP_SLICE_WAITS, 70, "main"},
		{80, 88, 1, DNP_SLICE_UNKNOWN, 71, "again"},
		{95, 100, 1, DNP_SLICE_RUNS, 71, "again"},
	};
	struct recording rec = recording_new(1);
	struct dnp_switches switches;
	struct dnp_input input;
	struct dnp_slice_at slice;
	uint32_t thread;

	recording_switches(&rec);
	input = read_input(&rec);
	CHECK_EQ(dnp_switches_init(&switches, &input.recordings.p[0]), 0);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		CHECK_EQ(dnp_switches_next(&switches, &thread, &slice), 1);
		CHECK_EQ(slice.start_ns, 1000000000 + expected[i].from_us * 1000);
		CHECK_EQ(slice.end_ns, 1000000000 + expected[i].to_us * 1000);
		CHECK_EQ(slice.cpu, expected[i].cpu);
		CHECK_EQ(slice.how, expected[i].how);
		CHECK_EQ(switches.threads.p[thread].tid, expected[i].tid);
		CHECK(dnp_str_eq(switches.threads.p[thread].name, dnp_str(expected[i].name)));
	}
	CHECK_EQ(dnp_switches_next(&switches, &thread, &slice), 0);
	CHECK_EQ(switches.losses.n, 1);
	CHECK_EQ(switches.damaged, 0);
	CHECK_EQ(switches.end_ns, 1000100000);
	dnp_switches_done(&switches);
	dnp_input_done(&input);
	recording_done(&rec);
}

/* A thread that is not wanted does not come; one whose slices are damaged comes up to there. */
TEST(slices_that_are_left_out_or_damaged)
{
	static const uint64_t good[] = {5, 6, 0, DNP_SLICE_WAITS, 7, 8, 0, DNP_SLICE_WAITS};
	struct recording rec = recording_new(1);
	struct dnp_switches switches;
	struct dnp_input input;
	struct dnp_slice_at slice;
	uint32_t thread;

	RECORD(&rec, process, .pid = 1, .start_ns = 1000000000);
	recording_slices(&rec, 1, good, 2);
	recording_slices(&rec, 2, good, 2);
	RECORD(&rec, slices, .thread = 3, .time_ns = 1000000000,
		.slices = {"\x01\x02\x00\x05\x80", 5});
	recording_flush(&rec);
	input = read_input(&rec);
	CHECK_EQ(dnp_switches_init(&switches, &input.recordings.p[0]), 0);
	CHECK_EQ(switches.threads.n, 3);
	switches.threads.p[0].wanted = false;
	CHECK_EQ(dnp_switches_next(&switches, &thread, &slice), 1);
	CHECK_EQ(thread, 2);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(dnp_switches_next(&switches, &thread, &slice), 1);
		CHECK_EQ(thread, 1);
	}
	CHECK_EQ(dnp_switches_next(&switches, &thread, &slice), 0);
	CHECK_EQ(switches.damaged, 2);
	dnp_switches_done(&switches);
	dnp_input_done(&input);
	recording_done(&rec);
}

/* A thread's records follow each other in time: one that does not is damaged, and order stays. */
TEST(slices_that_go_back_are_not_believed)
{
	struct recording rec = recording_new(1);
	struct dnp_switches switches;
	struct dnp_input input;
	struct dnp_slice_at slice;
	uint32_t thread;

	RECORD(&rec, process, .pid = 1, .start_ns = 1000000000);
	RECORD(&rec, slices, .thread = 1, .time_ns = 1000000005, .slices = {"\0\5\0", 3});
	RECORD(&rec, slices, .thread = 1, .time_ns = 1000000009, .slices = {"\0\1\0", 3});
	RECORD(&rec, slices, .thread = 1, .time_ns = 1000000010, .slices = {"\0\1\0", 3});
	recording_flush(&rec);
	input = read_input(&rec);
	CHECK_EQ(dnp_switches_init(&switches, &input.recordings.p[0]), 0);
	CHECK_EQ(dnp_switches_next(&switches, &thread, &slice), 1);
	CHECK_EQ(slice.start_ns, 1000000005);
	CHECK_EQ(dnp_switches_next(&switches, &thread, &slice), 1);
	CHECK_EQ(slice.start_ns, 1000000010);
	CHECK_EQ(dnp_switches_next(&switches, &thread, &slice), 0);
	CHECK_EQ(switches.damaged, 3);
	dnp_switches_done(&switches);
	dnp_input_done(&input);
	recording_done(&rec);
}

TEST(nothing_to_read)
{
	struct recording rec = recording_new(1);
	struct dnp_switches switches;
	struct dnp_input input;
	struct dnp_slice_at slice;
	uint32_t thread;

	recording_small(&rec);
	input = read_input(&rec);
	CHECK_EQ(dnp_switches_init(&switches, &input.recordings.p[0]), 0);
	CHECK_EQ(dnp_switches_next(&switches, &thread, &slice), 0);
	CHECK_EQ(dnp_switches_next(&switches, &thread, &slice), 0);
	dnp_switches_done(&switches);
	dnp_input_done(&input);
	recording_done(&rec);
}
