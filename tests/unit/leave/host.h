/* SPDX-License-Identifier: MIT */
/* A program that stands for the runtime, with busy threads, and what the system tells of it. */
#ifndef DNP_TEST_LEAVE_HOST_H
#define DNP_TEST_LEAVE_HOST_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "test.h"

#define MS_NS       UINT64_C(1000000)
#define SIGNAL      SIGRTMIN
#define THREADS_MAX 50

void rest_ns(uint64_t ns);

/* Its handler of the signal, as the runtime's, which has threads wait for the end of a collection.
 */
void act_as_the_runtime(void);
extern _Atomic uint64_t activations;
extern _Atomic bool hold; /* threads in that handler */
extern _Atomic int held;

/* Threads that run, sleep, block the signal, begin and end, and send it to each other. */
void begin_threads(unsigned n);
void end_threads(unsigned n);
int first_thread(void);

struct trace {
	int fds, tasks, mappings, of_library; /* mappings of a library of that name */
	unsigned long long caught, blocked;
	long bytes; /* of address space */
	long heap;  /* bytes that are allocated */
};

struct trace look(const char *library);
void check_same(const struct trace *before, const struct trace *after);

/* LEAVE_SECONDS=N in the environment: for so long; else two seconds. */
time_t seconds_wanted(void);
/* With LEAVE_SECONDS THREADS_MAX; else two of each kind: where each has to wait its turn, a cycle
 * is long. */
unsigned threads_wanted(void);
time_t seconds(void);

#endif
