/* SPDX-License-Identifier: MIT */
/*
 * What the recorder sleeps on: time, handlers that call it, and word from the kernel of what
 * happens in this process, as soon as it happens: threads that begin, code that is mapped. That
 * word an ordinary user may ask for of his own process.
 *
 * The kernel watches the thread that opens the watch and all threads that come of it. One watch a
 * process.
 */
#ifndef DNP_OS_WATCH_H
#define DNP_OS_WATCH_H

#include <stdint.h>

#include "base/clean.h"

/* On the thread to be watched. 0, or -errno: then only time ends a wait. */
int dnp_watch_open(void);
void dnp_watch_close(void);

/* Ends the wait that is going on, or else the next one. Any thread. */
SIGSAFE void dnp_watch_call(void);

/*
 * Waits until CLOCK_MONOTONIC has reached deadline_ns, somebody calls or something has happened.
 * Calls visit(tid) for each thread that began meanwhile. One thread only.
 */
void dnp_watch_wait(uint64_t deadline_ns, int (*visit)(int tid, void *context), void *context);

#endif
