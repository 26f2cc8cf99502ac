/* SPDX-License-Identifier: MIT */
/* The time stamp counter; see os/ticks.h. */
#ifndef DNP_OS_X86_64_TICKS_H
#define DNP_OS_X86_64_TICKS_H

#include <stdint.h>

/* The counter now. Not ordered with what stands before or behind it: tens of ns at most. */
static inline uint64_t dnp_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

#endif
