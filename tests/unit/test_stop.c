/* SPDX-License-Identifier: MIT */
/* Other threads stopped: running, sleeping, ending, and those that do not come. */
#include "test.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "activation.h"
#include "os/clock.h"
#include "os/thread.h"
#include "os/thread_state.h"

#define MS UINT64_C(1000000)

enum doing { RUNS, SLEEPS, CALLS };

struct target {
	enum doing doing;
	pthread_t thread;
	_Atomic int tid;
	_Atomic bool end;
	_Atomic uint64_t rounds;
	int failed_calls;
};

static void *run(void *arg)
{
	struct target *t = arg;
	struct timespec little = {0, 2000000};

	atomic_store(&t->tid, dnp_thread_id());
	while (!atomic_load_explicit(&t->end, memory_order_relaxed)) {
		atomic_fetch_add_explicit(&t->rounds, 1, memory_order_relaxed);
		if (t->doing == SLEEPS && nanosleep(&little, NULL))
			t->failed_calls++;
		if (t->doing == CALLS)
			syscall(SYS_getppid);
	}
	return NULL;
}

/* Once it has slept: a signal amid a thread's first sleep is lost in the thread sanitizer. */
static void begin_with(struct target *t, enum doing doing, const pthread_attr_t *attributes)
{
	memset(t, 0, sizeof(*t));
	t->doing = doing;
	CHECK_EQ(pthread_create(&t->thread, attributes, run, t), 0);
	while (atomic_load(&t->rounds) < 2)
		sched_yield();
}

static void begin(struct target *t, enum doing doing)
{
	begin_with(t, doing, NULL);
}

static void end(struct target *t)
{
	atomic_store(&t->end, true);
	pthread_join(t->thread, NULL);
}

struct look {
	struct target *target;
	int looks;
	uint64_t moved; /* rounds that it did while it was stopped */
	uintptr_t pc, sp;
};

static void look_at(const void *context, void *arg)
{
	const ucontext_t *registers = context;
	struct look *look = arg;
	uint64_t before = atomic_load(&look->target->rounds), until = dnp_now_ns() + MS / 10;

	while (dnp_now_ns() < until)
		;
	look->looks++;
	look->moved += atomic_load(&look->target->rounds) - before;
	look->pc = (uintptr_t)registers->uc_mcontext.gregs[REG_RIP];
	look->sp = (uintptr_t)registers->uc_mcontext.gregs[REG_RSP];
}

/* The thread sanitizer runs handlers only where a thread calls into a library. */
static bool handlers_come_late(void)
{
#ifdef __SANITIZE_THREAD__
	return true;
#else
	return false;
#endif
}

/* Where somebody else has the processor for long between a thread's stop and its end. */
static bool went_on_by_itself(int result)
{
	return result == -EAGAIN && dnp_stop_last_ns() >= DNP_STOP_CAP_NS;
}

TEST(a_stopped_thread_stands_still)
{
	static struct target targets[6];

	act_as_the_runtime();
	for (int i = 0; i < 6; i++)
		begin(&targets[i], (enum doing)(i % 3));
	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < 6; i++) {
			struct look look = {.target = &targets[i]};
			int result;

			if (handlers_come_late() && targets[i].doing != SLEEPS)
				continue;
			result = dnp_stop_while(targets[i].tid, TEST_HANG_NS, look_at, &look);
			CHECK_EQ(look.looks, 1);
			CHECK(result == 0 || went_on_by_itself(result));
			CHECK(result || !look.moved);
			CHECK(look.pc && look.sp && dnp_stop_last_ns());
		}
	}
	for (int i = 0; i < 6; i++) {
		end(&targets[i]);
		CHECK(targets[i].rounds);
		/* Not one of the sleeps was broken off. */
		CHECK_EQ(targets[i].failed_calls, 0);
	}
}

static void look_until_it_goes_on(const void *context, void *arg)
{
	struct target *target = arg;
	uint64_t before = atomic_load(&target->rounds);

	(void)context;
	while (atomic_load(&target->rounds) == before)
		dnp_sleep_until_ns(dnp_now_ns() + MS);
}

static void look_shortly(const void *context, void *arg)
{
	(void)context;
	++*(int *)arg;
}

TEST(a_thread_does_not_hang_for_us)
{
	static struct target target;
	int looks, result;

	act_as_the_runtime();
	begin(&target, SLEEPS);
	result = dnp_stop_while(target.tid, TEST_HANG_NS, look_until_it_goes_on, &target);
	CHECK(went_on_by_itself(result));
	do {
		looks = 0;
		result = dnp_stop_while(target.tid, TEST_HANG_NS, look_shortly, &looks);
		CHECK_EQ(looks, 1);
	} while (went_on_by_itself(result));
	CHECK_EQ(result, 0);
	end(&target);
}

#define STACK_BYTES (UINT64_C(1) << 20)

struct gone {
	struct target target;
	char *stack;
	uintptr_t pc, sp;
};

