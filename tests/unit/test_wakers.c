/* SPDX-License-Identifier: MIT */
/* Who woke the process's threads, from wake-ups that are told by hand. */
#include "switches/wakers.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "os/thread.h"
#include "taken.h"
#include "test.h"

/* ---- What the system tells, in place of os/wakeups.h */

static struct dnp_wakeup told[16];
static size_t n_told;
static int refused; /* -errno */
static int n_open;

int dnp_wakeups_open(struct dnp_wakeups **wakeups, struct dnp_err *err)
{
	if (refused)
		return dnp_err(err, refused, "wake-ups are not recorded: refused");
	n_open++;
	*wakeups = (struct dnp_wakeups *)told;
	return 0;
}

void dnp_wakeups_close(struct dnp_wakeups *wakeups)
{
	n_open -= wakeups != NULL;
}

void dnp_wakeups_read(struct dnp_wakeups *wakeups,
	void (*visit)(const struct dnp_wakeup *wakeup, void *context), void *context)
{
	CHECK(wakeups == (struct dnp_wakeups *)told);
	for (size_t i = 0; i < n_told; i++)
		visit(&told[i], context);
	n_told = 0;
}

static uint64_t n_missing;

uint64_t dnp_wakeups_end(struct dnp_wakeups *wakeups,
	void (*visit)(const struct dnp_wakeup *wakeup, void *context), void *context)
{
	dnp_wakeups_read(wakeups, visit, context);
	return n_missing;
}

static void tell(uint64_t ns, int tid, int by_pid, int by_tid)
{
	told[n_told++] = (struct dnp_wakeup){TAKEN_FROM + ns, tid, by_pid, by_tid};
}

/* ---- */

static struct taken taken;
static struct dnp_wakers wakers;

/* Thread 1 waits from 20 to 50 ms and since 60 ms, thread 2 runs all the time. */
static void open_both(void)
{
	taken_open(&taken, TAKEN_PID);
	CHECK_EQ(dnp_wakers_open(&wakers, NULL), 0);
	taken_tell_own(&taken, 1, DNP_SWITCH_IN, 10 * MS);
	taken_tell_own(&taken, 1, DNP_SWITCH_WAITS, 20 * MS);
	taken_tell_own(&taken, 1, DNP_SWITCH_IN, 50 * MS);
	taken_tell_own(&taken, 1, DNP_SWITCH_WAITS, 60 * MS);
	taken_tell_own(&taken, 2, DNP_SWITCH_IN, 5 * MS);
	taken_tell(&taken, 7, 77, DNP_SWITCH_WAITS, 0, 30 * MS);
}

static void close_both(void)
{
	dnp_wakers_close(&wakers);
	CHECK_EQ(n_open, 0);
	taken_close(&taken);
}

static void write_wakeups(bool last)
{
	dnp_wakers_write(&wakers, &taken.taker, &taken.writer, last);
	taken_read(&taken);
}

static uint64_t index_of(int tid)
{
	return dnp_tl_store_find(&taken.timeline.store, tid)->index;
}

TEST(wakers_are_threads_of_the_process)
{
	open_both();
	tell(45 * MS, 1, TAKEN_PID, 2);
	tell(45 * MS, 77, TAKEN_PID, 2); /* another process's thread: nobody asked for it */
	tell(15 * MS, 1, TAKEN_PID, 2);  /* it ran: nothing came of it */
	write_wakeups(false);
	CHECK_EQ(taken.n_wakeups, 1);
	CHECK_EQ(wakers.written, 1);
	CHECK_EQ(taken.wakeups[0].time_ns, TAKEN_FROM + 45 * MS);
	CHECK_EQ(taken.wakeups[0].thread, index_of(1));
	CHECK_EQ(taken.wakeups[0].by, index_of(2) + 1);
	CHECK_EQ(taken.wakeups[0].by_pid, TAKEN_PID);
	CHECK_EQ(taken.wakeups[0].by_tid, 2);
	CHECK_EQ(taken.wakeups[0].by_name.n, 0);
	CHECK_EQ(taken.wakeups[0].run_ns, TAKEN_FROM + 50 * MS);
	CHECK_EQ(taken.n_threads, 2);
	/* It is told once. */
	write_wakeups(true);
	CHECK_EQ(taken.n_wakeups, 0);
	close_both();
}

