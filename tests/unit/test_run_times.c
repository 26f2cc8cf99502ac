/* SPDX-License-Identifier: MIT */
/* What slices and clocks come to. */
#include "aggregate/run_times.h"
#include "format/slice_codec.h"
#include "test.h"

/* Runs 100 ns after 50 without, is preempted for 30, runs 20, waits 1000, and is lost sight of. */
TEST(slices_add_up_to_a_life)
{
	uint8_t bytes[3 * DNP_SLICE_BYTES];
	size_t n = dnp_slice_put(bytes, 0, 100, 1, DNP_SLICE_PREEMPTED);
	struct dnp_run_times times = {0};
	struct dnp_rec_slices rec = {.time_ns = 5000, .before = DNP_SLICE_WAITS, .gap_ns = 50};
	uint64_t until_ns;

	n += dnp_slice_put(bytes + n, 30, 20, 0, DNP_SLICE_WAITS);
	n += dnp_slice_put(bytes + n, 1000, 7, 0, DNP_SLICE_UNKNOWN);
	rec.slices = (struct dnp_str){(const char *)bytes, n};
	CHECK(dnp_run_times_slices(&times, &rec, &until_ns));
	CHECK_EQ(until_ns, 5000 + 100 + 30 + 20 + 1000 + 7);
	CHECK_EQ(times.on_cpu_ns, 127);
	CHECK_EQ(times.preempted_ns, 30);
	CHECK_EQ(times.blocked_ns, 1050);
	CHECK_EQ(times.unknown_ns, 0);
	CHECK_EQ(times.voluntary, 1);
	CHECK_EQ(times.involuntary, 1);
	/* The end of it all, without a slice. */
	rec = (struct dnp_rec_slices){.time_ns = 9000, .before = DNP_SLICE_UNKNOWN, .gap_ns = 60};
	CHECK(dnp_run_times_slices(&times, &rec, &until_ns));
	CHECK_EQ(until_ns, 9000);
	CHECK_EQ(times.unknown_ns, 60);
	CHECK_EQ(dnp_run_times_life(&times), 50 + 1157 + 60);
}

TEST(looks_tell_of_no_time)
{
	uint8_t bytes[DNP_SLICE_BYTES];
	struct dnp_rec_slices rec = {.time_ns = 1000, .before = DNP_SLICE_SAMPLED, .gap_ns = 50};
	struct dnp_run_times times = {0};
	uint64_t until_ns;

	rec.slices.p = (const char *)bytes;
	rec.slices.n = dnp_slice_put(bytes, 0, 1000000, UINT16_MAX, DNP_SLICE_SAMPLED);
	CHECK(dnp_run_times_slices(&times, &rec, &until_ns));
	CHECK(times.seen);
	CHECK_EQ(dnp_run_times_life(&times), 0);
	rec.slices.n--;
	CHECK(!dnp_run_times_slices(&times, &rec, &until_ns));
}

TEST(clocks_are_told_from_the_first_to_the_last)
{
	struct dnp_run_times times = {0};
	const struct dnp_rec_thread_clock clocks[] = {
		{.time_ns = 2000, .cpu_ns = 500, .ready_ns = 40},
		{.time_ns = 1000, .cpu_ns = 300, .ready_ns = 10},
		{.time_ns = 4000, .cpu_ns = 900, .ready_ns = 45},
	};

	CHECK_EQ(dnp_run_times_watched(&times), 0);
	for (size_t i = 0; i < 3; i++)
		dnp_run_times_clock(&times, &clocks[i]);
	CHECK_EQ(dnp_run_times_watched(&times), 3000);
	CHECK_EQ(dnp_run_times_cpu(&times), 600);
	CHECK_EQ(dnp_run_times_ready(&times), 35);
}
