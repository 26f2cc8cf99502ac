/* SPDX-License-Identifier: MIT */
/* dnprof record: a running process, for a time, and what it spent it on. */
#include <stdio.h>

#include "cli/progress.h"
#include "cli/result.h"
#include "launch/held.h"
#include "os/console.h"
#include "os/file.h"

struct record {
	struct dnp_choice choice;
	struct dnp_held held;
};

static void show_progress(void *context, const struct dnp_held *held)
{
	(void)context;
	dnp_progress_samples(held->elapsed_ns, held->samples, held->lost, held->cpu_ns, "");
}

/* What the user did not ask for, and should know. */
static void tell_end(const struct record *record)
{
	const struct dnp_held *held = &record->held;
	int pid = (int)held->options.remote.pid;

	if (held->stays)
		dnp_say("%s", held->why_stays);
	if (record->choice.quiet)
		return;
	if (held->end == DNP_HELD_EXITED)
		dnp_say("process %d has ended, after %.1f s", pid, (double)held->elapsed_ns / 1e9);
	if (held->end == DNP_HELD_BY_OTHERS)
		dnp_say("the recording of process %d was ended by another 'dnprof stop' or "
			"'dnprof detach', after %.1f s",
			pid, (double)held->elapsed_ns / 1e9);
}

static int tell_nothing(const struct record *record)
{
	const struct dnp_held *held = &record->held;

	if (*held->why)
		dnp_say("%s", held->why);
	else
		dnp_say("nothing was recorded: process %d ended before anything was written; "
			"record it longer",
			(int)held->options.remote.pid);
	dnp_file_remove(held->remote.recording);
	return DNP_EXIT_FAILED;
}

/* What became of the recording, as an exit status. */
static int conclude(const struct record *record)
{
	const struct dnp_held *held = &record->held;
	char root[32] = "";
	struct dnp_result result = {
		.choice = &record->choice,
		.recording = held->remote.recording,
		.path = held->remote.output.path,
		.root = root,
		.failure = held->why,
		.elapsed_ns = held->elapsed_ns,
	};

	tell_end(record);
	if (held->end == DNP_HELD_LEFT)
		return dnp_result_leave(&result);
	if (!dnp_result_exists(result.recording))
		return tell_nothing(record);
	if (held->root >= 0)
		snprintf(root, sizeof(root), "/proc/self/fd/%d", held->root);
	return dnp_result_make(&result);
}

static int make_recording(struct record *record, const struct dnp_held_options *options)
{
	struct dnp_held *held = &record->held;
	struct dnp_err err = {0};
	int status;

	if (dnp_held_begin(held, options, &err)) {
		status = dnp_failed(&err);
		dnp_held_done(held);
		return status;
	}
	if (record->choice.verbose)
		dnp_say("recording process %d, %s%s", (int)options->remote.pid,
			held->remote.attached ? "attached for it" : "which has the agent",
			held->remote.how.notification ? " beside another profiler" : "");
	dnp_held_wait(held);
	dnp_console_status_clear();
	status = conclude(record);
	if (held->end != DNP_HELD_LEFT)
		dnp_held_wait_gone(held);
	dnp_held_done(held);
	return status;
}

int dnp_cmd_record(const struct dnp_values *values, int argc, char **argv)
{
	struct record record = {0};
	const struct dnp_choice *choice = &record.choice;
	struct dnp_held_options options = {.remote = {.attach = true}};
	int status = dnp_take_pid("record", argc, argv, &options.remote.pid);

	if (!status)
		status = dnp_take_timeout(values, &options.remote.patience_ns);
	if (status)
		return status;
	status = dnp_choice_parse(&record.choice, values);
	if (!status) {
		options.remote.output = choice->output;
		options.remote.raw = !choice->exporter;
		options.remote.agent = choice->agent;
		options.duration_ns = choice->duration_ns;
		if (!choice->quiet && dnp_console_status_possible())
			options.progress = show_progress;
		status = make_recording(&record, &options);
	}
	dnp_choice_done(&record.choice);
	return status;
}
