/* SPDX-License-Identifier: MIT */
/* Since when and until when a thread had no processor, by its switches; and whose clocks stand. */
#include "switches/waits.h"

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/thread.h"
#include "os/thread_state.h"
#include "taken.h"
#include "test.h"

static struct taken taken;

/* ---- Since when, until when */

static struct dnp_wait_time found;

static enum dnp_wait_news find(int tid, uint64_t ns)
{
	found = (struct dnp_wait_time){0};
	return dnp_waits_find(&taken.taker, &taken.writer, tid, TAKEN_FROM + ns, &found);
}

static void check_found(uint64_t since_ns, uint64_t until_ns)
{
	CHECK_EQ(found.since_ns, TAKEN_FROM + since_ns);
	CHECK_EQ(found.until_ns, TAKEN_FROM + until_ns);
}

TEST(waits_are_the_times_between_slices)
{
	taken_open(&taken, TAKEN_PID);
	taken_tell_own(&taken, 1, DNP_SWITCH_BEGIN, 5 * MS);
	taken_tell_own(&taken, 1, DNP_SWITCH_IN, 10 * MS);
	taken_tell_own(&taken, 1, DNP_SWITCH_WAITS, 20 * MS);
	taken_tell_own(&taken, 1, DNP_SWITCH_IN, 50 * MS);
	taken_tell_own(&taken, 1, DNP_SWITCH_WAITS, 60 * MS);
	CHECK_EQ(find(1, 30 * MS), DNP_WAIT_OVER);
	check_found(20 * MS, 50 * MS);
	CHECK_EQ(find(1, 20 * MS), DNP_WAIT_OVER);
	CHECK_EQ(find(1, 50 * MS - 1), DNP_WAIT_OVER);
	check_found(20 * MS, 50 * MS);
	/* It ran, or was not there. */
	CHECK_EQ(find(1, 15 * MS), DNP_WAIT_NONE);
	CHECK_EQ(find(1, 50 * MS), DNP_WAIT_NONE);
	CHECK_EQ(find(1, 4 * MS), DNP_WAIT_NONE);
	CHECK_EQ(find(2, 30 * MS), DNP_WAIT_NONE);
	/* Since the last slice; as far as is known. */
	CHECK_EQ(find(1, 70 * MS), DNP_WAIT_GOES_ON);
	check_found(60 * MS, 1000 * MS);
	CHECK_EQ(find(1, 1000 * MS), DNP_WAIT_NOT_YET);
	CHECK_EQ(find(2, 1000 * MS), DNP_WAIT_NOT_YET);
	/* The recording knows the thread, once. */
	CHECK_EQ(find(1, 30 * MS), DNP_WAIT_OVER);
	taken_read(&taken);
	CHECK_EQ(taken.n_threads, 1);
	CHECK_EQ(taken.threads[0].tid, 1);
	CHECK_EQ(found.thread, taken.threads[0].index);
	taken_close(&taken);
}

/* Of one that was there before nobody knows since when; it is known since the recording began. */
TEST(waits_at_the_edges_of_what_is_known)
{
	taken_open(&taken, TAKEN_PID);
	taken_tell_own(&taken, 1, DNP_SWITCH_IN, 40 * MS);
	CHECK_EQ(find(1, 30 * MS), DNP_WAIT_OVER);
	check_found(0, 40 * MS);
	CHECK_EQ(find(1, 50 * MS), DNP_WAIT_NONE); /* it still runs */
	/* The end of one that never ran again. */
	taken_tell_own(&taken, 2, DNP_SWITCH_IN, 10 * MS);
	taken_tell_own(&taken, 2, DNP_SWITCH_WAITS, 20 * MS);
	dnp_tl_store_end(&taken.timeline.store, dnp_tl_store_find(&taken.timeline.store, 2),
		TAKEN_FROM + 90 * MS);
	CHECK_EQ(find(2, 50 * MS), DNP_WAIT_OVER);
	check_found(20 * MS, 90 * MS);
	CHECK_EQ(find(2, 95 * MS), DNP_WAIT_NONE);
	/* What is all written is not known any more, and the thread not defined again. */
	dnp_taker_write(&taken.taker, &taken.writer, false);
	taken_read(&taken);
	CHECK_EQ(find(2, 50 * MS), DNP_WAIT_NONE);
	taken_read(&taken);
	CHECK_EQ(taken.n_threads, 0);
	taken_close(&taken);
}

/* ---- Whose clock stands */

enum { SLEEPERS = 2 };

static struct sleeper {
	pthread_t thread;
	sem_t go;
	int tid;
	sem_t known;
} sleepers[SLEEPERS];

/* Computes whenever it is told to; else it sleeps. */
static void *compute_when_told(void *arg)
{
	struct sleeper *sleeper = arg;

	sleeper->tid = dnp_thread_id();
	sem_post(&sleeper->known);
	for (;;) {
		uint64_t until_ns;

		sem_wait(&sleeper->go);
		until_ns = dnp_thread_cpu_ns(0) + MS;
		while (dnp_thread_cpu_ns(0) < until_ns)
			;
		sem_post(&sleeper->known);
	}
	return NULL;
}

/* It has been told all, and stands: its clock does not move any more. */
static void wait_until_asleep(struct sleeper *sleeper)
{
	struct dnp_thread_state state = {0};

	sem_wait(&sleeper->known);
	while (!state.asleep) {
		CHECK_EQ(dnp_thread_state(sleeper->tid, &state), 0);
		usleep(1000);
	}
}

