/* SPDX-License-Identifier: MIT */
/* The one clock of a recording, and the CPU clocks of threads. Safe in signal handlers. */
#ifndef DNP_OS_CLOCK_H
#define DNP_OS_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"

/* Nanoseconds of CLOCK_MONOTONIC (the performance counter on Windows). */
SIGSAFE uint64_t dnp_now_ns(void);

/* Nanoseconds since 1970. */
uint64_t dnp_unix_ns(void);

/*
 * When a process or a thread began that the system says began at these ticks
 * (dnp_process_start_ticks, dnp_task_start_ticks), by the recording's clock: no later than it did,
 * and no more than a tick earlier. 0: before that clock began, or it is not known.
 */
uint64_t dnp_ticks_begin_ns(uint64_t ticks);

/*
 * Such a time as the clock on the wall shows it here, with its zone: "2026-01-31 23:59:59 UTC".
 * false: that is not known, and `out` is not set. Not for handlers.
 */
bool dnp_unix_text(uint64_t unix_ns, char *out, size_t capacity);

/* CPU time of a thread of this process, 0 when there is no such thread. tid 0: the caller. */
SIGSAFE uint64_t dnp_thread_cpu_ns(int tid);
/* The same of one that lives. -ESRCH: there is none, or it has ended. */
SIGSAFE int dnp_thread_cpu_of(int tid, uint64_t *cpu_ns);

/* Sleeps that long or until the absolute CLOCK_MONOTONIC time has passed. */
void dnp_sleep_until_ns(uint64_t deadline_ns);

#endif
