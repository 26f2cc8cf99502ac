/* SPDX-License-Identifier: MIT */
/* The commands that this build does not have, for systems on which there is no way for them yet. */
#include "cli/cli.h"

static int refuse(const struct dnp_values *values)
{
	dnp_say("no '%s' in this build: it is not there on Windows yet; record with run, record, "
		"or "
		"start and stop",
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

REFUSED(doctor)