TEST(wakers_from_elsewhere_have_names)
{
	char name[16];

	open_both();
	CHECK_EQ(pthread_setname_np(pthread_self(), "somebody else"), 0);
	CHECK_EQ(pthread_getname_np(pthread_self(), name, sizeof(name)), 0);
	tell(30 * MS, 1, getpid(), dnp_thread_id());
	tell(40 * MS, 1, 0, 0); /* a timer */
	write_wakeups(false);
	CHECK_EQ(taken.n_wakeups, 2);
	CHECK_EQ(taken.wakeups[0].by, 0);
	CHECK_EQ(taken.wakeups[0].by_pid, getpid());
	CHECK_EQ(taken.wakeups[0].by_tid, dnp_thread_id());
	CHECK(dnp_str_eq(taken.wakeups[0].by_name, dnp_str("somebody else")));
	CHECK_EQ(taken.wakeups[1].by + taken.wakeups[1].by_pid + taken.wakeups[1].by_tid, 0);
	CHECK_EQ(taken.wakeups[1].by_name.n, 0);
	CHECK_EQ(taken.wakeups[1].run_ns, TAKEN_FROM + 50 * MS);
	close_both();
}

/* When it runs is not known yet; then it is, or never will be. */
TEST(wakers_wait_for_what_comes_of_it)
{
	open_both();
	tell(70 * MS, 1, TAKEN_PID, 2);
	tell(1100 * MS, 1, TAKEN_PID, 2);
	write_wakeups(false);
	CHECK_EQ(taken.n_wakeups, 0);
	CHECK_EQ(wakers.pending.n, 2);
	taken_tell_own(&taken, 1, DNP_SWITCH_IN, 1050 * MS);
	taken_tell_own(&taken, 1, DNP_SWITCH_WAITS, 1060 * MS);
	taken.timeline.told_ns = TAKEN_FROM + 1200 * MS;
	write_wakeups(false);
	CHECK_EQ(taken.n_wakeups, 1);
	CHECK_EQ(taken.wakeups[0].time_ns, TAKEN_FROM + 70 * MS);
	CHECK_EQ(taken.wakeups[0].run_ns, TAKEN_FROM + 1050 * MS);
	CHECK_EQ(wakers.pending.n, 1);
	CHECK_EQ(wakers.missing, 0);
	n_missing = 3;
	write_wakeups(true);
	CHECK_EQ(wakers.missing, 3);
	CHECK_EQ(taken.n_wakeups, 1);
	CHECK_EQ(taken.wakeups[0].time_ns, TAKEN_FROM + 1100 * MS);
	CHECK_EQ(taken.wakeups[0].run_ns, 0);
	CHECK_EQ(wakers.pending.n, 0);
	CHECK_EQ(wakers.written, 2);
	close_both();
}

/* What is told of wake-ups may be ahead of what is told of threads. */
TEST(wakers_of_threads_that_are_new)
{
	open_both();
	tell(1010 * MS, 3, TAKEN_PID, 2);
	tell(1010 * MS, 78, TAKEN_PID, 2);
	tell(1010 * MS, 79, TAKEN_PID, 2);
	write_wakeups(false);
	CHECK_EQ(taken.n_wakeups, 0);
	taken_tell_own(&taken, 3, DNP_SWITCH_BEGIN, 1000 * MS);
	taken_tell_own(&taken, 3, DNP_SWITCH_IN, 1020 * MS);
	taken_tell(&taken, 7, 78, DNP_SWITCH_IN, 0, 1020 * MS);
	taken.timeline.told_ns = TAKEN_FROM + 1200 * MS;
	write_wakeups(false);
	CHECK_EQ(taken.n_wakeups, 1);
	CHECK_EQ(taken.wakeups[0].thread, index_of(3));
	CHECK_EQ(taken.wakeups[0].run_ns, TAKEN_FROM + 1020 * MS);
	/* Others' threads are none, and not waited for. */
	CHECK_EQ(wakers.pending.n, 0);
	close_both();
}

TEST(wakers_are_not_to_be_had)
{
	struct dnp_err err = {0};

	refused = -EACCES;
	CHECK_EQ(dnp_wakers_open(&wakers, &err), -EACCES);
	CHECK(strstr(err.text, "refused"));
	dnp_wakers_close(&wakers);
	CHECK_EQ(n_open, 0);
}
