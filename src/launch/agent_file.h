/* SPDX-License-Identifier: MIT */
/* The agent's library: where it is, and whether it can be loaded at all. */
#ifndef DNP_LAUNCH_AGENT_FILE_H
#define DNP_LAUNCH_AGENT_FILE_H

#include <limits.h>

#include "base/err.h"

/*
 * Finds libdnprof.so beside this program, or in ../lib/dnprof/ from there, and loads it in a child
 * process, so that what the loader says can be told: the runtime keeps it to itself. 0 or -errno.
 */
int dnp_agent_file_find(char path[PATH_MAX], struct dnp_err *err);

#endif
