/* SPDX-License-Identifier: MIT */
#include "agent/losses.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void dnp_losses_add(struct dnp_losses *losses, const char *event, const char *unit, uint64_t lost)
{
	size_t used = strlen(losses->weights);

	if (strcmp(unit, "bytes") != 0 && strcmp(unit, "ns") != 0)
		losses->count += lost;
	else if (lost)
		snprintf(losses->weights + used, sizeof(losses->weights) - used, "%s%s:%s:%" PRIu64,
			used ? "," : "", event, unit, lost);
}
