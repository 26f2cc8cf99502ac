/* SPDX-License-Identifier: MIT */
/*
 * A library that samples busy threads by the shared signal comes and goes, and leaves nothing: not
 * a mapping, descriptor, thread or handler; nor a thread that returns to where it was.
 */
#include "host.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sampler.h"

/* ---- The library */

struct library {
	void *handle;
	const struct sampler *sampler;
};

static struct library load(void)
{
	struct library library = {.handle = dlopen(LEAVE_LIBRARY, RTLD_NOW | RTLD_LOCAL)};

	if (!library.handle)
		FAIL("%s", dlerror());
	library.sampler = dlsym(library.handle, "sampler");
	CHECK(library.sampler);
	return library;
}

static uint64_t record(struct library library, const char *events, uint64_t ns)
{
	CHECK_EQ(library.sampler->start(events, MS_NS / 2), 0);
	rest_ns(ns);
	return library.sampler->stop();
}

/* ---- */

/* The first time the C library makes what it keeps: buffers, an arena. */
static void come_and_go(const char *events)
{
	struct library library = load();

	record(library, events, 20 * MS_NS);
	CHECK(library.sampler->forget(TEST_HANG_NS));
	CHECK(dlclose(library.handle) == 0);
}

static uint64_t own_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static void compute_ns(uint64_t ns)
{
	uint64_t until_ns = own_cpu_ns() + ns;

	while (own_cpu_ns() < until_ns)
		;
}

TEST(recordings_one_after_another_leave_nothing)
{
	struct trace before, after;
	struct library library;
	uint64_t samples = 0;

	act_as_the_runtime();
	come_and_go("cpu,wall");
	before = look("/libleave-sampler");
	library = load();
	for (int i = 0; i < TEST_ROUNDS(200); i++) {
		static const char *const events[] = {"cpu", "wall", "cpu,wall"};
		static struct trace first, now;

		library.sampler->start(events[i % 3], MS_NS / 2);
		compute_ns(4 * MS_NS);
		samples += library.sampler->stop();
		now = look("/libleave-sampler");
		if (i < 3)
			first = now;
		else
			check_same(&first, &now);
	}
	/* Timers come at ticks of the kernel, of 4 ms where it has few. */
	CHECK(samples > TEST_ROUNDS(24));
	CHECK(library.sampler->forget(TEST_HANG_NS));
	CHECK(dlclose(library.handle) == 0);
	after = look("/libleave-sampler");
	CHECK_EQ(after.of_library, 0);
	check_same(&before, &after);
}

TEST(library_comes_and_goes_while_threads_are_busy)
{
	time_t end_s = seconds() + seconds_wanted();
	struct trace before, after;
	uint64_t samples = 0;
	int cycles;

	act_as_the_runtime();
	begin_threads(threads_wanted());
	come_and_go("cpu,wall");
	for (cycles = 0; cycles < 3 || seconds() < end_s; cycles++) {
		struct library library = load();

		samples += record(library, "cpu,wall", 10 * MS_NS);
		CHECK(library.sampler->forget(TEST_HANG_NS));
		CHECK(dlclose(library.handle) == 0);
		CHECK_EQ(look("/libleave-sampler").of_library, 0);
	}
	printf("# %d cycles, %llu samples, %llu activations\n", cycles, (unsigned long long)samples,
		(unsigned long long)atomic_load(&activations));
	CHECK(samples > (uint64_t)cycles / 10);
	end_threads(threads_wanted());
	before = look("/libleave-sampler");
	come_and_go("cpu,wall");
	after = look("/libleave-sampler");
	check_same(&before, &after);
}

/* A thread in the runtime's handler returns to ours: whether it is waited for makes the difference.
 */
static void leave_with_a_thread_inside(bool wait)
{
	struct library library = load();

	CHECK_EQ(library.sampler->start("cpu", MS_NS), 0);
	atomic_store(&hold, true);
	CHECK(syscall(SYS_tgkill, getpid(), first_thread(), SIGNAL) == 0);
	while (!atomic_load(&held)) {
		rest_ns(MS_NS);
#ifdef __SANITIZE_THREAD__ /* keeps one signal of a number, be it a sample, and drops the rest */
		CHECK(syscall(SYS_tgkill, getpid(), first_thread(), SIGNAL) == 0);
#endif
	}
	library.sampler->stop();
	CHECK(!library.sampler->forget(100 * MS_NS));
	if (wait) {
		atomic_store(&hold, false);
		CHECK(library.sampler->forget(TEST_HANG_NS));
	}
	CHECK(dlclose(library.handle) == 0);
	CHECK_EQ(look("/libleave-sampler").of_library, 0);
	atomic_store(&hold, false);
	/* Nothing comes where it was waited for; else the end, once the thread gets a turn. */
	for (int i = 0; i < (wait ? 1 : 600); i++)
		rest_ns(100 * MS_NS);
}

static int in_child(void (*run)(bool wait), bool wait)
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (!pid) {
		alarm(TEST_HANG_S); /* its parent's is not its own */
		act_as_the_runtime();
		begin_threads(1);
		run(wait);
		end_threads(1);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) ? -1 : 0;
}

TEST(library_that_does_not_wait_for_a_thread_ends_the_program)
{
	CHECK_EQ(in_child(leave_with_a_thread_inside, true), 0);
	CHECK_EQ(in_child(leave_with_a_thread_inside, false), SIGSEGV);
}

/* What cannot go in time stays. */
TEST(library_that_is_kept_stays_when_it_is_closed)
{
	struct library library = load();

	CHECK_EQ(library.sampler->keep(), 0);
	CHECK(dlclose(library.handle) == 0);
	CHECK(look("/libleave-sampler").of_library > 0);
}
