/* SPDX-License-Identifier: MIT */
/* The commands that ask a running program for something, in a build for systems where none can be.
 */
#include "cli/cli.h"

static int refuse(const struct dnp_values *values)
{
	dnp_say("no '%s' in this build: it records programs from their start; use run or timeline, "
		"and "
		"report, export and log for what was recorded",
		values->command->name);
	return DNP_EXIT_FAILED;
}

#define REFUSED(name)                                                                              \
	int dnp_cmd_##name(const struct dnp_values *values, int argc, char **argv)                 \
	{                                                                                          \
		(void)argc;                                                                        \
		(void)argv;                                                                        \
		return refuse(values);                                                             \
	}

REFUSED(attach)
REFUSED(detach)
REFUSED(doctor)
REFUSED(dump)
REFUSED(record)
REFUSED(stack)
REFUSED(start)
REFUSED(status)
REFUSED(stop)
