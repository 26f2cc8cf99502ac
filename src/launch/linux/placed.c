/* SPDX-License-Identifier: MIT */
#include "launch/placed.h"

#include <stdio.h>

#include "launch/linux/place.h"

static struct dnp_place place;

int dnp_placed_open(const struct dnp_target *target, const char *library, char seen[PATH_MAX],
	bool *copied, struct dnp_err *err)
{
	int ret = dnp_place_open(&place, target, library, err);

	if (ret)
		return ret;
	*copied = place.folder >= 0;
	snprintf(seen, PATH_MAX, "%s", place.path);
	return 0;
}

bool dnp_placed_is_loaded(pid_t pid)
{
	return dnp_process_maps(pid, place.file);
}

void dnp_placed_close(void)
{
	dnp_place_done(&place);
}
