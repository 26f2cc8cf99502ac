/* SPDX-License-Identifier: MIT */
/* When a process began, in a time of its own. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clean.h"
#include "os/clock.h"
#include "os/process.h"
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
