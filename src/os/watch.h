/* SPDX-License-Identifier: MIT */
/*
 * What the agent's thread sleeps on: time, handlers that call it, descriptors, and, where it is
 * asked for, word from the kernel of what happens in this process: threads that begin, code that is
 * mapped. That word an ordinary user may ask for of his own process. One a
 * process.
 */
#ifndef DNP_OS_WATCH_H
#define DNP_OS_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clean.h"

/*
 * Before all else; where it is open, this does nothing. 0, or -errno: then only time ends a wait,
 * which may end early, so that whoever cannot call is heard all the same.
 */
int dnp_watch_open(void);
/*
 * Nobody waits any more, and nobody can be about to call: no handler runs or will
 * (dnp_signal_left).
 */
void dnp_watch_close(void);

/*
 * Has the kernel tell of the calling thread and of what comes of it: in time for the next wait that
 * ends, or `at_once`, by ending one. 0, or -errno: then it tells nothing.
 */
int dnp_watch_threads_open(bool at_once);
/* From now on it tells nothing; time, calls and descriptors still end a wait. */
void dnp_watch_threads_close(void);

/* Descriptors besides, at most so many, that end a wait when there is something to be read. */
#define DNP_WATCH_FDS 16
/* 0 or -E2BIG. By the waiting thread, or before it starts, as the next. */
int dnp_watch_add(int fd);
void dnp_watch_remove(int fd);

/* Ends the wait that is going on, or else the next one. Any thread. */
SIGSAFE void dnp_watch_call(void);

enum dnp_watch_news {
	DNP_WATCH_CALLED = 1,   /* somebody calls, or the kernel told something */
	DNP_WATCH_READABLE = 2, /* one of the descriptors besides can be read */
};

/* Thread `tid` has begun, at that time (CLOCK_MONOTONIC), before it ran. */
typedef void (*dnp_watch_begun)(int tid, uint64_t begun_ns);

/*
 * Waits until CLOCK_MONOTONIC has reached deadline_ns or there is news, which it returns (enum
 * dnp_watch_news). Calls begun for each thread that began meanwhile; where it is NULL they are
 * left for the next wait. One thread only.
 */
unsigned dnp_watch_wait(uint64_t deadline_ns, dnp_watch_begun begun);

#endif
