/* SPDX-License-Identifier: MIT */
/* dnprof timeline: when each thread of any program ran. */
#include <stdio.h>
#include <string.h>

#include "base/clean.h"
#include "cli/live.h"
#include "cli/progress.h"
#include "cli/result.h"
#include "launch/follow.h"
#include "launch/output.h"
#include "os/clock.h"
#include "os/console.h"
#include "switches/file.h"

#define MS_NS       UINT64_C(1000000)
#define TICK_MS     100
#define PROGRESS_NS (500 * MS_NS)

struct timeline {
	struct dnp_choice choice;
	uint64_t duration_ns; /* 0: to the end */
	unsigned more;        /* enum dnp_switch_more */
	struct dnp_output output;
	char *recording; /* owned; where it lies */
	struct dnp_switch_file file;
	bool recording_now;
	int failed; /* -errno of a write */
	uint64_t start_ns, elapsed_ns, progress_ns;
	bool interrupted; /* by a second ctrl-C: what takes time is left out */
};

/* ---- The recording */

/* Whether the reason says why not all is recorded that could be. */
static bool lacks_something(const struct timeline *timeline)
{
	const struct dnp_taker *taker = &timeline->file.taker;

	return dnp_taker_interval_ns(taker) ||
		(timeline->more & DNP_SWITCH_OTHERS && !dnp_taker_has_others(taker));
}

/* Makes the file and watches the process. 0 or -errno, and nothing is left of it. */
static int begin(struct timeline *timeline, int pid, char *const *command, struct dnp_err *err)
{
	struct dnp_switch_file *file = &timeline->file;
	int fd, ret = dnp_output_name(&timeline->output, pid, err);

	if (ret)
		return ret;
	fd = dnp_output_make_recording(&timeline->output, &timeline->recording, err);
	if (fd < 0)
		return fd;
	ret = dnp_switch_file_open(file, fd, pid, timeline->more, err);
	if (ret)
		return ret;
	ret = dnp_switch_file_begin(file, command, err);
	if (ret) {
		dnp_switch_file_abandon(file);
		return ret;
	}
	timeline->recording_now = true;
	timeline->start_ns = dnp_now_ns();
	if (lacks_something(timeline) && !timeline->choice.quiet)
		dnp_say("%s", dnp_taker_reason(&file->taker));
	else if (timeline->choice.verbose)
		dnp_say("recording process %d, %s", pid, dnp_taker_reason(&file->taker));
	return 0;
}

static void end(struct timeline *timeline, enum dnp_end_reason reason)
{
	int failed;

	if (!timeline->recording_now)
		return;
	timeline->recording_now = false;
	failed = dnp_switch_file_end(&timeline->file, reason);
	/* What went wrong before stays so if the end finds room. */
	if (!timeline->failed)
		timeline->failed = failed;
	timeline->elapsed_ns = dnp_now_ns() - timeline->start_ns;
}

static void show_progress(struct timeline *timeline)
{
	const struct dnp_taker *taker = &timeline->file.taker;

	if (timeline->choice.quiet || !dnp_console_status_possible() ||
		timeline->elapsed_ns < timeline->progress_ns)
		return;
	timeline->progress_ns = timeline->elapsed_ns + PROGRESS_NS;
	dnp_progress_show("dnprof: %.0f s, %'llu slices, lost %'llu%s",
		(double)timeline->elapsed_ns / 1e9, (unsigned long long)taker->slices,
		(unsigned long long)taker->lost,
		timeline->recording_now ? "" : ", recording ended");
}

/* Some ten times a second; `stop`: somebody wants it to end. */
static void tick(struct timeline *timeline, bool stop)
{
	uint64_t elapsed_ns = dnp_now_ns() - timeline->start_ns;

	if (timeline->recording_now) {
		timeline->elapsed_ns = elapsed_ns;
		timeline->failed = dnp_switch_file_write(&timeline->file);
		if (timeline->failed)
			end(timeline, DNP_END_DISK);
		else if (stop || (timeline->duration_ns && elapsed_ns >= timeline->duration_ns))
			end(timeline, DNP_END_STOP);
	}
	show_progress(timeline);
}

static int tick_ms(const struct timeline *timeline)
{
	uint64_t elapsed_ns = dnp_now_ns() - timeline->start_ns, left_ms;

	if (!timeline->recording_now || !timeline->duration_ns)
		return TICK_MS;
	left_ms = timeline->duration_ns > elapsed_ns
		? (timeline->duration_ns - elapsed_ns) / MS_NS + 1
		: 0;
	return left_ms < TICK_MS ? (int)left_ms : TICK_MS;
}

/* Before what takes time, and may be interrupted: the recording gets its place. An exit status. */
static int keep(struct timeline *timeline)
{
	struct dnp_err err = {0};

	if (dnp_output_place_recording(
		    &timeline->output, !timeline->choice.exporter, &timeline->recording, &err))
		return dnp_result_unplaced(&err, dnp_output_leave(&timeline->output));
	dnp_output_clean(&timeline->output);
	return DNP_EXIT_DONE;
}

/* What becomes of it. An exit status. */
static int conclude(const struct timeline *timeline)
{
	char reason[160] = "";
	struct dnp_result result = {
		.choice = &timeline->choice,
		.recording = timeline->recording,
		.path = timeline->output.path,
		.root = "",
		.failure = reason,
		.elapsed_ns = timeline->elapsed_ns,
	};

	if (timeline->failed)
		snprintf(reason, sizeof(reason),
			"the recording ended early: writing it failed: %s; %s and record again",
			strerror(-timeline->failed),
			timeline->failed == -EFBIG ? "raise the limit (ulimit -f)" : "make room");
	return timeline->interrupted ? dnp_result_leave(&result) : dnp_result_make(&result);
}

