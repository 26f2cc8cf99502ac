/* SPDX-License-Identifier: MIT */
/* The sampling signal given back, and threads seen to have left its handler. */
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/sampling_signal.h"
#include "os/thread.h"

#define MS      UINT64_C(1000000)
#define THREADS 8

static _Atomic bool hold; /* the runtime's handler sleeps that long */
static _Atomic int held, samples, activations;

/* As the runtime's own: it has the thread wait for the end of a collection. */
static void on_activation(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	(void)context;
	atomic_fetch_add(&activations, 1);
	atomic_fetch_add(&held, 1);
	while (atomic_load(&hold))
		dnp_sleep_until_ns(dnp_now_ns() + MS);
	atomic_fetch_sub(&held, 1);
}

static void act_as_the_runtime(void)
{
	struct sigaction runtime = {
		.sa_sigaction = on_activation, .sa_flags = SA_SIGINFO | SA_RESTART};

	signal(SIGSEGV, SIG_DFL);
	CHECK(sigaction(dnp_signal_number(), &runtime, NULL) == 0);
}

static int on_sample(const struct dnp_signal_info *info, void *context)
{
	(void)context;
	if (!dnp_signal_is_sent(info, DNP_SIGNAL_STOP))
		return 0;
	atomic_fetch_add(&samples, 1);
	return 1;
}

static int on_other(const struct dnp_signal_info *info, void *context)
{
	(void)context;
	return dnp_signal_is_sent(info, DNP_SIGNAL_TRAP);
}

static void share(dnp_signal_handler handler)
{
	struct dnp_err err;

	if (dnp_signal_share(handler, &err))
		FAIL("%s", err.text);
}

static bool is_back(void)
{
	struct sigaction now;

	CHECK(sigaction(dnp_signal_number(), NULL, &now) == 0);
	return now.sa_sigaction == on_activation;
}

/* ---- Threads of the program */

static _Atomic bool end;
static pthread_t threads[THREADS];
static _Atomic int tids[THREADS];

static void *spin(void *context)
{
	atomic_store((_Atomic int *)context, dnp_thread_id());
	while (!atomic_load_explicit(&end, memory_order_relaxed))
		;
	return NULL;
}

static void *doze(void *context)
{
	struct timespec little = {0, 100000};

	atomic_store((_Atomic int *)context, dnp_thread_id());
	while (!atomic_load(&end))
		nanosleep(&little, NULL);
	return NULL;
}

static void *blocked(void *context, void *(*run)(void *))
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	return run(context);
}

static void *spin_blocked(void *context)
{
	return blocked(context, spin);
}

static void *doze_blocked(void *context)
{
	return blocked(context, doze);
}

static void begin_threads(void *(*const run[])(void *), unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		CHECK(pthread_create(&threads[i], NULL, run[i], &tids[i]) == 0);
		while (!atomic_load(&tids[i]))
			sched_yield();
	}
}

