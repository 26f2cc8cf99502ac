/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/clean.h"
#include "cli/choice.h"

const bool dnp_choice_snapshot_stops = false;
const bool dnp_choice_tells_waits = false;

/* Options of what is not there; those of calls and switches go with their events. */
static const struct {
	const char *name, *shown;
} missing[] = {
	{"source", "--source"},
	{"wait", "--wait"},
	{"profiler_clsid", "--profiler-clsid"},
	{"profiler_path", "--profiler-path"},
	{"profiler_env", "--profiler-env"},
};

static int check_options(const struct dnp_choice *choice)
{
	const struct dnp_values *values = choice->values;

	for (size_t i = 0; i < DNP_ARRAY_SIZE(missing); i++)
		if (dnp_given(values, missing[i].name))
			return dnp_usage(choice->command,
				"%s is not there on Windows yet; leave it away", missing[i].shown);
	if (dnp_given(values, "engine") && !strcmp(dnp_value(values, "engine"), "signal"))
		return dnp_usage(choice->command,
			"--engine signal: Windows has no such signals; leave it away, and threads "
			"are suspended one by one");
	return DNP_EXIT_DONE;
}

int dnp_choice_before(const struct dnp_choice *choice)
{
	return check_options(choice);
}

int dnp_choice_suit(struct dnp_choice *choice)
{
	if (!dnp_given(choice->values, "engine"))
		choice->agent.engine = DNP_ENGINE_SUSPEND;
	return DNP_EXIT_DONE;
}