/* ---- A program from its start */

static int start(struct timeline *timeline, struct dnp_follow *program, struct dnp_err *err)
{
	int ret = dnp_follow_make(program, err);

	if (ret)
		return ret;
	ret = begin(timeline, program->pid, program->command, err);
	if (ret) {
		dnp_follow_abandon(program);
		return ret;
	}
	ret = dnp_follow_go(program, err);
	if (ret)
		dnp_switch_file_abandon(&timeline->file);
	return ret;
}

static void follow(struct timeline *timeline, struct dnp_follow *program)
{
	while (!program->ended) {
		dnp_follow_wait(program, tick_ms(timeline));
		if (!program->ended)
			tick(timeline, program->interrupts);
	}
	end(timeline, DNP_END_EXIT);
	timeline->interrupted = program->interrupts > 1;
}

/* The program's own goes first. */
static int status_of(const struct dnp_ended *program, int own)
{
	if (program->signal)
		return 128 + (int)program->signal;
	return program->status ? (int)program->status : own;
}

static int run_program(struct timeline *timeline, struct dnp_follow *program, char *const *command)
{
	struct dnp_err err = {0};
	int status;

	if (dnp_follow_command(program, command, &err) ||
		dnp_output_open(&timeline->output, timeline->choice.output, &err) ||
		start(timeline, program, &err))
		return dnp_failed(&err);
	follow(timeline, program);
	dnp_console_status_clear();
	if (!timeline->failed)
		dnp_record_exit(timeline->recording, program->pid, program->how, &err);
	status = keep(timeline);
	dnp_follow_leave(program);
	if (!status)
		status = conclude(timeline);
	return status_of(&program->how, status);
}

/* ---- A process that runs already */

static void watch(struct timeline *timeline, struct dnp_follow *process)
{
	while (timeline->recording_now) {
		dnp_follow_wait(process, tick_ms(timeline));
		if (!process->interrupts && dnp_taker_ended_ns(&timeline->file.taker)) {
			end(timeline, DNP_END_EXIT);
			if (!timeline->choice.quiet)
				dnp_say("process %d has ended, after %.1f s", process->pid,
					(double)timeline->elapsed_ns / 1e9);
			return;
		}
		tick(timeline, process->interrupts);
	}
	dnp_follow_wait(process, 0);
	timeline->interrupted = process->interrupts > 1;
}

static int record(struct timeline *timeline, struct dnp_follow *process, pid_t pid)
{
	struct dnp_err err = {0};
	int status;

	if (dnp_follow_process(process, (int)pid, &err) ||
		dnp_output_open(&timeline->output, timeline->choice.output, &err) ||
		begin(timeline, (int)pid, NULL, &err))
		return dnp_failed(&err);
	watch(timeline, process);
	dnp_console_status_clear();
	status = keep(timeline);
	dnp_follow_leave(process);
	return status ? status : conclude(timeline);
}

/* ---- The command */

static bool is_pid(const char *word)
{
	return *word && !word[strspn(word, "0123456789")];
}

/* Nothing is written: what says how to record has nothing to say here. */
static int show_live(const struct dnp_values *values, pid_t pid)
{
	static const char *const not_live[] = {"others", "wakeups", "verbose"};
	const char *duration = dnp_value(values, "duration");
	uint64_t duration_ns = 0;

	if (!pid)
		return dnp_usage("timeline",
			"--live watches a process that runs already; give its process id");
	if (dnp_given(values, "output"))
		return dnp_usage("timeline", "--live writes nothing; leave -o away, or --live");
	for (size_t i = 0; i < DNP_ARRAY_SIZE(not_live); i++)
		if (dnp_given(values, not_live[i]))
			return dnp_usage("timeline",
				"--%s is for what is recorded; leave it away, or --live",
				not_live[i]);
	if (duration && !dnp_parse_seconds(duration, &duration_ns))
		return dnp_usage("timeline", "-d %s: not a time in seconds", duration);
	return dnp_live(pid, duration_ns);
}

static int parse(struct timeline *timeline, const struct dnp_values *values)
{
	const char *duration = dnp_value(values, "duration");
	int status = dnp_choice_parse(&timeline->choice, values);

	timeline->more = (dnp_given(values, "others") ? DNP_SWITCH_OTHERS : 0u) |
		(dnp_given(values, "wakeups") ? DNP_SWITCH_WAKEUPS : 0u);
	if (!status && duration && !dnp_parse_seconds(duration, &timeline->duration_ns))
		return dnp_usage("timeline", "-d %s: not a time in seconds", duration);
	return status;
}

int dnp_cmd_timeline(const struct dnp_values *values, int argc, char **argv)
{
	struct timeline timeline = {0};
	struct dnp_follow followed = {0};
	pid_t pid = 0;
	int status;

	if (!argc)
		return dnp_usage("timeline", "the command to run, or a process id, is missing");
	status = is_pid(argv[0]) ? dnp_take_pid("timeline", argc, argv, &pid) : DNP_EXIT_DONE;
	if (!status && dnp_given(values, "live"))
		return show_live(values, pid);
	if (!status)
		status = parse(&timeline, values);
	if (!status)
		status = pid ? record(&timeline, &followed, pid)
			     : run_program(&timeline, &followed, argv);
	dnp_follow_done(&followed);
	dnp_output_done(&timeline.output);
	free(timeline.recording);
	dnp_choice_done(&timeline.choice);
	return status;
}
