/* SPDX-License-Identifier: MIT */
/* Where the stack of a thread is that never told it. */
#include <pthread.h>
#include <stdint.h>
#include <sys/resource.h>

#include "os/thread.h"
#include "test.h"

#define DEEP 1000000

/* Uses that much of the stack; where it got to. */
static __attribute__((noinline)) uintptr_t go_down(void)
{
	volatile char used[DEEP];

	for (size_t i = sizeof(used); i > 0; i -= 1000)
		used[i - 1] = 1;
	return (uintptr_t)used;
}

/* It was not mapped so far when the range was looked for. */
TEST(stack_of_the_first_thread_is_as_long_as_it_may_grow)
{
	struct rlimit limit;
	uintptr_t low, high, deep, here = (uintptr_t)__builtin_frame_address(0);

	CHECK(!getrlimit(RLIMIT_STACK, &limit));
	CHECK_EQ(dnp_thread_stack_find(here, &low, &high), 0);
	CHECK(low < here && high > here);
	CHECK(limit.rlim_cur == RLIM_INFINITY || high - low <= limit.rlim_cur);
	deep = go_down();
	CHECK(deep > low && deep < high);
}

static void *look(void *size)
{
	uintptr_t low, high, here = (uintptr_t)__builtin_frame_address(0);

	CHECK_EQ(dnp_thread_stack_find(here, &low, &high), 0);
	CHECK(low < here && high > here);
	CHECK(high - low <= *(size_t *)size);
	return NULL;
}

TEST(stack_of_another_thread_is_what_is_mapped)
{
	size_t size = 1 << 20;
	pthread_attr_t attr;
	pthread_t thread;

	CHECK(!pthread_attr_init(&attr) && !pthread_attr_setstacksize(&attr, size));
	CHECK(!pthread_create(&thread, &attr, look, &size));
	CHECK(!pthread_join(thread, NULL));
	pthread_attr_destroy(&attr);
}
