/* SPDX-License-Identifier: MIT */
/* dnprof run, for Windows: a program from its start to its end, and what its threads did. */
#include "base/clean.h"
#include "cli/progress.h"
#include "cli/result.h"
#include "launch/start.h"
#include "os/console.h"
#include "os/tasks.h"

struct run {
	struct dnp_choice choice;
	struct dnp_start start;
};

/* The runtime itself delivers these, see launch/start.h. */
static bool is_any_delivered(const struct dnp_choice *choice)
{
	static const char *const delivered[] = {
		"alloc", "gc", "jit", "lock", "request", "waithandle"};
	struct dnp_str rest = dnp_str(choice->agent.event), event;

	while (dnp_str_cut(&rest, ',', &event))
		for (size_t i = 0; i < DNP_ARRAY_SIZE(delivered); i++)
			if (dnp_str_eq(event, dnp_str(delivered[i])))
				return true;
	return false;
}

static void show_progress(void *context, const struct dnp_start *start)
{
	const struct run *run = context;
	const struct dnp_progress now = {
		.elapsed_ns = start->elapsed_ns,
		.cpu_ns = dnp_process_cpu_ns(start->pid),
		.sum = &start->sum,
		.stopped = start->stopped,
	};

	dnp_progress_run(&run->choice, &now);
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

	dnp_console_status_clear();
	if (ret && !start->ended)
		return dnp_failed(&err);
	status = ret ? dnp_result_unplaced(&err, dnp_start_leave(start)) : conclude(run);
	return start->status ? (int)start->status : status;
}

static int record(struct run *run, char *const *command)
{
	const struct dnp_choice *choice = &run->choice;
	struct dnp_start_options options = {
		.command = command,
		.output = choice->output,
		.log = choice->log ? dnp_choice_log_path() : NULL,
		.raw = !choice->exporter,
		.children = dnp_given(choice->values, "children"),
		.duration_ns = choice->duration_ns,
		.in_place = is_any_delivered(choice),
		.agent = choice->agent,
	};
	struct dnp_err err = {0};
	int status;

	if (!choice->quiet && dnp_console_status_possible()) {
		options.progress = show_progress;
		options.context = run;
	}
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
	status = dnp_choice_parse(&run.choice, values);
	if (!status)
		status = record(&run, argv);
	dnp_choice_done(&run.choice);
	return status;
}
