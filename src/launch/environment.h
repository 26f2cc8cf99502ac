/* SPDX-License-Identifier: MIT */
/* The environment that makes CoreCLR load the agent, and what in it would stand in the way. */
#ifndef DNP_LAUNCH_ENVIRONMENT_H
#define DNP_LAUNCH_ENVIRONMENT_H

#include <stdbool.h>

#include "base/err.h"

/*
 * 0, or with err -EPERM: profilers are switched off; -EBUSY: another one is configured, and ours
 * would need all rights, not only those of one that stands beside it.
 */
int dnp_environment_check(bool all_rights, struct dnp_err *err);

/* Of the first alone. */
int dnp_environment_check_diagnostics(struct dnp_err *err);

/* What names the profiler that is configured, NULL: none is. */
const char *dnp_environment_other(void);

/*
 * Makes the calling process's environment load the profiler of that class (a GUID in braces) from
 * `library` into the CoreCLR that it executes next. 0 or -ENOMEM.
 */
int dnp_environment_set_profiler(const char *clsid, const char *library);

/*
 * The same, with the agent's class, for .NET Framework, whose variables begin otherwise.
 */
int dnp_environment_set_framework(const char *library);

/* Has the runtime write code where it runs (DNP_IN_PLACE_ENV), if it does not anyway. 0 or -ENOMEM.
 */
int dnp_environment_set_in_place(void);

/*
 * Makes the calling process's environment load `agent` with `options` (DNPROF_OPTIONS) into the
 * CoreCLR that it executes next: beside another profiler that is configured already. 0 or -ENOMEM.
 */
int dnp_environment_set(const char *agent, const char *options);

#endif
