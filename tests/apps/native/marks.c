/* SPDX-License-Identifier: MIT */
/* What native code says it is doing: dnprof/mark.h, for the program `marks`. */
#include <dnprof/mark.h>

#include <time.h>

int truth_mark_is_on(void)
{
	return dnprof_mark_is_on();
}

void truth_mark(const char *text)
{
	dnprof_mark(text);
}

uint64_t truth_span_begin(const char *name)
{
	return dnprof_span_begin(name);
}

void truth_span_end(uint64_t id)
{
	dnprof_span_end(id);
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* What a call costs, ns. */
double truth_mark_ns(int calls)
{
	double start_ns = now_ns();

	for (int i = 0; i < calls; i++)
		dnprof_mark("cost");
	return (now_ns() - start_ns) / calls;
}
