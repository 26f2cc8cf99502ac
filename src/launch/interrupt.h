/* SPDX-License-Identifier: MIT */
/*
 * Ctrl-C and its like (SIGINT, SIGTERM, SIGHUP) while something has to be undone before they end
 * this process: they are kept, and show at a descriptor. Those that are ignored, as after nohup or
 * in the background of a script, stay so. On Windows what shows is the handle of an event. One at
 * a time, single-threaded.
 */
#ifndef DNP_LAUNCH_INTERRUPT_H
#define DNP_LAUNCH_INTERRUPT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct dnp_interrupt {
	int fd; /* owned: readable when one has come; -1: they are not kept */
};

/* 0 or -errno with err. */
int dnp_interrupt_take(struct dnp_interrupt *interrupt, struct dnp_err *err);

/* How many have come since the last call. */
unsigned dnp_interrupt_count(const struct dnp_interrupt *interrupt);

/* Whether this process ignores a signal. */
bool dnp_interrupt_ignores(int signal);

/* What has come and was not read takes effect before this returns. A second call does nothing. */
void dnp_interrupt_give_back(struct dnp_interrupt *interrupt);

/* Sleeps until then (dnp_now_ns()), or until `fd` is readable; -1: none. Whether it is. */
bool dnp_interrupt_sleep(int fd, uint64_t until_ns);

/*
 * Waits until `fd`, a connection's (os/channel.h) or a socket's, is readable: 0. -EINTR:
 * `interrupt` (-1: none) is; -EAGAIN: neither is by then (dnp_now_ns()); or the -errno of poll.
 */
int dnp_interrupt_await(int fd, int interrupt, uint64_t until_ns);

#endif
