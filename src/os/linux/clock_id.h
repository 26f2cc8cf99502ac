/* SPDX-License-Identifier: MIT */
/* The CPU clock of any thread of this process is named by its id (clock_getcpuclockid(3)). */
#ifndef DNP_OS_LINUX_CLOCK_ID_H
#define DNP_OS_LINUX_CLOCK_ID_H

#include <time.h>

#include "base/clean.h"

static inline SIGSAFE clockid_t dnp_clock_of_thread(int tid)
{
	return (clockid_t)((~(unsigned)tid << 3) | 6);
}

#endif
