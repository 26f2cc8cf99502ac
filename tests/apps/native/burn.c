/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "burn.h"

#define MAX_THREADS 64
#define NOINLINE    __attribute__((noinline))

static uint64_t thread_cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

NOINLINE static uint64_t truth_spin(uint64_t x, int steps)
{
	for (int i = 0; i < steps; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x;
}

NOINLINE uint64_t truth_burn(uint64_t ns)
{
	uint64_t start = thread_cpu(), now, x = start | 1;

	do {
		x = truth_spin(x, 20000);
		now = thread_cpu();
	} while (now - start < ns && x);
	return now - start;
}

NOINLINE void truth_call(truth_callback callback, void *arg, int frame_bytes)
{
	volatile char *frame = __builtin_alloca((size_t)frame_bytes + 1);

	memset((char *)frame, 0x5a, (size_t)frame_bytes + 1);
	callback(arg);
	if (frame[frame_bytes] != 0x5a)
		__builtin_trap();
}

/* The lowest address of the calling thread's stack. */
static char *stack_end(void)
{
	pthread_attr_t attributes;
	void *low = NULL;
	size_t size;

	if (!pthread_getattr_np(pthread_self(), &attributes)) {
		pthread_attr_getstack(&attributes, &low, &size);
		pthread_attr_destroy(&attributes);
	}
	return low;
}

NOINLINE uint64_t truth_burn_at_end(uint64_t ns, int left)
{
	char *here = __builtin_frame_address(0), *low = stack_end();
	/* What the dynamic linker looks up at a first call takes more than may be left. */
	uint64_t burnt = truth_burn(1);
	volatile char *rest;

	if (!low || !burnt || here - low < left)
		return 0;
	rest = __builtin_alloca((size_t)(here - low - left));
	/* The stack of the first thread grows as it is touched. */
	for (char *at = here; at > rest; at -= 4096)
		*(volatile char *)at;
	rest[0] = 0x5a;
	burnt = truth_burn(ns);
	return rest[0] == 0x5a ? burnt : 0;
}

struct worker {
	pthread_t thread;
	char name[16], last_name[16]; /* "": it keeps the first */
	uint64_t ns, last_ns;
	uint64_t *spent;
	truth_callback callback;
	void *arg;
};

static void *worker_main(void *p)
{
	struct worker *w = p;

	pthread_setname_np(pthread_self(), w->name);
	if (w->callback)
		w->callback(w->arg);
	else
		truth_burn(w->ns);
	if (w->last_name[0])
		pthread_setname_np(pthread_self(), w->last_name);
	if (w->last_ns)
		truth_burn(w->last_ns);
	if (w->spent)
		*w->spent = thread_cpu();
	return NULL;
}

static int run_all(struct worker *workers, int count)
{
	int started = 0, err = 0;

	for (; started < count; started++) {
		struct worker *w = &workers[started];

		err = pthread_create(&w->thread, NULL, worker_main, w);
		if (err)
			break;
	}
	for (int i = 0; i < started; i++)
		pthread_join(workers[i].thread, NULL);
	return err;
}

int truth_threads(int count, uint64_t ns, const char *name, uint64_t *spent)
{
	struct worker workers[MAX_THREADS] = {0};

	if (count > MAX_THREADS)
		count = MAX_THREADS;
	for (int i = 0; i < count; i++) {
		workers[i].ns = ns * (uint64_t)(i + 1);
		workers[i].spent = &spent[i];
		snprintf(workers[i].name, sizeof(workers[i].name), "%.12s-%d", name, i);
	}
	return run_all(workers, count);
}

int truth_renamed_threads(int count, uint64_t ns, uint64_t *spent)
{
	struct worker workers[MAX_THREADS] = {0};

	if (count > MAX_THREADS)
		count = MAX_THREADS;
	for (int i = 0; i < count; i++) {
		workers[i].ns = ns * (uint64_t)(i + 1) / 2;
		workers[i].last_ns = i < count - 1 ? workers[i].ns : 0;
		workers[i].spent = &spent[i];
		snprintf(workers[i].name, sizeof(workers[i].name), "early-%d", i);
		snprintf(workers[i].last_name, sizeof(workers[i].last_name), "late-%d", i);
	}
	return run_all(workers, count);
}

int truth_call_in_thread(truth_callback callback, void *arg, const char *name, uint64_t *spent)
{
	struct worker w = {.callback = callback, .arg = arg, .spent = spent};
	int err;

	snprintf(w.name, sizeof(w.name), "%.15s", name);
	err = pthread_create(&w.thread, NULL, worker_main, &w);
	if (err)
		return err;
	pthread_join(w.thread, NULL);
	return 0;
}
