/* SPDX-License-Identifier: MIT */
/* A time line's threads into a recording. */
#include "taken.h"
#include "test.h"

static struct taken taken;

static void write_up_to(uint64_t ns, bool last)
{
	taken.timeline.told_ns = TAKEN_FROM + ns;
	dnp_taker_write(&taken.taker, &taken.writer, last);
	taken_read(&taken);
}

static void look_at(int tid, uint64_t ns, uint64_t cpu_ns)
{
	struct dnp_tl_store *store = &taken.timeline.store;
	struct dnp_tl_thread *thread = dnp_tl_store_add(store, TAKEN_PID, tid, TAKEN_FROM + ns);
	struct dnp_task_clock clock = {.time_ns = TAKEN_FROM + ns, .cpu_ns = cpu_ns};

	dnp_tl_store_checkpoint(store, thread, &clock);
	thread->seen_ns = TAKEN_FROM + ns;
}

/* It began while it was recorded, though its clock was read before that was told. */
TEST(a_thread_is_written_when_its_beginning_can_be_known)
{
	taken_open(&taken, TAKEN_PID);
	look_at(1, 50 * MS, 9 * MS);
	look_at(2, 50 * MS, 9 * MS);
	write_up_to(49 * MS, false);
	CHECK_EQ(taken.n_threads, 0);
	taken_tell_own(&taken, 1, DNP_SWITCH_BEGIN, 40 * MS);
	write_up_to(60 * MS, false);
	CHECK_EQ(taken.n_threads, 2);
	CHECK_EQ(taken.threads[0].start_ns, TAKEN_FROM + 40 * MS);
	CHECK_EQ(taken.threads[0].cpu_ns, 0);
	CHECK_EQ(taken.threads[0].flags, 0);
	CHECK_EQ(taken.threads[1].start_ns, TAKEN_FROM);
	CHECK_EQ(taken.threads[1].cpu_ns, 9 * MS);
	CHECK_EQ(taken.threads[1].flags, DNP_THREAD_LATE);
	/* The end waits for nobody. */
	look_at(3, 90 * MS, 9 * MS);
	write_up_to(80 * MS, true);
	CHECK_EQ(taken.n_threads, 1);
	taken_close(&taken);
}

/* What had to be let go for want of memory does not look as if the threads had waited. */
TEST(slices_that_there_was_no_memory_for_are_missing)
{
	taken_open(&taken, TAKEN_PID);
	taken.timeline.store.bytes_max = 1 << 11;
	for (uint64_t ms = 10; ms < 1010; ms += 2) {
		taken_tell_own(&taken, 1, DNP_SWITCH_IN, ms * MS);
		taken_tell_own(&taken, 1, DNP_SWITCH_WAITS, (ms + 1) * MS);
	}
	dnp_tl_store_fit(&taken.timeline.store, TAKEN_FROM + 1010 * MS);
	write_up_to(1010 * MS, false);
	CHECK(taken.n_losses >= 1);
	CHECK_EQ(taken.losses[0].from_ns, TAKEN_FROM + 10 * MS);
	CHECK(taken.losses[0].until_ns > TAKEN_FROM + 500 * MS);
	CHECK(taken.losses[0].until_ns <= taken.timeline.store.from_ns);
	CHECK_EQ(taken.taker.lost, taken.n_losses);
	/* It is told once. */
	write_up_to(1020 * MS, true);
	CHECK_EQ(taken.n_losses, 0);
	taken_close(&taken);
}

/* Between what is asked of waits and what is written more may be told: that waits for the next
 * time. */
TEST(what_is_told_meanwhile_is_left_to_the_next_time)
{
	taken_open(&taken, TAKEN_PID);
	for (int tid = 1; tid <= 2; tid++)
		for (uint64_t ms = 10; ms < 1000; ms += 100) {
			taken_tell_own(&taken, tid, DNP_SWITCH_IN, ms * MS);
			taken_tell_own(&taken, tid, DNP_SWITCH_WAITS, (ms + 10) * MS);
		}
	write_up_to(500 * MS, false); /* they are too few to be written */
	CHECK_EQ(taken.n_slices, 0);
	for (int tid = 1; tid <= 2; tid++)
		dnp_tl_store_find(&taken.timeline.store, tid)->taken_last_ns = 0;
	dnp_taker_hold(&taken.taker);
	dnp_tl_store_end(&taken.timeline.store, dnp_tl_store_find(&taken.timeline.store, 2),
		TAKEN_FROM + 990 * MS);
	write_up_to(1000 * MS, false);
	CHECK_EQ(dnp_tl_store_find(&taken.timeline.store, 1)->slices.n, 5);
	CHECK_EQ(dnp_tl_store_find(&taken.timeline.store, 2)->slices.n, 5);
	CHECK_EQ(taken.n_slices, 10);
	write_up_to(1000 * MS, true);
	CHECK_EQ(taken.n_slices, 10);
	CHECK_EQ(taken.n_losses, 0);
	taken_close(&taken);
}
