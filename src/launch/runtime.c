/* SPDX-License-Identifier: MIT */
#include "launch/runtime.h"

#include <stdio.h>
#include <stdlib.h>

void dnp_runtime_version(const char *number, char out[32])
{
	unsigned major, minor, build, revision;

	if (sscanf(number, "%u.%u.%u.%u", &major, &minor, &build, &revision) == 4)
		snprintf(out, 32, "%u.%u.%u", major, minor, build / 100);
	else
		snprintf(out, 32, "%.31s", number);
}

void dnp_runtime_done(struct dnp_runtime *runtime)
{
	free(runtime->library);
	free(runtime->agent);
	free(runtime->profiler);
	runtime->library = runtime->agent = runtime->profiler = NULL;
}
