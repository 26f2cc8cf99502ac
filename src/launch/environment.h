/* SPDX-License-Identifier: MIT */
/* The environment that makes CoreCLR load the agent, and what in it would stand in the way. */
#ifndef DNP_LAUNCH_ENVIRONMENT_H
#define DNP_LAUNCH_ENVIRONMENT_H

#include "base/err.h"

/* 0, or -EBUSY / -EPERM with err: another profiler is configured, or profilers are switched off. */
int dnp_environment_check(struct dnp_err *err);

/*
 * Makes the calling process's environment load `agent` with `options` (DNPROF_OPTIONS) into the
 * CoreCLR that it executes next. 0 or -ENOMEM.
 */
int dnp_environment_set(const char *agent, const char *options);

#endif
