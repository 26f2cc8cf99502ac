/* SPDX-License-Identifier: MIT */
/* What ends the wait of the agent's thread, and what it is told then. */
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/fds.h"
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

#define SHORT_NS UINT64_C(5000000)
#define WORDS    "sixteen bytes of"

/* As if no descriptor were to be had. */
static int open_without_descriptors(void)
{
	struct rlimit before, limit;
	int first_free = dup(0), failed;

	CHECK(first_free >= 0 && !close(first_free));
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = before;
	limit.rlim_cur = (rlim_t)first_free;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	failed = dnp_watch_open();
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
	return failed;
}

/* What the program has as its input is not looked at, nor read. */
TEST(without_a_descriptor_only_time_ends_a_wait)
{
	uint64_t until_ns;
	int ends[2], unread;

	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(write(ends[1], WORDS, strlen(WORDS)), (int)strlen(WORDS));
	CHECK_EQ(dup2(ends[0], 0), 0);
	close(ends[0]);
	close(ends[1]);
	CHECK_EQ(open_without_descriptors(), -EMFILE);
	CHECK(dnp_watch_add(0));
	until_ns = dnp_now_ns() + SHORT_NS;
	CHECK_EQ(dnp_watch_wait(until_ns, begun), 0);
	CHECK(dnp_now_ns() >= until_ns);
	CHECK_EQ(dnp_watch_wait(UINT64_MAX, NULL), 0);
	CHECK_EQ(ioctl(0, FIONREAD, &unread), 0);
	CHECK_EQ(unread, (int)strlen(WORDS));
	CHECK(dnp_watch_threads_open(false));
}

/* What one that is moved up (os/fds.h) will have. */
static int next_descriptor(void)
{
	int next = dnp_fd_move_up(dup(0));

	CHECK(next >= 0 && !close(next));
	return next;
}

/* A file of the program's that has got the number of ours is left alone. */
TEST(what_takes_the_place_of_a_closed_descriptor_is_not_ours)
{
	int ends[2], calls = next_descriptor(), unread;

	CHECK_EQ(dnp_watch_open(), 0);
	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(dup2(ends[1], calls), calls);
	dnp_watch_call();
	CHECK_EQ(ioctl(ends[0], FIONREAD, &unread), 0);
	CHECK_EQ(unread, 0);
	CHECK_EQ(dup2(ends[0], calls), calls);
	CHECK_EQ(write(ends[1], WORDS, strlen(WORDS)), (int)strlen(WORDS));
	CHECK_EQ(dnp_watch_wait(dnp_now_ns(), begun), 0);
	dnp_watch_close();
	CHECK_EQ(ioctl(calls, FIONREAD, &unread), 0);
	CHECK_EQ(unread, (int)strlen(WORDS));
	CHECK(!close(ends[0]) && !close(ends[1]) && !close(calls));
}

/* The kernel goes on to tell of threads, which is found when a wait ends. */
TEST(what_takes_the_place_of_rings_ends_no_wait_of_the_watch)
{
	int ends[2], first, behind;
	uint64_t until_ns;

	CHECK_EQ(dnp_watch_open(), 0);
	first = next_descriptor();
	open_watch(true);
	behind = next_descriptor();
	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(write(ends[1], WORDS, strlen(WORDS)), (int)strlen(WORDS));
	for (int fd = first; fd < behind; fd++)
		CHECK_EQ(dup2(ends[0], fd), fd);
	begin_a_thread();
	until_ns = dnp_now_ns() + SHORT_NS;
	CHECK_EQ(dnp_watch_wait(until_ns, begun), DNP_WATCH_CALLED);
	CHECK(dnp_now_ns() >= until_ns);
	CHECK_EQ(told, atomic_load(&born));
	dnp_watch_close();
	for (int fd = first; fd < behind; fd++)
		CHECK(!close(fd));
	CHECK(!close(ends[0]) && !close(ends[1]));
}

/* A program may close what is not its own, and what gets the numbers is then the program's. */
TEST(closed_descriptors_end_no_wait)
{
	uint64_t until_ns;
	int ends[2], calls, unread;

	CHECK_EQ(pipe(ends), 0);
	calls = next_descriptor();
	CHECK_EQ(dnp_watch_open(), 0);
	CHECK_EQ(dnp_watch_add(ends[0]), 0);
	CHECK(!close(ends[0]) && !close(ends[1]) && !close(calls));
	CHECK_EQ(dnp_watch_wait(dnp_now_ns() + LONG_NS, begun), 0);
	until_ns = dnp_now_ns() + SHORT_NS;
	CHECK_EQ(dnp_watch_wait(until_ns, begun), 0);
	CHECK(dnp_now_ns() >= until_ns);
	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(dup2(ends[1], calls), calls);
	dnp_watch_call();
	CHECK_EQ(ioctl(ends[0], FIONREAD, &unread), 0);
	CHECK_EQ(unread, 0);
	dnp_watch_close();
	CHECK(!close(ends[0]) && !close(ends[1]) && !close(calls));
}
