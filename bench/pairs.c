/* SPDX-License-Identifier: MIT */
/*
 * `truth pairs` in C, for uftrace: little functions called over and over. Built twice, plain and
 * with -pg. Prints the same JSON: ns of CPU for each call, least and median of the rounds.
 *
 * pairs [CALLS [ROUNDS]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if __has_attribute(noipa)
#define NOINLINE __attribute__((noinline, noipa))
#else
#define NOINLINE __attribute__((noinline))
#endif
#define NO_HOOK    __attribute__((no_instrument_function))
#define ROUNDS_MAX 1000

static NOINLINE int leaf(int n)
{
	return n + 3;
}

static NOINLINE double leaf8(double a, long b, double c, long d, double e, long f, double g, long h)
{
	return a + (double)b + c + (double)d + e + (double)f + g + (double)h;
}

NO_HOOK static double leaves(long n)
{
	long sum = 0;

	for (long i = 0; i < n; i++)
		sum += leaf((int)i) - i;
	return (double)sum / (double)n - 3;
}

NO_HOOK static double leaves8(long n)
{
	double sum = 0;

	for (long i = 0; i < n; i++)
		sum += leaf8(1, 2, 3, 4, 5, 6, 7, 8);
	return sum / (double)n - 36;
}

NO_HOOK static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

NO_HOOK static int by_value(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

NO_HOOK static int measure(const char *name, double (*go)(long), long calls, int rounds)
{
	static double ns[ROUNDS_MAX];

	for (int i = 0; i < rounds; i++) {
		double begin = cpu_ns();

		if (go(calls) != 0)
			return 1;
		ns[i] = (cpu_ns() - begin) / (double)calls;
	}
	qsort(ns, (size_t)rounds, sizeof(*ns), by_value);
	printf("\"%s\":{\"min\":%.3f,\"median\":%.3f}", name, ns[0], ns[rounds / 2]);
	return 0;
}

NO_HOOK int main(int argc, char **argv)
{
	long calls = argc > 1 ? atol(argv[1]) : 1000000;
	int rounds = argc > 2 ? atoi(argv[2]) : 15, err;

	if (calls <= 0 || rounds <= 0 || rounds > ROUNDS_MAX)
		return 2;
	printf("{\"ns\":{");
	err = measure("leaf", leaves, calls, rounds);
	printf(",");
	err |= measure("leaf8", leaves8, calls, rounds);
	printf("}}\n");
	return err;
}
