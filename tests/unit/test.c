/* SPDX-License-Identifier: MIT */
/*
 * The harness of test.h: `PROGRAM [NAME…]` runs all tests or those named, and prints TAP;
 * `PROGRAM --here NAME` runs one in the same process.
 */
#include "test.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "run.h"

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
	_exit(TEST_SKIPPED);
}

_Noreturn void test_run_here(const struct test *test)
{
	int before = test_count_descriptors(), after;

	test->run();
	after = test_count_descriptors();
	if (after != before)
		FAIL("%d descriptors are open at the end, %d were at the start", after, before);
	exit(0); /* not _exit(): a leak checker reports there */
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

static _Noreturn void run_named(const char *name)
{
	for (const struct test *test = first; test; test = test->next)
		if (!strcmp(test->name, name))
			test_run_here(test);
	exit(2);
}

int main(int argc, char **argv)
{
	int n = 0, failed = 0;

	if (argc == 3 && !strcmp(argv[1], "--here"))
		run_named(argv[2]);
	for (const struct test *test = first; test; test = test->next) {
		int result;

		if (!is_wanted(test, argv + 1))
			continue;
		fflush(stdout);
		result = test_run_alone(test);
		n++;
		if (result == TEST_SKIPPED)
			printf("ok %d %s # SKIP\n", n, test->name);
		else
			printf("%s %d %s\n", result ? "not ok" : "ok", n, test->name);
		failed += result && result != TEST_SKIPPED;
	}
	printf("1..%d\n", n);
	return failed || !n;
}
