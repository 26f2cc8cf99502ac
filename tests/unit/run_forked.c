/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run.h"

/* What a test itself gives up on has been said before. */
#define TEST_SECONDS (TEST_HANG_S + 60)

void test_end_child(int status)
{
	syscall(SYS_exit_group, status);
	__builtin_unreachable();
}

uint64_t test_peak_memory(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)usage.ru_maxrss << 10;
}

int test_count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	if (!dir)
		return -1;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

int test_run_alone(const struct test *test)
{
	int status;
	pid_t pid = fork();

	if (pid < 0) {
		perror("fork");
		exit(2);
	}
	if (!pid) {
		alarm(TEST_SECONDS);
		test_run_here(test);
	}
	if (waitpid(pid, &status, 0) != pid)
		return 1;
	if (WIFSIGNALED(status))
		printf("# killed by signal %d (%s)\n", WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	if (!WIFEXITED(status))
		return 1;
	return WEXITSTATUS(status);
}
