/* SPDX-License-Identifier: MIT */
/* A profiler's library where its target can load it. One at a time. */
#ifndef DNP_LAUNCH_PLACED_H
#define DNP_LAUNCH_PLACED_H

#include <limits.h>

#include "launch/target.h"

/*
 * Has the library where the target sees it, `seen`, until the last is called; *copied: by a copy.
 * 0 or -errno with err. `library` is borrowed until then.
 */
int dnp_placed_open(const struct dnp_target *target, const char *library, char seen[PATH_MAX],
	bool *copied, struct dnp_err *err);

/* Whether that process has loaded it. */
bool dnp_placed_is_loaded(pid_t pid);

/* What has been loaded stays loaded. */
void dnp_placed_close(void);

#endif
