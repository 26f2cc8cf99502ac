/* SPDX-License-Identifier: MIT */
/* When a process began, in a time of its own, and what a thread of it has used. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clean.h"
#include "os/clock.h"
#include "os/process.h"
#include "os/tasks.h"
#include "os/thread.h"
#include "test.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

/* Children's machine has been suspended for eleven days. */
static void suspend_for_children(void)
{
	static const char offset[] = "boottime 1000000 0";

	if (unshare(CLONE_NEWTIME))
		SKIP("a time of one's own is not allowed here");
	auto_close int fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
	CHECK_EQ(write(fd, offset, strlen(offset)), strlen(offset));
}

TEST(start_of_a_process_is_on_the_clock_that_a_suspended_machine_stops)
{
	uint64_t before_ns = dnp_now_ns();
	int status;
	pid_t pid;

	suspend_for_children();
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		uint64_t start_ns = dnp_process_start_ns(getpid());

		/* The kernel counts in hundredths of a second. */
		test_end_child(
			start_ns + UINT64_C(20000000) < before_ns || start_ns > dnp_now_ns());
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

TEST(without_a_descriptor_a_thread_has_used_time_and_its_waits_are_not_known)
{
	struct dnp_task_clock clock, without;
	struct rlimit before, none;

	CHECK_EQ(dnp_task_clock(getpid(), dnp_thread_id(), &clock), 0);
	CHECK(clock.cpu_ns && clock.runs && clock.waits_known);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){.rlim_max = before.rlim_max};
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	CHECK_EQ(dnp_task_clock(getpid(), dnp_thread_id(), &without), 0);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
	CHECK(without.cpu_ns >= clock.cpu_ns && !without.waits_known);
	CHECK_EQ(without.wait_ns + without.runs, 0);
}
