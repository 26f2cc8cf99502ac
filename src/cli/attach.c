/* SPDX-License-Identifier: MIT */
/* dnprof attach: has a running process load the agent, or any other profiler. */
#include "launch/attach.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "launch/interrupt.h"
#include "launch/ipc_message.h"
#include "os/clock.h"

#define OPT(name) DNP_OPT(attach, name)

/* What goes with a profiler that is not ours, and what does not. */
static int parse_profiler(const struct dnp_values *values, struct dnp_attach_options *options)
{
	const char *data = values->text[OPT(client_data)];

	options->clsid = values->text[OPT(profiler_clsid)];
	options->library = values->text[OPT(profiler_path)];
	if (!options->clsid != !options->library)
		return dnp_usage("attach",
			"another profiler needs both --profiler-clsid and --profiler-path");
	if (options->clsid && !dnp_ipc_is_guid(options->clsid))
		return dnp_usage("attach",
			"--profiler-clsid %s: not a GUID; write it as "
			"{DF9EDC4B-25C1-4925-A3FB-6AB8D3E1F0C5}",
			options->clsid);
	if (options->library && values->given[OPT(notification)])
		return dnp_usage("attach",
			"--notification is for dnprof's own agent; another profiler says itself "
			"what it is");
	if (values->given[OPT(port)] && values->given[OPT(notification)])
		return dnp_usage("attach",
			"--notification is for a process that runs already; one that begins at a "
			"--port has no profiler yet");
	options->data = data;
	options->data_bytes = data ? strlen(data) : 0;
	options->notification = values->given[OPT(notification)] > 0;
	return DNP_EXIT_DONE;
}

static int parse(
	const struct dnp_values *values, struct dnp_attach_options *options, int argc, char **argv)
{
	int status = DNP_EXIT_DONE;

	if (!values->given[OPT(port)])
		status = dnp_take_pid("attach", argc, argv, &options->pid);
	else if (argc)
		status = dnp_usage(
			"attach", "--port takes whichever program comes; name no process");
	if (!status)
		status = dnp_take_timeout(values, &options->timeout_ns);
	return status ? status : parse_profiler(values, options);
}

static void tell_attached(const struct dnp_attached *attached, uint64_t took_ns)
{
	if (attached->at_start)
		printf("process %d has begun, with the profiler\n", (int)attached->pid);
	else
		printf("attached to process %d in %.1f ms%s%s\n", (int)attached->pid,
			(double)took_ns / 1e6,
			attached->notification ? ", beside another profiler" : "",
			attached->copied ? ", from a copy in its file system" : "");
}

int dnp_cmd_attach(const struct dnp_values *values, int argc, char **argv)
{
	struct dnp_attach_options options = {0};
	const char *port = values->text[OPT(port)];
	struct dnp_attached attached;
	struct dnp_err err = {0};
	int status = parse(values, &options, argc, argv);
	uint64_t begin_ns = dnp_now_ns();
	struct dnp_interrupt interrupt;

	if (status)
		return status;
	if (dnp_interrupt_take(&interrupt, &err))
		return dnp_failed(&err);
	options.interrupt = interrupt.fd;
	if (port ? dnp_attach_at_port(&options, port, &attached, &err)
		 : dnp_attach(&options, &attached, &err))
		status = dnp_failed(&err);
	else if (!values->given[OPT(quiet)])
		tell_attached(&attached, dnp_now_ns() - begin_ns);
	dnp_interrupt_give_back(&interrupt);
	return status;
}
