/* SPDX-License-Identifier: MIT */
/* What the parts of `dnprof run` share. */
#ifndef DNP_CLI_RUN_H
#define DNP_CLI_RUN_H

#include "cli/cli.h"

/* With --profiler-clsid or its like: runs the program with that profiler. An exit status. */
bool dnp_run_wants_profiler(const struct dnp_values *values);
int dnp_run_profiler(const struct dnp_values *values, char *const *command);

/* How the program ended, as an exit status: its own goes first. */
int dnp_run_status(int program, int own);

#endif
