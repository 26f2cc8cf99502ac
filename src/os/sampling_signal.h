/* SPDX-License-Identifier: MIT */
/*
 * The sampling signal, shared with the runtime.
 *
 * An ordinary signal kills .NET programs that catch NullReferenceException: its frame does not fit
 * on the small alternative stack on which the runtime looks at SIGSEGV. The runtime keeps exactly
 * one signal away from that stack, its own activation signal. So samples come by that one, and what
 * is not a sample goes to the runtime's handler as before. A system call that is about to sleep and
 * that a sample or the runtime interrupts is made to start again, instead of failing with EINTR.
 */
#ifndef DNP_OS_SAMPLING_SIGNAL_H
#define DNP_OS_SAMPLING_SIGNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clean.h"
#include "base/err.h"
#include "os/leave.h"

/* What the system tells of a signal. */
struct dnp_signal_info;

/*
 * Runs in a handler: nonzero when the signal was a sample, 0 to pass it on. Also for one that came
 * to nothing: dnp_signal_is_nothing says why; then `context` is NULL, and all handlers are told
 * that return 0.
 */
typedef int (*dnp_signal_handler)(const struct dnp_signal_info *info, void *context);

enum dnp_signal_nothing {
	DNP_SIGNAL_CAME,
	DNP_SIGNAL_NO_ROOM,  /* for it on the thread's stack; ours, or the runtime's */
	DNP_SIGNAL_NO_PLACE, /* in the queue of pending signals (RLIMIT_SIGPENDING); a clock's */
};

/* In the handler: whether, instead of the signal, the kernel told that it could not come. */
SIGSAFE enum dnp_signal_nothing dnp_signal_is_nothing(const struct dnp_signal_info *info);

/* The runtime's activation signal. */
SIGSAFE int dnp_signal_number(void);

/* Whether samples may come by that signal: this one, or a trap (os/traps.h). */
bool dnp_signal_brings_samples(int signo);

#define DNP_SIGNAL_HANDLERS_MAX 4

/*
 * Puts `handler` before the runtime's own; once is enough. Fails with -ENOTSUP, and says why, when
 * the runtime does not keep the signal away from its alternative stacks. Any thread.
 */
int dnp_signal_share(dnp_signal_handler handler, struct dnp_err *err);

/*
 * Takes it back; with the last one the runtime's handler is what it was. One that runs may go on:
 * see dnp_signal_left. 0; -EBUSY: somebody has put a handler over ours and may call it, so that
 * ours stays and passes everything on. Any thread.
 */
int dnp_signal_unshare(dnp_signal_handler handler);

/* Whose a signal is that one thread of ours sends another. */
enum dnp_signal_kind {
	DNP_SIGNAL_STOP = 0x646e7001,      /* os/stop.h */
	DNP_SIGNAL_TRAP = 0x646e7002,      /* os/traps.h */
	DNP_SIGNAL_LET_TRAPS = 0x646e7003, /* os/linux/no_room.h */
};

/*
 * Sends the signal to a thread of this process: 0 or -errno (-ESRCH: it has gone; -EAGAIN: too many
 * signals are pending; -ENOTSUP: the handler is not ours any more). It has to be asleep nowhere: a
 * system call that has slept may fail with EINTR. Any thread.
 */
int dnp_signal_send(int tid, enum dnp_signal_kind kind);

/* In the handler: whether it was sent so. */
SIGSAFE int dnp_signal_is_sent(const struct dnp_signal_info *info, enum dnp_signal_kind kind);

/*
 * In the handler, with all signals kept off since it began: a sleeping system call that this signal
 * interrupted before it slept is made to start again instead of failing with EINTR. Not where
 * another signal is about to come, which may be meant to end it.
 */
SIGSAFE void dnp_signal_restart_syscall(void *context);

#endif
