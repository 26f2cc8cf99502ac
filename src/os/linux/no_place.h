/* SPDX-License-Identifier: MIT */
/*
 * Samples for which the kernel's queue of signals has no place left.
 *
 * How many signals may be pending for all processes of a user is limited (RLIMIT_SIGPENDING). Where
 * that is reached, the kernel sends SIGIO in place of the signal of a perf event (fcntl(2),
 * F_SETSIG), which ends a program that has no handler of it. So one of ours is there meanwhile. A
 * program that has a handler, or ignores SIGIO, keeps that: it lives, and is not told of more than
 * a signal that it has to expect at any time.
 */
#ifndef DNP_OS_LINUX_NO_PLACE_H
#define DNP_OS_LINUX_NO_PLACE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* In a handler, on the thread whose signal came to nothing. `info`: what came in its place. */
typedef void (*dnp_no_place_handler)(const siginfo_t *info);

/*
 * Begins, from now on calling `lost`, the same one each time; once is enough. 0 or -errno. With the
 * next two: one thread at a time.
 */
int dnp_no_place_watch(dnp_no_place_handler lost);

/* Ends it; once is enough: 0, -errno, or -EBUSY: see dnp_front_put_back. */
int dnp_no_place_leave(void);

/* See dnp_front_left. */
bool dnp_no_place_left(uint64_t deadline_ns);

#endif
