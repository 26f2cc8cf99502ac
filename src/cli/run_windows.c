/* SPDX-License-Identifier: MIT */
/* dnprof run, for Windows: a program from its start to its end, and what its threads did. */
#include <string.h>

#include "base/clean.h"
#include "cli/result.h"
#include "launch/start.h"

const bool dnp_choice_snapshot_stops = false;
const bool dnp_choice_tells_waits = false;

struct run {
	struct dnp_choice choice;
	struct dnp_start start;
};

/* Options of what is not there; those of calls and switches go with their events. */
static const struct {
	const char *name, *shown;
} missing[] = {
	{"source", "--source"},
	{"live", "--live"},
	{"wait", "--wait"},
	{"profiler_clsid", "--profiler-clsid"},
	{"profiler_path", "--profiler-path"},
	{"profiler_env", "--profiler-env"},
};

static int check_options(const struct dnp_values *values)
{
	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
		if (dnp_given(values, missing[i].name))
			return dnp_usage("run", "%s is not there on Windows yet; leave it away",
				missing[i].shown);
	if (dnp_given(values, "engine") && !strcmp(dnp_value(values, "engine"), "signal"))
		return dnp_usage("run",
			"--engine signal: Windows has no such signals; leave it away, and threads "
			"are suspended one by one");
	return DNP_EXIT_DONE;
}

/* Events of what is not there. */
static const char *const missing_events[] = {"mark"};

/* Events that the runtime delivers. */
static const char *const delivered_events[] = {"alloc", "gc", "jit", "lock"};

static bool has(const char *const *names, size_t n, struct dnp_str event)
{
	for (size_t i = 0; i < n; i++)
		if (dnp_str_eq(event, dnp_str(names[i])))
			return true;
	return false;
}

static int check_events(const struct dnp_choice *choice)
{
	struct dnp_str rest = dnp_str(choice->agent.event), event;

	while (dnp_str_cut(&rest, ',', &event))
		if (has(missing_events, DNP_ARRAY_SIZE(missing_events), event))
			return dnp_usage("run",
				"-e %.*s: cannot be recorded on Windows yet; leave it away",
				(int)event.n, event.p);
	return DNP_EXIT_DONE;
}

static bool is_any_delivered(const struct dnp_choice *choice)
{
	struct dnp_str rest = dnp_str(choice->agent.event), event;

	while (dnp_str_cut(&rest, ',', &event))
		if (has(delivered_events, DNP_ARRAY_SIZE(delivered_events), event))
			return true;
	return false;
}

static int parse(struct run *run, const struct dnp_values *values)
{
	int status = check_options(values);

	if (!status)
		status = dnp_choice_parse(&run->choice, values);
	if (!status)
		status = check_events(&run->choice);
	if (!dnp_given(values, "engine"))
		run->choice.agent.engine = DNP_ENGINE_SUSPEND;
	return status;
}

/* What becomes of the recording, as an exit status. */
static int conclude(struct run *run)
{
	const struct dnp_start *start = &run->start;
	char reason[DNP_SESSION_REASON] = "";
	struct dnp_result result = {
		.choice = &run->choice,
		.recording = start->recording,
		.path = start->output.path,
		.root = "",
		.failure = reason,
		.elapsed_ns = start->elapsed_ns,
	};

	if (start->interrupts > 1)
		return dnp_result_leave(&result);
	dnp_start_failure(start, reason);
	return dnp_result_of_children(
		&start->sum, start->session->refused, dnp_result_make(&result));
}

static int run_program(struct run *run)
{
	struct dnp_start *start = &run->start;
	struct dnp_err err = {0};
	int ret = dnp_start_run(start, &err), status;

	if (ret && !start->ended)
		return dnp_failed(&err);
	status = ret ? dnp_failed(&err) : conclude(run);
	return start->status ? (int)start->status : status;
}

static int record(struct run *run, char *const *command)
{
	const struct dnp_choice *choice = &run->choice;
	struct dnp_start_options options = {
		.command = command,
		.output = choice->output,
		.raw = !choice->exporter,
		.children = dnp_given(choice->values, "children"),
		.duration_ns = choice->duration_ns,
		.in_place = is_any_delivered(choice),
		.agent = choice->agent,
	};
	struct dnp_err err = {0};
	int status;

	if (dnp_start_open(&run->start, &options, &err))
		return dnp_failed(&err);
	if (choice->verbose)
		dnp_say("starting %s with the agent %s", command[0], run->start.agent);
	status = run_program(run);
	dnp_start_done(&run->start);
	return status;
}

int dnp_cmd_run(const struct dnp_values *values, int argc, char **argv)
{
	struct run run = {0};
	int status;

	if (!argc)
		return dnp_usage("run", "the command to run is missing");
	status = parse(&run, values);
	if (!status)
		status = record(&run, argv);
	dnp_choice_done(&run.choice);
	return status;
}
