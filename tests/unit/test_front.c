/* SPDX-License-Identifier: MIT */
/* A handler that comes before another, and goes again, while its signal comes all the time. */
#include "test.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/linux/front.h"
#include "os/thread.h"

#define SIGNAL SIGUSR1

static void on_front(int signo, siginfo_t *info, void *context);

static struct dnp_front front = {.signo = SIGNAL, .handler = on_front};

static _Atomic int receiver;   /* its thread id */
static _Atomic long came, ran; /* to the one that was there, and to the front */
static _Atomic bool end;

static void on_previous(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	(void)context;
	atomic_fetch_add_explicit(&came, 1, memory_order_relaxed);
}

/* As those of src/os/linux. */
static void on_front(int signo, siginfo_t *info, void *context)
{
	atomic_fetch_add_explicit(&front.inside, 1, memory_order_acquire);
	front.previous.sa_sigaction(signo, info, context);
	atomic_fetch_add_explicit(&ran, 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(&front.inside, 1, memory_order_release);
}

/* The thread sanitizer keeps a signal for a thread until that comes to a call. */
static void *receive(void *nothing)
{
	(void)nothing;
	atomic_store(&receiver, dnp_thread_id());
	while (!atomic_load(&end))
		usleep(1);
	return NULL;
}

static void *send(void *nothing)
{
	(void)nothing;
	while (!atomic_load(&end))
		syscall(SYS_tgkill, getpid(), atomic_load(&receiver), SIGNAL);
	return NULL;
}

static void wait_for_one_more(const _Atomic long *counter)
{
	long before = atomic_load(counter);

	while (atomic_load(counter) == before)
		usleep(10);
}

/* What it reads was written before it was installed, also for who is in it at that very moment. */
TEST(front_is_whole_once_it_is_there)
{
	struct sigaction previous = {.sa_sigaction = on_previous, .sa_flags = SA_SIGINFO}, now;
	pthread_t receiving, sending;

	CHECK(sigaction(SIGNAL, &previous, NULL) == 0);
	CHECK(pthread_create(&receiving, NULL, receive, NULL) == 0);
	while (!atomic_load(&receiver))
		usleep(10);
	CHECK(pthread_create(&sending, NULL, send, NULL) == 0);
	wait_for_one_more(&came);
	for (int i = 0; i < 1000; i++) {
		front.previous = (struct sigaction){0};
		CHECK(sigaction(SIGNAL, NULL, &now) == 0);
		CHECK_EQ(dnp_front_install(&front, &now, SA_SIGINFO, false), 0);
		wait_for_one_more(&ran);
		CHECK(dnp_front_left(&front, dnp_now_ns() + TEST_HANG_NS));
		wait_for_one_more(&came);
	}
	atomic_store(&end, true);
	pthread_join(sending, NULL);
	pthread_join(receiving, NULL);
	CHECK_EQ(atomic_load(&front.inside), 0);
}
