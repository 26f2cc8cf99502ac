/* SPDX-License-Identifier: MIT */
/* A pipe ends with its process: nothing stays. */
#include "launch/stale.h"

void dnp_stale_remove_own(void)
{
}
