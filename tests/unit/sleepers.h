/* SPDX-License-Identifier: MIT */
/* Threads that wait at a known depth, in every way that libc has. */
#ifndef DNP_SLEEPERS_H
#define DNP_SLEEPERS_H

#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>

enum sleep_kind {
	SLEEP_NANOSLEEP,
	SLEEP_FUTEX,
	SLEEP_CONDITION,
	SLEEP_SEMAPHORE,
	SLEEP_READ,
	SLEEP_RECV,
	SLEEP_POLL,
	SLEEP_EPOLL,
	SLEEP_SELECT,
	SLEEP_NOT, /* runs, until `word` is 1 */
};

#define SLEEP_KINDS (SLEEP_NOT + 1)

struct sleeper {
	enum sleep_kind kind;
	int depth;
	int space; /* bytes of its last frame that hold what was there before */
	int (*function)(struct sleeper *s, int depth);
	int fd, epoll, other; /* never ready to read; `other` is its far end */
	_Atomic uint32_t word;
	_Atomic int tid;
	volatile unsigned long rounds;
	volatile long got;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t condition;
	sem_t semaphore;
};

/* Calls itself `depth` times and waits then. */
int sleepers_with_frames(struct sleeper *s, int depth);
int sleepers_without_frames(struct sleeper *s, int depth);

#endif
