/* SPDX-License-Identifier: MIT */
/* What commands about one running process take. */
#include "cli/cli.h"

#define MAX_TIMEOUT_NS UINT64_C(3600000000000)

int dnp_take_pid(const char *command, int argc, char **argv, pid_t *pid)
{
	uint64_t number;

	if (!argc)
		return dnp_usage(command, "no process named; give its id");
	if (argc > 1 && *argv[1] == '-')
		return dnp_usage(command, "%s: options come before the process id", argv[1]);
	if (argc > 1)
		return dnp_usage(command, "one process at a time");
	if (!dnp_parse_count(argv[0], 1, INT32_MAX, &number))
		return dnp_usage(command, "%s: not a process id", argv[0]);
	*pid = (pid_t)number;
	return DNP_EXIT_DONE;
}

int dnp_take_timeout(const struct dnp_values *values, uint64_t *ns)
{
	const char *text = dnp_value(values, "timeout");

	if (!dnp_parse_seconds(text, ns) || *ns > MAX_TIMEOUT_NS)
		return dnp_usage(
			values->command->name, "--timeout %s: not a time up to an hour", text);
	return DNP_EXIT_DONE;
}
