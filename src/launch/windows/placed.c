/* SPDX-License-Identifier: MIT */
/* All see the same files, as far as their users may. */
#include "launch/placed.h"

#include <stdio.h>
#include <string.h>

#include "launch/windows/modules.h"
#include "os/library.h"

static const char *file; /* borrowed; its name */

int dnp_placed_open(const struct dnp_target *target, const char *library, char seen[PATH_MAX],
	bool *copied, struct dnp_err *err)
{
	(void)target;
	(void)err;
	file = library + dnp_path_base_at(library, strlen(library));
	*copied = false;
	snprintf(seen, PATH_MAX, "%s", library);
	return 0;
}

static int is_it(const char *path, void *context)
{
	(void)context;
	return dnp_modules_is(path, file) ? 1 : 0;
}

bool dnp_placed_is_loaded(pid_t pid)
{
	return dnp_modules_each(pid, is_it, NULL) > 0;
}

void dnp_placed_close(void)
{
	file = NULL;
}