/* By then nothing is left of the thread, nor of the stack that its handler was on. */
static void look_when_it_has_gone(const void *context, void *arg)
{
	const ucontext_t *registers = context;
	struct gone *gone = arg;

	end(&gone->target);
	CHECK_EQ(munmap(gone->stack, STACK_BYTES), 0);
	gone->pc = (uintptr_t)registers->uc_mcontext.gregs[REG_RIP];
	gone->sp = (uintptr_t)registers->uc_mcontext.gregs[REG_RSP];
}

/* It goes on by itself where whoever stopped it has no processor for long, and may end then. */
TEST(registers_of_a_thread_outlive_it)
{
	static struct gone gone;
	pthread_attr_t attributes;

	act_as_the_runtime();
	gone.stack =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(gone.stack != MAP_FAILED);
	CHECK_EQ(pthread_attr_init(&attributes), 0);
	CHECK_EQ(pthread_attr_setstack(&attributes, gone.stack, STACK_BYTES), 0);
	begin_with(&gone.target, SLEEPS, &attributes);
	CHECK_EQ(dnp_stop_while(gone.target.tid, TEST_HANG_NS, look_when_it_has_gone, &gone),
		-EAGAIN);
	CHECK(gone.pc);
	CHECK(gone.sp - (uintptr_t)gone.stack < STACK_BYTES);
	pthread_attr_destroy(&attributes);
}

/* ---- Threads that do not come */

static struct {
	_Atomic int tid;
	_Atomic int unblock, unblocked; /* rounds */
	_Atomic long waits;             /* of the thread, while it took the signals of a round */
	_Atomic bool end;
} blocking;

/* The kernel's set, not the library's. */
static void block(bool yes)
{
	uint64_t set = UINT64_C(1) << (dnp_signal_number() - 1);

	syscall(SYS_rt_sigprocmask, yes ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL, sizeof(set));
}

static long count_waits(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

static void *run_blocking(void *arg)
{
	long before;

	(void)arg;
	block(true);
	atomic_store(&blocking.tid, dnp_thread_id());
	while (!atomic_load(&blocking.end)) {
		if (atomic_load(&blocking.unblock) > atomic_load(&blocking.unblocked)) {
			before = count_waits();
			block(false);
			block(true);
			atomic_store(&blocking.waits, count_waits() - before);
			atomic_fetch_add(&blocking.unblocked, 1);
		}
		usleep(100);
	}
	return NULL;
}

TEST(a_thread_that_comes_too_late_is_not_stopped)
{
	long fewest = LONG_MAX;
	pthread_t thread;
	int looks = 0;

	act_as_the_runtime();
	CHECK_EQ(pthread_create(&thread, NULL, run_blocking, NULL), 0);
	while (!atomic_load(&blocking.tid))
		usleep(100);
	for (int i = 1; i <= 5; i++) {
		for (int k = 0; k < 3; k++)
			CHECK_EQ(dnp_stop_while(blocking.tid, 5 * MS, look_shortly, &looks),
				-ETIMEDOUT);
		atomic_store(&blocking.unblock, i);
		while (atomic_load(&blocking.unblocked) < i)
			usleep(100);
		if (atomic_load(&blocking.waits) < fewest)
			fewest = atomic_load(&blocking.waits);
	}
	CHECK_EQ(looks, 0);
	/* It would have slept for each; the best of five, for the system may want it to for a page.
	 */
	CHECK_EQ(fewest, 0);
	atomic_store(&blocking.end, true);
	pthread_join(thread, NULL);
}

TEST(a_late_signal_does_for_the_stop_that_is_wanted_then)
{
	pthread_t thread;
	int looks = 0;

	act_as_the_runtime();
	if (handlers_come_late())
		SKIP("the thread sanitizer keeps one signal of a kind only");
	CHECK_EQ(pthread_create(&thread, NULL, run_blocking, NULL), 0);
	while (!atomic_load(&blocking.tid))
		usleep(100);
	CHECK_EQ(dnp_stop_while(blocking.tid, MS, look_shortly, &looks), -ETIMEDOUT);
	atomic_store(&blocking.unblock, 1);
	while (dnp_stop_while(blocking.tid, MS, look_shortly, &looks) == -ETIMEDOUT)
		atomic_fetch_add(&blocking.unblock, 1);
	CHECK_EQ(looks, 1);
	atomic_store(&blocking.end, true);
	pthread_join(thread, NULL);
}

static _Atomic int polls_tid;

static void *poll_for_ever(void *arg)
{
	atomic_store(&polls_tid, dnp_thread_id());
	poll(NULL, 0, -1);
	return arg;
}

static void cancel(const void *context, void *arg)
{
	(void)context;
	CHECK_EQ(pthread_cancel(*(pthread_t *)arg), 0);
}

/* Not amid our handler, nor never. */
TEST(a_thread_that_is_cancelled_while_it_is_stopped_ends_afterwards)
{
	struct dnp_thread_state state = {0};
	pthread_t thread;

	act_as_the_runtime();
	if (handlers_come_late())
		SKIP("the thread sanitizer keeps one signal of a kind only");
	for (int i = 0; i < 20; i++) {
		atomic_store(&polls_tid, 0);
		CHECK_EQ(pthread_create(&thread, NULL, poll_for_ever, NULL), 0);
		while (!atomic_load(&polls_tid) || dnp_thread_state(polls_tid, &state) ||
			!state.asleep || state.syscall != SYS_poll)
			usleep(100);
		CHECK_EQ(dnp_stop_while(polls_tid, TEST_HANG_NS, cancel, &thread), 0);
		pthread_join(thread, NULL);
	}
	CHECK_EQ(dnp_stop_close(), 0);
	CHECK(dnp_signal_left(TEST_HANG_NS));
}

static void *run_not(void *arg)
{
	atomic_store((_Atomic int *)arg, dnp_thread_id());
	return NULL;
}

TEST(threads_that_are_not_there)
{
	_Atomic int tid = 0;
	pthread_t thread;
	int looks = 0;

	act_as_the_runtime();
	CHECK_EQ(dnp_stop_while(dnp_thread_id(), MS, look_shortly, &looks), -EDEADLK);
	CHECK_EQ(dnp_stop_while(1, MS, look_shortly, &looks), -ESRCH); /* another process's */
	CHECK_EQ(pthread_create(&thread, NULL, run_not, &tid), 0);
	pthread_join(thread, NULL);
	while (dnp_thread_exists(tid))
		usleep(100);
	CHECK_EQ(dnp_stop_while(tid, MS, look_shortly, &looks), -ESRCH);
	CHECK_EQ(looks, 0);
}

/* ---- Threads that come and go */

static _Atomic bool churning;
static _Atomic int newest;

static void *run_shortly(void *arg)
{
	int tid = dnp_thread_id();

	(void)arg;
	atomic_store(&newest, tid);
	for (int i = 0; i < 100 << tid % 8; i++) /* up to some milliseconds */
		syscall(SYS_getppid);
	return NULL;
}

static void *churn(void *arg)
{
	pthread_t thread;

	while (atomic_load(&churning)) {
		if (!pthread_create(&thread, NULL, run_shortly, NULL))
			pthread_join(thread, NULL);
	}
	return arg;
}

TEST(threads_may_end_at_any_moment)
{
	uint64_t deadline = dnp_now_ns() + TEST_HANG_NS;
	int looks = 0, stopped = 0, ended = 0, least = handlers_come_late() ? 0 : 20;
	pthread_t threads[2];

	act_as_the_runtime();
	atomic_store(&churning, true);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, churn, NULL), 0);
	for (int i = 0; i < 3000 || stopped < least || ended < 20; i++) {
		int tid = atomic_load(&newest);
		int result = tid ? dnp_stop_while(tid, 20 * MS, look_shortly, &looks) : -EAGAIN;

		CHECK(result == 0 || result == -ESRCH || result == -ETIMEDOUT || result == -EAGAIN);
		stopped += !result;
		ended += result == -ESRCH;
		CHECK(dnp_now_ns() < deadline);
	}
	CHECK(looks >= stopped);
	printf("# %d of them stopped, %d had ended\n", stopped, ended);
	atomic_store(&churning, false);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

