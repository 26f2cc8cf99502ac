/* SPDX-License-Identifier: MIT */
/* dnprof: finds the command, parses its options, runs it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "cli/cli.h"
#include "os/console.h"
#include "os/process.h"

static void print_commands(void)
{
	printf("dnprof profiles .NET programs: what their threads spend time on, method by "
	       "method.\n"
	       "\n"
	       "Usage: dnprof COMMAND [options] ...\n"
	       "\n"
	       "Commands:\n");
	for (const struct dnp_command *c = dnp_commands; c->name; c++)
		printf("  %-10s %s\n", c->name, c->summary);
	printf("\n"
	       "  -h, --help     this text\n"
	       "      --version  the version\n"
	       "\n"
	       "Exit status: 0 done; 1 failed; 2 wrong usage; 3 done, but something is missing.\n"
	       "`dnprof run` gives the program's own where that is not 0.\n"
	       "\n"
	       "Examples:\n"
	       "  dnprof run -o app.html -- dotnet app.dll   # profile a program, get a page\n"
	       "  dnprof record -d 30 -o app.html 4242       # 30 seconds of a running process\n"
	       "  dnprof help run                            # every option of run\n");
}

static int unknown_command(const char *name)
{
	const struct dnp_command *near = dnp_command_suggest(name);

	if (near)
		dnp_say("unknown command '%s': did you mean '%s'?; see 'dnprof --help'", name,
			near->name);
	else
		dnp_say("unknown command '%s'; see 'dnprof --help'", name);
	return DNP_EXIT_USAGE;
}

int dnp_cmd_help(const struct dnp_values *values, int argc, char **argv)
{
	const struct dnp_command *command;

	(void)values;
	if (argc > 1)
		return dnp_usage("help", "too many words");
	if (!argc) {
		print_commands();
		return DNP_EXIT_DONE;
	}
	command = dnp_command_find(argv[0]);
	if (!command)
		return unknown_command(argv[0]);
	dnp_help_print(command);
	return DNP_EXIT_DONE;
}

/* What was printed has to arrive: a full disk behind stdout is a failure. */
static int flush(int status)
{
	if (fflush(stdout) && status == DNP_EXIT_DONE) {
		dnp_say("cannot write to the standard output: %s; see where it leads",
			strerror(errno));
		return DNP_EXIT_FAILED;
	}
	return status;
}

static int run(int argc, char **argv)
{
	const struct dnp_command *command;
	struct dnp_values values;
	int status, rest;

	if (argc < 2) {
		dnp_say("a command is missing; see 'dnprof --help'");
		return DNP_EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("dnprof " DNP_VERSION "\n");
		return DNP_EXIT_DONE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		print_commands();
		return DNP_EXIT_DONE;
	}
	command = dnp_command_find(argv[1]);
	if (!command)
		return unknown_command(argv[1]);
	rest = dnp_values_parse(command, &values, argc - 1, argv + 1, &status);
	if (rest >= 0)
		status = command->run(&values, argc - 1 - rest, argv + 1 + rest);
	dnp_values_done(&values);
	return status;
}

int main(int argc, char **argv)
{
	dnp_hash_keep_secret(dnp_random_number(), dnp_random_number());
	if (dnp_console_begin(&argc, &argv)) {
		dnp_say("cannot read the command line: out of memory; free some");
		return DNP_EXIT_FAILED;
	}
	return flush(run(argc, argv));
}