static void begin_sleepers(void)
{
	for (int i = 0; i < SLEEPERS; i++) {
		struct sleeper *sleeper = &sleepers[i];

		sem_init(&sleeper->go, 0, 0);
		sem_init(&sleeper->known, 0, 0);
		CHECK_EQ(pthread_create(&sleeper->thread, NULL, compute_when_told, sleeper), 0);
		wait_until_asleep(sleeper);
		dnp_tl_store_add(&taken.timeline.store, getpid(), sleeper->tid, TAKEN_FROM);
	}
}

static void let_compute(struct sleeper *sleeper)
{
	sem_post(&sleeper->go);
	wait_until_asleep(sleeper);
}

/* How many of the clocks have stood since the look before, and whose. */
static size_t look(int *tids, size_t max)
{
	return dnp_waits_look(&taken.taker, 1, tids, max);
}

TEST(waits_are_looked_for_by_clocks)
{
	int tids[SLEEPERS];

	taken_open(&taken, getpid());
	begin_sleepers();
	CHECK_EQ(look(tids, SLEEPERS), 0); /* they are seen for the first time */
	CHECK_EQ(look(tids, SLEEPERS), 2);
	CHECK_EQ(tids[0], sleepers[0].tid);
	CHECK_EQ(tids[1], sleepers[1].tid);
	/* Each once, until it has moved. */
	CHECK_EQ(look(tids, SLEEPERS), 0);
	let_compute(&sleepers[1]);
	CHECK_EQ(look(tids, SLEEPERS), 0);
	CHECK_EQ(look(tids, SLEEPERS), 1);
	CHECK_EQ(tids[0], sleepers[1].tid);
	/* Not for as long as is asked for. */
	let_compute(&sleepers[0]);
	CHECK_EQ(dnp_waits_look(&taken.taker, UINT64_MAX, tids, SLEEPERS), 0);
	CHECK_EQ(dnp_waits_look(&taken.taker, UINT64_MAX, tids, SLEEPERS), 0);
	CHECK_EQ(look(tids, SLEEPERS), 1);
	CHECK_EQ(tids[0], sleepers[0].tid);
	taken_close(&taken);
}

TEST(waits_are_told_again_or_left_for_later)
{
	int tids[SLEEPERS];

	taken_open(&taken, getpid());
	begin_sleepers();
	look(tids, SLEEPERS);
	/* No more than there is room for; the others then. */
	CHECK_EQ(look(tids, 1), 1);
	CHECK_EQ(tids[0], sleepers[0].tid);
	CHECK_EQ(look(tids, 1), 1);
	CHECK_EQ(tids[0], sleepers[1].tid);
	CHECK_EQ(look(tids, SLEEPERS), 0);
	/* It could not be read: as if it had moved. */
	dnp_waits_again(&taken.taker, sleepers[0].tid);
	dnp_waits_again(&taken.taker, 1 << 30); /* has gone */
	CHECK_EQ(look(tids, SLEEPERS), 0);
	CHECK_EQ(look(tids, SLEEPERS), 1);
	CHECK_EQ(tids[0], sleepers[0].tid);
	taken_close(&taken);
}

/* It ran between the look and the reading of its stack: the wait that was read is not another one.
 */
TEST(waits_are_told_once_wherever_they_were_seen)
{
	int tids[SLEEPERS];
	struct sleeper *first = &sleepers[0];

	taken_open(&taken, getpid());
	begin_sleepers();
	look(tids, SLEEPERS);
	CHECK_EQ(look(tids, SLEEPERS), 2);
	let_compute(first);
	dnp_waits_seen(&taken.taker, first->tid, dnp_thread_cpu_ns(first->tid));
	dnp_waits_seen(&taken.taker, 1 << 30, 0); /* has gone */
	CHECK_EQ(look(tids, SLEEPERS), 0);
	CHECK_EQ(look(tids, SLEEPERS), 0);
	let_compute(first);
	look(tids, SLEEPERS);
	CHECK_EQ(look(tids, SLEEPERS), 1);
	CHECK_EQ(tids[0], first->tid);
	taken_close(&taken);
}

static bool is_first(int tid, uint64_t begin_ns, uint64_t end_ns)
{
	CHECK(begin_ns && !end_ns);
	return tid == sleepers[0].tid;
}

TEST(waits_of_others_are_not_looked_for)
{
	int tids[SLEEPERS];
	struct dnp_tl_store *store = &taken.timeline.store;

	taken_open(&taken, getpid());
	taken.taker.is_ours = is_first;
	begin_sleepers();
	dnp_tl_store_add(store, 1, 1, TAKEN_FROM); /* of another process */
	look(tids, SLEEPERS);
	CHECK_EQ(look(tids, SLEEPERS), 1);
	CHECK_EQ(tids[0], sleepers[1].tid);
	/* One that has ended, whoever has its number. */
	let_compute(&sleepers[1]);
	dnp_tl_store_end(store, dnp_tl_store_find(store, sleepers[1].tid), TAKEN_FROM + MS);
	look(tids, SLEEPERS);
	CHECK_EQ(look(tids, SLEEPERS), 0);
	taken_close(&taken);
}
