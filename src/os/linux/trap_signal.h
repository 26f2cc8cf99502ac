/* SPDX-License-Identifier: MIT */
/* The signal that traps come by (os/traps.h), and a handler before the one that it has. */
#ifndef DNP_OS_LINUX_TRAP_SIGNAL_H
#define DNP_OS_LINUX_TRAP_SIGNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clean.h"
#include "os/sampling_signal.h"

#define DNP_TRAP_PERF 6 /* si_code, as TRAP_PERF of asm-generic/siginfo.h */

/* What the signal says of the event: its sig_data. */
SIGSAFE uint64_t dnp_trap_data(const struct dnp_signal_info *info);

/*
 * Begins. -ENOTSUP: nobody handles the signal, or on an alternative stack. With the next ones: one
 * thread at a time.
 */
int dnp_trap_signal_watch(dnp_signal_handler handler);

/* Whether nobody has put another handler over ours. */
bool dnp_trap_signal_is_on_top(void);

/*
 * As dnp_front_left. A thread that sleeps in a system call may have a trap that comes when it
 * wakes, in hours perhaps, and nobody can tell which (the kernel holds it back, also when the event
 * has gone). The handler that was there does not know traps, and would end the program. So a page
 * of code stays, which knows them.
 */
bool dnp_trap_signal_left(uint64_t deadline_ns);

#endif