static void end_threads(unsigned n)
{
	atomic_store(&end, true);
	for (unsigned i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

/* ---- */

TEST(signal_is_given_back_by_the_last_who_shares_it)
{
	act_as_the_runtime();
	share(on_sample);
	share(on_other);
	share(on_sample);
	CHECK(!is_back());
	CHECK_EQ(dnp_signal_unshare(on_sample), 0);
	CHECK(!is_back());
	CHECK(!dnp_signal_left(0));
	CHECK_EQ(dnp_signal_unshare(on_other), 0);
	CHECK(is_back());
	CHECK(dnp_signal_left(TEST_HANG_NS));
}

TEST(signal_is_shared_and_given_back_many_times)
{
	act_as_the_runtime();
	for (int i = 1; i <= 200; i++) {
		share(on_sample);
		CHECK_EQ(dnp_signal_send(dnp_thread_id(), DNP_SIGNAL_STOP), 0);
		CHECK_EQ(samples, i);
		CHECK_EQ(dnp_signal_unshare(on_sample), 0);
		CHECK_EQ(dnp_signal_send(dnp_thread_id(), DNP_SIGNAL_STOP), -ENOTSUP);
		CHECK(dnp_signal_left(TEST_HANG_NS));
	}
	CHECK_EQ(activations, 0);
}

/* As the same code sends it that is in the process a second time, in another profiler. */
static void send_as_another(enum dnp_signal_kind kind)
{
	siginfo_t info = {.si_code = SI_QUEUE, .si_errno = (int)kind};

	info.si_value.sival_ptr = &info;
	CHECK_EQ(syscall(SYS_rt_tgsigqueueinfo, getpid(), dnp_thread_id(), dnp_signal_number(),
			 &info),
		0);
}

TEST(signal_of_another_that_has_the_same_code_is_passed_on)
{
	act_as_the_runtime();
	share(on_sample);
	send_as_another(DNP_SIGNAL_STOP);
	CHECK_EQ(activations, 1);
	send_as_another(DNP_SIGNAL_LET_TRAPS);
	CHECK_EQ(activations, 2);
	CHECK_EQ(samples, 0);
	CHECK_EQ(dnp_signal_unshare(on_sample), 0);
}

TEST(threads_that_run_sleep_or_block_the_signal_are_seen_to_be_outside)
{
	static void *(*const run[])(void *) = {
		spin, doze, spin_blocked, doze_blocked, spin, doze, spin_blocked, doze_blocked};

	act_as_the_runtime();
	begin_threads(run, THREADS);
	for (int i = 0; i < 5; i++) {
		share(on_sample);
		CHECK_EQ(dnp_signal_unshare(on_sample), 0);
		CHECK(dnp_signal_left(TEST_HANG_NS));
	}
	end_threads(THREADS);
}

TEST(thread_in_the_runtimes_handler_is_waited_for)
{
	static void *(*const run[])(void *) = {spin};

	act_as_the_runtime();
	begin_threads(run, 1);
	share(on_sample);
	atomic_store(&hold, true);
	CHECK(syscall(SYS_tgkill, getpid(), atomic_load(&tids[0]), dnp_signal_number()) == 0);
	while (!atomic_load(&held))
		dnp_sleep_until_ns(dnp_now_ns() + MS);
	CHECK_EQ(dnp_signal_unshare(on_sample), 0);
	CHECK(!dnp_signal_left(200 * MS)); /* it will return into our handler */
	atomic_store(&hold, false);
	CHECK(dnp_signal_left(TEST_HANG_NS));
	CHECK_EQ(activations, 1);
	end_threads(1);
}

/* Then its own comes straight to it: no frame of ours is on that stack. */
TEST(thread_in_the_runtimes_handler_alone_is_not_waited_for)
{
	static void *(*const run[])(void *) = {spin};

	act_as_the_runtime();
	begin_threads(run, 1);
	share(on_sample);
	CHECK_EQ(dnp_signal_unshare(on_sample), 0);
	atomic_store(&hold, true);
	CHECK(syscall(SYS_tgkill, getpid(), atomic_load(&tids[0]), dnp_signal_number()) == 0);
	while (!atomic_load(&held))
		dnp_sleep_until_ns(dnp_now_ns() + MS);
	CHECK(dnp_signal_left(TEST_HANG_NS));
	CHECK(atomic_load(&held));
	atomic_store(&hold, false);
	end_threads(1);
}

static struct sigaction over;

static void on_top(int signo, siginfo_t *info, void *context)
{
	over.sa_sigaction(signo, info, context);
}

TEST(handler_that_somebody_put_over_ours_keeps_it)
{
	struct sigaction top = {.sa_sigaction = on_top, .sa_flags = SA_SIGINFO};

	act_as_the_runtime();
	share(on_sample);
	CHECK(sigaction(dnp_signal_number(), &top, &over) == 0);
	CHECK_EQ(dnp_signal_unshare(on_sample), -EBUSY);
	CHECK(!dnp_signal_left(10 * MS));
	/* What it gets, the runtime's handler gets. */
	CHECK(syscall(SYS_tgkill, getpid(), dnp_thread_id(), dnp_signal_number()) == 0);
	CHECK_EQ(activations, 1);
	/* It may be shared again, and when the other is gone, given back. */
	share(on_other);
	CHECK_EQ(dnp_signal_unshare(on_other), -EBUSY);
	CHECK(sigaction(dnp_signal_number(), &over, NULL) == 0);
	CHECK(dnp_signal_left(TEST_HANG_NS));
	CHECK(is_back());
}

/* Who puts a handler over ours passes on what is not his: the runtime needs it. */
TEST(signal_is_sent_past_a_handler_that_came_later)
{
	struct sigaction top = {.sa_sigaction = on_top, .sa_flags = SA_SIGINFO};

	act_as_the_runtime();
	share(on_sample);
	CHECK_EQ(sigaction(dnp_signal_number(), &top, &over), 0);
	CHECK_EQ(dnp_signal_send(dnp_thread_id(), DNP_SIGNAL_STOP), 0);
	CHECK_EQ(samples, 1);
	signal(dnp_signal_number(), SIG_DFL);
	CHECK_EQ(dnp_signal_send(dnp_thread_id(), DNP_SIGNAL_STOP), -ENOTSUP);
	signal(dnp_signal_number(), SIG_IGN);
	CHECK_EQ(dnp_signal_send(dnp_thread_id(), DNP_SIGNAL_STOP), -ENOTSUP);
	CHECK_EQ(samples, 1);
}

/* CoreCLR 8 takes its handlers away when it aborts. */
TEST(handler_that_was_taken_away_is_not_put_back)
{
	struct sigaction now;

	act_as_the_runtime();
	share(on_sample);
	signal(dnp_signal_number(), SIG_DFL);
	CHECK_EQ(dnp_signal_unshare(on_sample), 0);
	CHECK(sigaction(dnp_signal_number(), NULL, &now) == 0);
	CHECK(now.sa_handler == SIG_DFL);
	CHECK(dnp_signal_left(TEST_HANG_NS));
}
