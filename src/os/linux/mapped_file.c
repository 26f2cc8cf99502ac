/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean.h"
#include "os/library.h"
#include "os/mem.h"

/* A line "low-high perms offset device inode path". 0: it is not of the first bytes of that file.
 */
static uintptr_t base_in(char *line, const char *name)
{
	uintptr_t low, offset;
	int path = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%" SCNxPTR "-%*x %*s %" SCNxPTR " %*s %*s %n", &low, &offset, &path) < 2)
		return 0;
	return !offset && path && !strcmp(dnp_path_base(line + path), name) ? low : 0;
}

bool dnp_mem_find_file(
	const char *name, bool (*is_it)(uintptr_t base, void *context), void *context)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	auto_free char *line = NULL;
	bool found = false;
	size_t room = 0;

	if (!maps)
		return false;
	while (!found && getline(&line, &room, maps) > 0) {
		uintptr_t base = base_in(line, name);

		found = base && is_it(base, context);
	}
	fclose(maps);
	return found;
}
