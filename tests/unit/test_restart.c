/* SPDX-License-Identifier: MIT */
/* Calls that sleep, and the runtime's own signal on its way through our handler. */
#include "test.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/sampling_signal.h"
#include "os/thread.h"
#include "os/thread_state.h"

#define WAIT_MS 300

static _Atomic int activations;

static void on_activation(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	(void)context;
	atomic_fetch_add(&activations, 1);
}

static int on_none(const siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	return 0;
}

/* ---- Calls: 0 when they have waited, -1 with errno */

static int call_nanosleep(void)
{
	return nanosleep(&(struct timespec){.tv_nsec = WAIT_MS * 1000000}, NULL);
}

static int call_poll(void)
{
	return poll(NULL, 0, WAIT_MS);
}

static int call_epoll(void)
{
	int fd = epoll_create1(EPOLL_CLOEXEC), result, error;
	struct epoll_event event;

	result = epoll_wait(fd, &event, 1, WAIT_MS);
	error = errno;
	close(fd);
	errno = error;
	return result;
}

__attribute__((unused)) static int call_select(void)
{
	return select(0, NULL, NULL, NULL, &(struct timeval){.tv_usec = WAIT_MS * 1000});
}

static int call_sem(void)
{
	struct timespec until;
	sem_t sem;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += WAIT_MS * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	sem_init(&sem, 0, 0);
	return sem_timedwait(&sem, &until) && errno == ETIMEDOUT ? 0 : -1;
}

static const struct {
	const char *name;
	int (*call)(void);
} calls[] = {
	{"nanosleep", call_nanosleep},
	{"poll", call_poll},
	{"epoll_wait", call_epoll},
#ifndef __SANITIZE_THREAD__ /* does not know it: the handler runs too late */
	{"select", call_select},
#endif
	{"sem_timedwait", call_sem},
};

/* ---- A thread in one of them */

static struct {
	int (*call)(void);
	_Atomic int tid, result;
} caller;

static void *run(void *context)
{
	(void)context;
	atomic_store(&caller.tid, dnp_thread_id());
	atomic_store(&caller.result, caller.call() ? -errno : 0);
	return NULL;
}

static bool sleeps(int tid)
{
	struct dnp_thread_state state;

	return !dnp_thread_state(tid, &state) && state.asleep && state.syscall >= 0;
}

/* As the runtime does. */
static int send_from_within(int tid)
{
	return (int)syscall(SYS_tgkill, getpid(), tid, dnp_signal_number());
}

static int send_otherwise(int tid)
{
	siginfo_t info = {.si_code = SI_QUEUE};

	info.si_pid = getpid();
	return (int)syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, dnp_signal_number(), &info);
}

/* The result of a call during which the signal came once. */
static int interrupted(int (*call)(void), int (*send)(int tid))
{
	int before = atomic_load(&activations);
	pthread_t thread;

	atomic_store(&caller.tid, 0);
	caller.call = call;
	CHECK(pthread_create(&thread, NULL, run, NULL) == 0);
	while (!atomic_load(&caller.tid) || !sleeps(atomic_load(&caller.tid)))
		sched_yield();
	CHECK(send(atomic_load(&caller.tid)) == 0);
	pthread_join(thread, NULL);
	CHECK_EQ(atomic_load(&activations), before + 1);
	return atomic_load(&caller.result);
}

static void act_as_the_runtime(void)
{
	struct sigaction runtime = {
		.sa_sigaction = on_activation, .sa_flags = SA_SIGINFO | SA_RESTART};

	signal(SIGSEGV, SIG_DFL);
	CHECK(sigaction(dnp_signal_number(), &runtime, NULL) == 0);
}

static void share(void)
{
	struct dnp_err err;

	if (dnp_signal_share(on_none, &err))
		FAIL("%s", err.text);
}

TEST(calls_that_the_runtime_interrupts_start_again)
{
	act_as_the_runtime();
	for (size_t i = 0; i < DNP_ARRAY_SIZE(calls); i++)
		if (calls[i].call != call_sem) /* the C library itself makes that one again */
			CHECK_EQ(interrupted(calls[i].call, send_from_within), -EINTR);
	share();
	for (size_t i = 0; i < DNP_ARRAY_SIZE(calls); i++) {
		int result = interrupted(calls[i].call, send_from_within);

		if (result)
			FAIL("%s: %s", calls[i].name, strerror(-result));
	}
	CHECK_EQ(dnp_signal_unshare(on_none), 0);
}

TEST(calls_that_others_interrupt_end)
{
	act_as_the_runtime();
	share();
	CHECK_EQ(interrupted(call_poll, send_otherwise), -EINTR);
	CHECK_EQ(dnp_signal_unshare(on_none), 0);
}
