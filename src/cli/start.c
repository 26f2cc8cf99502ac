/* SPDX-License-Identifier: MIT */
/* dnprof start: begins a recording that goes on without this command. */
#include <stdio.h>

#include "cli/choice.h"
#include "launch/interrupt.h"
#include "launch/remote.h"

static int begin(const struct dnp_choice *choice, const struct dnp_remote_options *options)
{
	struct dnp_remote remote;
	struct dnp_err err = {0};

	if (dnp_remote_begin(&remote, options, &err))
		return dnp_failed(&err);
	if (!choice->quiet)
		printf("recording process %d into %s; to end it: dnprof stop %d\n",
			(int)options->pid, remote.recording, (int)options->pid);
	dnp_remote_done(&remote);
	return DNP_EXIT_DONE;
}

/* Until it has begun, or has not and has left nothing. */
static int begin_undisturbed(const struct dnp_choice *choice, struct dnp_remote_options *options)
{
	struct dnp_interrupt interrupt;
	struct dnp_err err = {0};
	int status;

	if (dnp_interrupt_take(&interrupt, &err))
		return dnp_failed(&err);
	options->output = choice->output;
	options->agent = choice->agent;
	options->interrupt = interrupt.fd;
	status = begin(choice, options);
	dnp_interrupt_give_back(&interrupt);
	return status;
}

int dnp_cmd_start(const struct dnp_values *values, int argc, char **argv)
{
	struct dnp_remote_options options = {.raw = true};
	struct dnp_choice choice;
	int status = dnp_take_pid("start", argc, argv, &options.pid);

	if (!status)
		status = dnp_take_timeout(values, &options.patience_ns);
	if (status)
		return status;
	status = dnp_choice_parse(&choice, values);
	if (!status)
		status = begin_undisturbed(&choice, &options);
	dnp_choice_done(&choice);
	return status;
}
