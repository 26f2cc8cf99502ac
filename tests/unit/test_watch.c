/* SPDX-License-Identifier: MIT */
/* What ends the wait of the agent's thread, and what it is told then. */
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "os/clock.h"
#include "os/thread.h"
#include "os/watch.h"

#define LONG_NS UINT64_C(20000000000)

static _Atomic int born; /* number of the thread that was begun last */
static int told;         /* of the one that was told of last */
static uint64_t told_ns;

static void begun(int tid, uint64_t begun_ns)
{
	told = tid;
	told_ns = begun_ns;
}

static void *live(void *context)
{
	atomic_store(&born, dnp_thread_id());
	return context;
}

static void begin_a_thread(void)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, live, NULL), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

static void open_watch(bool at_once)
{
	CHECK_EQ(dnp_watch_open(), 0);
	if (dnp_watch_threads_open(at_once))
		SKIP("the kernel may not be asked to tell of threads here");
}

TEST(threads_that_begin_end_a_wait_where_that_is_asked_for)
{
	uint64_t before_ns;

	open_watch(true);
	before_ns = dnp_now_ns();
	begin_a_thread();
	while (told != atomic_load(&born))
		CHECK_EQ(dnp_watch_wait(before_ns + LONG_NS, begun), DNP_WATCH_CALLED);
	CHECK(told_ns >= before_ns && told_ns <= dnp_now_ns());
	dnp_watch_close();
}

TEST(threads_that_begin_are_told_when_a_wait_ends)
{
	uint64_t before_ns;

	open_watch(false);
	before_ns = dnp_now_ns();
	begin_a_thread();
	CHECK_EQ(dnp_watch_wait(before_ns, begun), DNP_WATCH_CALLED);
	CHECK_EQ(told, atomic_load(&born));
	CHECK(told_ns >= before_ns && told_ns <= dnp_now_ns());
	CHECK_EQ(dnp_watch_wait(before_ns, begun), 0);
	dnp_watch_call();
	CHECK_EQ(dnp_watch_wait(before_ns + LONG_NS, begun), DNP_WATCH_CALLED);
	dnp_watch_close();
}

#define MANY 400

static void *begin_threads_and_call(void *context)
{
	for (int i = 0; i < MANY; i++)
		begin_a_thread();
	dnp_watch_call();
	return context;
}

/* How often this thread has gone to sleep. */
static long sleeps(void)
{
	struct rusage usage;

	CHECK_EQ(getrusage(RUSAGE_THREAD, &usage), 0);
	return usage.ru_nvcsw;
}

/* The kernel wakes who waits for its events at the end of each thread that has inherited them. */
TEST(threads_that_end_wake_nobody)
{
	pthread_t thread;
	long before;

	open_watch(false);
	CHECK_EQ(pthread_create(&thread, NULL, begin_threads_and_call, NULL), 0);
	before = sleeps();
	CHECK_EQ(dnp_watch_wait(dnp_now_ns() + LONG_NS, begun), DNP_WATCH_CALLED);
	CHECK(sleeps() - before < MANY / 10);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	dnp_watch_close();
}

TEST(threads_that_end_are_no_news)
{
	uint64_t before_ns;

	open_watch(true);
	before_ns = dnp_now_ns();
	begin_a_thread();
	while (told != atomic_load(&born))
		CHECK_EQ(dnp_watch_wait(before_ns + LONG_NS, begun), DNP_WATCH_CALLED);
	/* What is left is that it has ended, if that was not told with its begin. */
	CHECK_EQ(dnp_watch_wait(before_ns, begun), 0);
	dnp_watch_close();
}
