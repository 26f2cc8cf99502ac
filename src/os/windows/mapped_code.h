/* SPDX-License-Identifier: MIT */
/* Where this process has code that was made at run time, and how it is written. */
#ifndef DNP_OS_WINDOWS_MAPPED_CODE_H
#define DNP_OS_WINDOWS_MAPPED_CODE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether memory below `end` that can be executed is mapped, and of no image: who writes there does
 * so by another mapping of the same. Asks for each region of memory down there.
 */
bool dnp_mapped_code_is_below(uintptr_t end);

#endif