/* ---- What threads do */

TEST(the_system_tells_who_sleeps_and_where)
{
	static struct target sleeping, running;
	uint64_t deadline = dnp_now_ns() + TEST_HANG_NS;
	struct dnp_thread_state state;
	bool slept = false, ran = false;

	begin(&sleeping, SLEEPS);
	begin(&running, RUNS);
	while ((!slept || !ran) && dnp_now_ns() < deadline) {
		CHECK_EQ(dnp_thread_state(sleeping.tid, &state), 0);
		if (state.asleep && state.syscall == SYS_clock_nanosleep) {
			CHECK(state.sp && state.pc);
			slept = true;
		}
		CHECK_EQ(dnp_thread_state(running.tid, &state), 0);
		ran |= !state.asleep;
	}
	CHECK(slept && ran);
	end(&sleeping);
	end(&running);
	while (dnp_thread_exists(running.tid))
		usleep(100);
	CHECK_EQ(dnp_thread_state(running.tid, &state), -ESRCH);
}

static struct target kept;

/* A thread that is kept sleeps, or is about to; it went on if it does not for so long. */
static void look_how_it_is_kept(const void *context, void *arg)
{
	uint64_t deadline = dnp_now_ns() + 20 * MS;
	struct dnp_thread_state *state = arg;

	(void)context;
	do
		CHECK_EQ(dnp_thread_state(kept.tid, state), 0);
	while (!dnp_stop_keeps(state) && dnp_now_ns() < deadline);
}

/* Also where the whole process was stopped meanwhile. */
TEST(a_thread_that_is_kept_is_known)
{
	struct dnp_thread_state state = {0};

	act_as_the_runtime();
	begin(&kept, SLEEPS);
	while (!dnp_stop_keeps(&state))
		dnp_stop_while(kept.tid, TEST_HANG_NS, look_how_it_is_kept, &state);
	CHECK_EQ(state.syscall, SYS_futex);
	state.syscall = SYS_restart_syscall;
	CHECK(dnp_stop_keeps(&state));
	state.argument[0]++;
	CHECK(!dnp_stop_keeps(&state));
	end(&kept);
}
