/* SPDX-License-Identifier: MIT */
/* The harness of test.h: `PROGRAM [NAME…]` runs all tests or those named, and prints TAP. */
#include "test.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEST_SECONDS 60
#define EXIT_SKIP    77

static struct test *first, **last = &first;

void test_register(struct test *test)
{
	*last = test;
	last = &test->next;
}

void test_fail(const char *file, int line, const char *format, ...)
{
	va_list args;

	printf("# %s:%d: ", file, line);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	_exit(1);
}

void test_skip(const char *reason)
{
	printf("# SKIP %s\n", reason);
	fflush(stdout);
	_exit(EXIT_SKIP);
}

static int count_descriptors(void)
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

/* In the child. exit(), not _exit(): a leak checker reports there. */
static _Noreturn void run(const struct test *test)
{
	int before = count_descriptors(), after;

	alarm(TEST_SECONDS);
	test->run();
	after = count_descriptors();
	if (after != before)
		FAIL("%d descriptors are open at the end, %d were at the start", after, before);
	exit(0);
}

/* 0: passed, 1: failed, EXIT_SKIP. */
static int run_in_child(const struct test *test)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		perror("fork");
		exit(2);
	}
	if (!pid)
		run(test);
	if (waitpid(pid, &status, 0) != pid)
		return 1;
	if (WIFSIGNALED(status))
		printf("# killed by signal %d (%s)\n", WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	if (!WIFEXITED(status))
		return 1;
	return WEXITSTATUS(status);
}

static int is_wanted(const struct test *test, char **names)
{
	if (!*names)
		return 1;
	for (; *names; names++) {
		if (!strcmp(*names, test->name))
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int n = 0, failed = 0;

	(void)argc;
	for (const struct test *test = first; test; test = test->next) {
		int result;

		if (!is_wanted(test, argv + 1))
			continue;
		result = run_in_child(test);
		n++;
		if (result == EXIT_SKIP)
			printf("ok %d %s # SKIP\n", n, test->name);
		else
			printf("%s %d %s\n", result ? "not ok" : "ok", n, test->name);
		failed += result && result != EXIT_SKIP;
	}
	printf("1..%d\n", n);
	return failed || !n;
}
