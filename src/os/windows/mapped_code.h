/* SPDX-License-Identifier: MIT */
/* Where a process has code that was made at run time, and how it is written. */
#ifndef DNP_OS_WINDOWS_MAPPED_CODE_H
#define DNP_OS_WINDOWS_MAPPED_CODE_H

#include <stdbool.h>
#include <stdint.h>

/* Where runtimes have an error, see agent/windows/listening.c. */
#define DNP_LOW_CODE_END ((uintptr_t)1 << 31)

/*
 * Whether memory below `end` that can be executed is mapped, and of no image: who writes there does
 * so by another mapping of the same. Asks for each region of memory down there. pid 0: of this
 * process. false also where nobody may ask.
 */
bool dnp_mapped_code_is_below(int pid, uintptr_t end);

#endif
