/* SPDX-License-Identifier: MIT */
/* Forks, and a thread of ours that is at something meanwhile. */
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/forks.h"

#define MS          UINT64_C(1000000)
#define PATIENCE_NS (1000 * MS) /* of a fork, and of what would begin: nothing is shown then */

static _Atomic bool half_done, over;
static _Atomic int children;

static void pause_ms(uint64_t ms)
{
	dnp_sleep_until_ns(dnp_now_ns() + ms * MS);
}

static void in_child(void)
{
	atomic_fetch_add(&children, 1);
}

/* What a child says that is forked now. */
static int fork_and_ask(int (*answer)(void))
{
	pid_t child = fork();
	int status;

	if (!child)
		test_end_child(answer());
	CHECK(child > 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void start(pthread_t *thread, void *(*run)(void *))
{
	CHECK(!pthread_create(thread, NULL, run, NULL));
}

static void *do_something(void *context)
{
	(void)context;
	dnp_forks_hold();
	atomic_store(&half_done, true);
	pause_ms(100);
	atomic_store(&half_done, false);
	dnp_forks_release();
	return NULL;
}

static int is_half_done(void)
{
	return atomic_load(&half_done);
}

TEST(a_fork_waits_for_what_is_half_done)
{
	uint64_t took_ns;
	pthread_t thread;
	int answer;

	CHECK_EQ(dnp_forks_watch(in_child), 0);
	do {
		uint64_t begin_ns = dnp_now_ns();

		start(&thread, do_something);
		while (!atomic_load(&half_done))
			pause_ms(1);
		answer = fork_and_ask(is_half_done);
		CHECK(!pthread_join(thread, NULL));
		took_ns = dnp_now_ns() - begin_ns;
	} while (answer && took_ns >= PATIENCE_NS);
	CHECK_EQ(answer, 0);
}

static int times_told(void)
{
	return atomic_load(&children);
}

TEST(the_child_is_told_and_nobody_else)
{
	CHECK_EQ(dnp_forks_watch(in_child), 0);
	CHECK_EQ(dnp_forks_watch(in_child), 0);
	CHECK_EQ(fork_and_ask(times_told), 1);
	CHECK_EQ(times_told(), 0);
}

static pthread_t beginner;
static bool began_early;

static void *begin_something(void *context)
{
	(void)context;
	dnp_forks_hold();
	atomic_store(&half_done, true);
	dnp_forks_release();
	return NULL;
}

/* Comes after what was asked for later: the fork has begun, the child is not there yet. */
static void amid_fork(void)
{
	uint64_t begin_ns = dnp_now_ns();

	start(&beginner, begin_something);
	pause_ms(100);
	began_early = atomic_load(&half_done);
	CHECK(!began_early || dnp_now_ns() - begin_ns >= PATIENCE_NS);
}

TEST(nothing_begins_while_the_program_forks)
{
	CHECK(!pthread_atfork(amid_fork, NULL, NULL));
	CHECK_EQ(dnp_forks_watch(in_child), 0);
	CHECK_EQ(fork_and_ask(is_half_done), began_early);
	CHECK(!pthread_join(beginner, NULL));
	CHECK(atomic_load(&half_done));
	CHECK(dnp_forks_over());
}

static void *do_it_until_told(void *context)
{
	(void)context;
	dnp_forks_hold();
	atomic_store(&half_done, true);
	while (!atomic_load(&over))
		pause_ms(1);
	dnp_forks_release();
	return NULL;
}

static int goes_on(void)
{
	dnp_forks_hold();
	dnp_forks_release();
	return 7;
}

/* The one that forks may have what the other waits for. */
TEST(a_fork_does_not_wait_for_ever)
{
	pthread_t thread;

	CHECK_EQ(dnp_forks_watch(in_child), 0);
	start(&thread, do_it_until_told);
	while (!atomic_load(&half_done))
		pause_ms(1);
	CHECK_EQ(fork_and_ask(goes_on), 7);
	CHECK(!atomic_load(&over));
	atomic_store(&over, true);
	CHECK(!pthread_join(thread, NULL));
	CHECK_EQ(fork_and_ask(goes_on), 7);
}

static _Atomic uint64_t holds;

static void *hold_again_and_again(void *context)
{
	(void)context;
	while (!atomic_load(&over)) {
		dnp_forks_hold();
		atomic_store(&half_done, true);
		atomic_fetch_add(&holds, 1);
		atomic_store(&half_done, false);
		dnp_forks_release();
	}
	return NULL;
}

TEST(many_forks_see_nothing_half_done)
{
	pthread_t thread;

	CHECK_EQ(dnp_forks_watch(in_child), 0);
	start(&thread, hold_again_and_again);
	for (int i = 0; i < 200; i++) {
		uint64_t before = atomic_load(&holds), begin_ns = dnp_now_ns();
		bool saw = fork_and_ask(is_half_done);

		CHECK(!saw || dnp_now_ns() - begin_ns >= PATIENCE_NS);
		while (atomic_load(&holds) == before)
			pause_ms(1);
	}
	atomic_store(&over, true);
	CHECK(!pthread_join(thread, NULL));
}
