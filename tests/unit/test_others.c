/* SPDX-License-Identifier: MIT */
/* Who ran instead: other processes' slices as one row for each processor. */
#include "switches/others.h"

#include "taken.h"
#include "test.h"

static struct taken taken;

static void run(int pid, int cpu, uint64_t from_ns, uint64_t until_ns)
{
	taken_tell(&taken, pid, pid, DNP_SWITCH_IN, cpu, from_ns);
	taken_tell(&taken, pid, pid, DNP_SWITCH_WAITS, cpu, until_ns);
}

static void write_others(bool last)
{
	dnp_others_write(&taken.taker, &taken.writer, last);
	taken_read(&taken);
}

static void check_slice(size_t i, uint64_t thread, uint64_t from_ns, uint64_t until_ns, int cpu)
{
	CHECK(i < taken.n_slices);
	CHECK_EQ(taken.slices[i].thread, thread);
	CHECK_EQ(taken.slices[i].at.start_ns, TAKEN_FROM + from_ns);
	CHECK_EQ(taken.slices[i].at.end_ns, TAKEN_FROM + until_ns);
	CHECK_EQ(taken.slices[i].at.cpu, cpu);
}

static void check_row(size_t i, uint64_t index, const char *name)
{
	CHECK(i < taken.n_threads);
	CHECK_EQ(taken.threads[i].index, index);
	CHECK_EQ(taken.threads[i].tid, 0);
	CHECK_EQ(taken.threads[i].start_ns, TAKEN_FROM);
	CHECK_EQ(taken.threads[i].flags, DNP_THREAD_OTHERS | DNP_THREAD_LATE);
	CHECK(dnp_str_eq(taken.threads[i].name, dnp_str(name)));
}

/* The rows get their numbers as their processors come. */
#define ROW_OF_0 (DNP_TAKER_FIRST_INDEX)
#define ROW_OF_3 (DNP_TAKER_FIRST_INDEX + 1)

TEST(others_have_a_row_for_each_processor)
{
	taken_open(&taken, TAKEN_PID);
	run(9, 3, 150 * MS, 160 * MS);
	run(7, 0, 500 * MS, 600 * MS);
	run(TAKEN_PID, 0, 300 * MS, 400 * MS); /* the process itself: not one of them */
	run(8, 0, 100 * MS, 200 * MS);
	write_others(false);
	CHECK_EQ(taken.n_threads, 2);
	check_row(0, ROW_OF_0, "others, CPU 0");
	check_row(1, ROW_OF_3, "others, CPU 3");
	CHECK_EQ(taken.n_slices, 3);
	check_slice(0, ROW_OF_0, 100 * MS, 200 * MS, 0);
	check_slice(1, ROW_OF_0, 500 * MS, 600 * MS, 0);
	check_slice(2, ROW_OF_3, 150 * MS, 160 * MS, 3);
	/* Those are written; the rows are known. */
	write_others(false);
	CHECK_EQ(taken.n_threads + taken.n_slices, 0);
	run(9, 3, 700 * MS, 710 * MS);
	write_others(false);
	CHECK_EQ(taken.n_threads, 0);
	CHECK_EQ(taken.n_slices, 1);
	check_slice(0, ROW_OF_3, 700 * MS, 710 * MS, 3);
	taken_close(&taken);
}

/* One thread after the other: a switch takes its time, which nobody else had. */
TEST(others_that_follow_at_once_are_one_slice)
{
	taken_open(&taken, TAKEN_PID);
	run(7, 0, 100 * MS, 200 * MS);
	run(8, 0, 200 * MS + 4999, 300 * MS);
	taken_tell(&taken, 9, 9, DNP_SWITCH_IN, 0, 300 * MS);
	taken_tell(&taken, 9, 9, DNP_SWITCH_PREEMPTED, 0, 400 * MS);
	run(7, 0, 400 * MS + 5000, 500 * MS);
	run(8, 1, 200 * MS, 210 * MS); /* meanwhile, elsewhere */
	write_others(false);
	CHECK_EQ(taken.n_slices, 3);
	check_slice(0, ROW_OF_0, 100 * MS, 400 * MS, 0);
	CHECK_EQ(taken.slices[0].at.how, DNP_SLICE_PREEMPTED); /* as the last of them ended */
	check_slice(1, ROW_OF_0, 400 * MS + 5000, 500 * MS, 0);
	CHECK_EQ(taken.slices[1].at.how, DNP_SLICE_WAITS);
	check_slice(2, ROW_OF_0 + 1, 200 * MS, 210 * MS, 1);
	taken_close(&taken);
}

/* It is written when its end is known, or when nothing more will be. */
TEST(others_that_go_on)
{
	taken_open(&taken, TAKEN_PID);
	taken_tell(&taken, 7, 7, DNP_SWITCH_IN, 2, 900 * MS);
	write_others(false);
	CHECK_EQ(taken.n_threads + taken.n_slices, 0);
	write_others(true);
	CHECK_EQ(taken.n_threads, 1);
	CHECK_EQ(taken.n_slices, 1);
	check_slice(0, DNP_TAKER_FIRST_INDEX, 900 * MS, 1000 * MS, 2);
	CHECK_EQ(taken.slices[0].at.how, DNP_SLICE_RUNS);
	taken_close(&taken);
}
