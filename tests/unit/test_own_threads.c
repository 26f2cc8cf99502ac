/* SPDX-License-Identifier: MIT */
/* What threads of our own have used: while they are, when they are over, and once they were joined.
 */
#include "test.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/thread.h"

#define MS      UINT64_C(1000000)
#define BURN_NS (20 * MS)

static _Atomic bool burnt, let_end;
static _Atomic uint64_t own_ns; /* by the thread's own clock, at its end */

static void *burn(void *context)
{
	int tid = dnp_thread_id();

	(void)context;
	while (dnp_thread_cpu_ns(tid) < BURN_NS)
		;
	atomic_store(&burnt, true);
	while (!atomic_load(&let_end))
		dnp_sleep_until_ns(dnp_now_ns() + MS);
	atomic_store(&own_ns, dnp_thread_cpu_ns(tid));
	return NULL;
}

/* Starts one, and has it end. Returns what it used at least. */
static uint64_t run_one(uint64_t before_ns)
{
	struct dnp_own_thread thread;

	atomic_store(&burnt, false);
	atomic_store(&let_end, false);
	CHECK_EQ(dnp_own_thread_start(&thread, burn, NULL), 0);
	while (!atomic_load(&burnt))
		dnp_sleep_until_ns(dnp_now_ns() + MS);
	CHECK(dnp_own_threads_cpu_ns() >= before_ns + BURN_NS);
	atomic_store(&let_end, true);
	dnp_own_thread_join(&thread);
	return atomic_load(&own_ns);
}

static uint64_t process_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec;
}

TEST(what_own_threads_used_stays_known)
{
	int self = dnp_thread_id();
	uint64_t first_ns = dnp_own_threads_cpu_ns(), sum_ns = first_ns;
	uint64_t process_ns = process_cpu_ns(), mine_ns = dnp_thread_cpu_ns(self);

	for (int i = 0; i < 20; i++) {
		sum_ns += run_one(sum_ns);
		CHECK(dnp_own_threads_cpu_ns() >= sum_ns);
	}
	/* There are these threads in the process, and the one that tests. */
	mine_ns = dnp_thread_cpu_ns(self) - mine_ns;
	sum_ns = dnp_own_threads_cpu_ns() - first_ns;
	CHECK(sum_ns <= process_cpu_ns() - process_ns - mine_ns);
}

static void *nothing(void *context)
{
	return context;
}

/* Whoever lists the process's threads then does not find it. */
TEST(own_thread_that_was_joined_has_gone)
{
	int there = 0;

	for (int i = 0; i < TEST_ROUNDS(10000); i++) {
		struct dnp_own_thread thread;
		int tid;

		CHECK_EQ(dnp_own_thread_start(&thread, nothing, NULL), 0);
		tid = thread.tid;
		dnp_own_thread_join(&thread);
		there += dnp_thread_exists(tid);
	}
	CHECK_EQ(there, 0);
}

/* What is told of it later is not taken for another's, nor of another one with its number. */
TEST(own_thread_that_was_joined_is_known)
{
	uint64_t before_ns = dnp_now_ns(), after_ns;
	struct dnp_own_thread thread;
	int tid;

	CHECK_EQ(dnp_own_thread_start(&thread, nothing, NULL), 0);
	tid = thread.tid;
	CHECK(dnp_thread_was_own(tid, before_ns, 0));
	dnp_own_thread_join(&thread);
	after_ns = dnp_now_ns();
	CHECK(!dnp_thread_is_own(tid));
	CHECK(dnp_thread_was_own(tid, before_ns, after_ns));
	CHECK(dnp_thread_was_own(tid, before_ns, 0));
	CHECK(!dnp_thread_was_own(tid, after_ns + 1, 0));
	CHECK(!dnp_thread_was_own(tid, before_ns - 2, before_ns - 1));
	CHECK(!dnp_thread_was_own(dnp_thread_id(), before_ns, 0));
	CHECK(!dnp_thread_was_own(0, before_ns, 0));
}

static void *rest(void *context)
{
	(void)context;
	while (!atomic_load(&let_end))
		dnp_sleep_until_ns(dnp_now_ns() + MS);
	return NULL;
}

/* The C library has every thread take part in that, by a signal, and waits for all. */
TEST(program_changes_who_it_is_beside_own_threads)
{
	struct dnp_own_thread thread;

	atomic_store(&let_end, false);
	CHECK_EQ(dnp_own_thread_start(&thread, rest, NULL), 0);
	for (int i = 0; i < 100; i++)
		CHECK_EQ(setresuid((uid_t)-1, (uid_t)-1, (uid_t)-1), 0);
	atomic_store(&let_end, true);
	dnp_own_thread_join(&thread);
}
