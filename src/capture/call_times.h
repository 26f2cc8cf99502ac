/* SPDX-License-Identifier: MIT */
/*
 * CPU time for trees of calls whose hooks read no clock: 1000 times a second a thread of ours sees
 * which node each thread is in, and gives it the CPU time that the thread used since it was last
 * looked at. A thread that does not run costs a look at its counters, and a system call each 64th
 * time.
 *
 * What a thread used after the last look before its end is given to nobody: half a millisecond on
 * average.
 */
#ifndef DNP_CAPTURE_CALL_TIMES_H
#define DNP_CAPTURE_CALL_TIMES_H

#include "capture/calls.h"

/* 0 or -errno. */
int dnp_call_times_start(void);

/* Nobody looks any more when it returns. Also when it was never started. */
void dnp_call_times_stop(void);

/* Held while threads are looked at. The recorder takes it to read what was found. */
void dnp_call_times_lock(void);
void dnp_call_times_unlock(void);

#endif
