/* SPDX-License-Identifier: MIT */
/* dnprof run: a program from its start to its end, and what it spent its CPU time on. */
#include "cli/run.h"

#include <sys/wait.h>

#include "base/clean.h"
#include "cli/progress.h"
#include "cli/result.h"
#include "launch/environment.h"
#include "launch/launch.h"
#include "os/console.h"
#include "os/sampling_signal.h"

struct run {
	struct dnp_choice choice;
	struct dnp_launch launch;
};

static void show_progress(void *context, const struct dnp_launch *launch)
{
	const struct run *run = context;
	const struct dnp_progress now = {
		.elapsed_ns = launch->elapsed_ns,
		.cpu_ns = launch->cpu_ns,
		.sum = &launch->sum,
		.stopped = launch->stopped,
	};

	dnp_progress_run(&run->choice, &now);
}

/* What became of the recording, as an exit status. */
static int conclude(struct run *run)
{
	struct dnp_launch *launch = &run->launch;
	char reason[DNP_SESSION_REASON] = "";
	struct dnp_result result = {.choice = &run->choice,
		.root = "",
		.failure = reason,
		.elapsed_ns = launch->elapsed_ns};
	struct dnp_err err = {0};

	if (!dnp_result_exists(launch->recording)) {
		dnp_launch_explain(launch, &err);
		return dnp_failed(&err);
	}
	/* Before what takes time: ctrl-C there ends dnprof at once and leaves just the recording.
	 */
	if (dnp_launch_keep(launch, &err))
		return dnp_result_unplaced(&err, dnp_launch_leave(launch));
	result.recording = launch->recording;
	result.path = launch->output.path;
	if (dnp_launch_in_hurry(launch))
		return dnp_result_leave(&result);
	dnp_launch_failure(launch, reason);
	return dnp_result_of_children(
		&launch->sum, launch->session->refused, dnp_result_make(&result));
}

int dnp_run_status(int program, int own)
{
	if (WIFSIGNALED(program))
		return 128 + WTERMSIG(program);
	return WEXITSTATUS(program) ? WEXITSTATUS(program) : own;
}

static int run_program(struct run *run)
{
	struct dnp_launch *launch = &run->launch;
	struct dnp_err err = {0};
	int ret = dnp_launch_run(launch, &err);
	int status;

	dnp_console_status_clear();
	if (ret && !launch->child.ended)
		return dnp_failed(&err);
	status = ret ? dnp_result_unplaced(&err, dnp_launch_leave(launch)) : conclude(run);
	if (WIFSIGNALED(launch->child.status) &&
		dnp_signal_brings_samples(WTERMSIG(launch->child.status)))
		dnp_say("signal %d, by which samples come, ended the program: if it replaced "
			"itself by another one (execve) while it was sampled, use --source timer",
			WTERMSIG(launch->child.status));
	return dnp_run_status(launch->child.status, status);
}

/* It stays where it is: ours is the one that stands beside it. */
static void tell_other_profiler(void)
{
	const char *other = dnp_environment_other();

	if (other)
		dnp_say("another profiler is configured, %s: the agent stands beside it, and takes "
			"samples only",
			other);
}

static int record(struct run *run, char *const *command)
{
	const struct dnp_choice *choice = &run->choice;
	struct dnp_launch_options options = {
		.command = command,
		.output = choice->output,
		.log = choice->log ? dnp_choice_log_path() : NULL,
		.raw = !choice->exporter,
		.children = dnp_given(choice->values, "children"),
		.duration_ns = choice->duration_ns,
		.agent = choice->agent,
	};
	struct dnp_err err = {0};
	int status;

	if (!choice->quiet && dnp_console_status_possible()) {
		options.progress = show_progress;
		options.context = run;
	}
	if (dnp_launch_open(&run->launch, &options, &err))
		return dnp_failed(&err);
	if (!choice->quiet)
		tell_other_profiler();
	if (choice->verbose)
		dnp_say("starting %s with the agent %s", run->launch.program.path,
			run->launch.agent);
	status = run_program(run);
	dnp_launch_done(&run->launch);
	return status;
}

int dnp_cmd_run(const struct dnp_values *values, int argc, char **argv)
{
	struct run run = {0};
	int status;

	if (!argc)
		return dnp_usage("run", "the command to run is missing");
	if (dnp_run_wants_profiler(values))
		return dnp_run_profiler(values, argv);
	status = dnp_choice_parse(&run.choice, values);
	if (!status)
		status = record(&run, argv);
	dnp_choice_done(&run.choice);
	return status;
}
