/* SPDX-License-Identifier: MIT */
/* A library whose loading and unloading take time: both burn CPU under the dynamic linker's lock.
 */
#include <stdint.h>

#include "../burn.h"

#define NS 3000000

static uint64_t burnt;

__attribute__((constructor)) static void truth_slow_constructor(void)
{
	burnt = truth_burn(NS);
}

__attribute__((destructor)) static void truth_slow_destructor(void)
{
	burnt += truth_burn(NS);
}

uint64_t truth_slow_burnt(void);

uint64_t truth_slow_burnt(void)
{
	return burnt;
}
