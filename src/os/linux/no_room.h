/* SPDX-License-Identifier: MIT */
/*
 * Signals for which a thread's stack has no room left.
 *
 * The sampling signal comes on the stack that the thread is on. Where that is nearly used up, as a
 * moment before a stack overflow, the kernel has no place for its frame and raises SIGSEGV instead.
 * The runtime would take that for a fault of the code there and handle it on the same stack: the
 * program dies by SIGSEGV and says nothing (seen in 1 of 1,500 stack overflows at 9,973 Hz). So a
 * handler of ours comes before the runtime's: where it finds that cause, and no other, the thread
 * just goes on, without the signal. It runs on the alternative stack that the runtime gives its
 * threads; one without such a stack has no room for SIGSEGV either.
 */
#ifndef DNP_OS_LINUX_NO_ROOM_H
#define DNP_OS_LINUX_NO_ROOM_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clean.h"

/*
 * In a handler, on the thread whose signal came to nothing: whose it was is not known. `info`: what
 * the kernel sent in its place.
 */
typedef void (*dnp_no_room_handler)(const siginfo_t *info);

/*
 * Begins, from now on calling `lost`, the same one each time; where SIGSEGV is not handled on
 * alternative stacks there is nothing to do. 0 or -errno. With the next two: one thread at a time.
 */
int dnp_no_room_watch(dnp_no_room_handler lost);

/*
 * Keeps traps (os/traps.h) off the alternative stack: the frames of two signals do not fit on the
 * runtime's, where the processor has many registers. They stay off until the runtime lets its
 * activation signal come again, which it does on the thread's own stack. 0; -EBUSY: somebody has
 * put a handler over ours.
 */
int dnp_no_room_keep_traps_off(void);
/* Whether it still does: nobody has put a handler over ours since. */
bool dnp_no_room_keeps_traps_off(void);

/* In the handler of the activation signal, first: whether it is the word that traps may come. */
SIGSAFE bool dnp_no_room_let_traps(const siginfo_t *info, void *context);

/* Ends it; once is enough: 0, -errno, or -EBUSY: see dnp_front_put_back. */
int dnp_no_room_leave(void);

/* See dnp_front_left. */
bool dnp_no_room_left(uint64_t deadline_ns);

#endif
