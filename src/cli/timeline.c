/* SPDX-License-Identifier: MIT */
/* dnprof timeline: when each thread of any program ran. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clean.h"
#include "cli/live.h"
#include "cli/progress.h"
#include "cli/result.h"
#include "cli/run.h"
#include "launch/child.h"
#include "launch/interrupt.h"
#include "launch/output.h"
#include "launch/program.h"
#include "launch/record.h"
#include "os/clock.h"
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
static int begin(struct timeline *timeline, pid_t pid, char *const *command, struct dnp_err *err)
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
		dnp_say("recording process %d, %s", (int)pid, dnp_taker_reason(&file->taker));
	return 0;
}

static void end(struct timeline *timeline, enum dnp_end_reason reason)
{
	if (!timeline->recording_now)
		return;
	timeline->recording_now = false;
	timeline->failed = dnp_switch_file_end(&timeline->file, reason);
	timeline->elapsed_ns = dnp_now_ns() - timeline->start_ns;
}

static void show_progress(struct timeline *timeline)
{
	const struct dnp_taker *taker = &timeline->file.taker;

	if (timeline->choice.quiet || !dnp_progress_possible() ||
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
		return dnp_failed(&err);
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
			"the recording ended early: writing it failed: %s; make room and record "
			"again",
			strerror(-timeline->failed));
	return timeline->interrupted ? dnp_result_leave(&result) : dnp_result_make(&result);
}

/* ---- A program from its start */

struct launch {
	struct dnp_program program;
	char *const *command;
};

static int enter(void *context)
{
	const struct launch *launch = context;

	execv(launch->program.path, launch->command);
	return -errno;
}

static int start(struct timeline *timeline, struct launch *launch, struct dnp_child *child,
	struct dnp_err *err)
{
	int ret = dnp_child_fork(child, enter, launch, err);

	if (ret)
		return ret;
	ret = begin(timeline, child->pid, launch->command, err);
	if (ret) {
		dnp_child_abandon(child);
		return ret;
	}
	ret = dnp_child_release(child);
	if (!ret)
		return 0;
	dnp_switch_file_abandon(&timeline->file);
	return dnp_err(err, ret, "cannot start %s: %s", launch->program.path, strerror(-ret));
}

static void follow(struct timeline *timeline, struct dnp_child *child)
{
	while (!child->ended) {
		dnp_child_wait(child, tick_ms(timeline));
		if (!child->ended)
			tick(timeline, child->interrupts);
	}
	end(timeline, DNP_END_EXIT);
	timeline->interrupted = child->interrupts > 1;
}

static int run_program(struct timeline *timeline, struct launch *launch)
{
	struct dnp_err err = {0};
	struct dnp_child child;
	int status;

	if (dnp_program_find(&launch->program, launch->command[0], &err) ||
		dnp_output_open(&timeline->output, timeline->choice.output, &err) ||
		start(timeline, launch, &child, &err))
		return dnp_failed(&err);
	follow(timeline, &child);
	dnp_progress_clear();
	if (!timeline->failed)
		dnp_record_exit(timeline->recording, child.pid, dnp_child_ended(&child), &err);
	status = keep(timeline);
	dnp_child_done(&child);
	if (!status)
		status = conclude(timeline);
	return dnp_run_status(child.status, status);
}

/* ---- A process that runs already */

static void watch(struct timeline *timeline, pid_t pid, const struct dnp_interrupt *signals)
{
	struct pollfd ready = {.fd = signals->fd, .events = POLLIN};
	unsigned interrupts = 0;

	while (timeline->recording_now) {
		poll(&ready, 1, tick_ms(timeline));
		interrupts += dnp_interrupt_count(signals);
		if (!interrupts && dnp_taker_ended_ns(&timeline->file.taker)) {
			end(timeline, DNP_END_EXIT);
			if (!timeline->choice.quiet)
				dnp_say("process %d has ended, after %.1f s", (int)pid,
					(double)timeline->elapsed_ns / 1e9);
			return;
		}
		tick(timeline, interrupts);
	}
	timeline->interrupted = interrupts + dnp_interrupt_count(signals) > 1;
}

static int record(struct timeline *timeline, pid_t pid)
{
	struct dnp_interrupt signals;
	struct dnp_err err = {0};
	int status;

	if (dnp_interrupt_take(&signals, &err) ||
		dnp_output_open(&timeline->output, timeline->choice.output, &err) ||
		begin(timeline, pid, NULL, &err))
		return dnp_failed(&err);
	watch(timeline, pid, &signals);
	dnp_progress_clear();
	status = keep(timeline);
	dnp_interrupt_give_back(&signals);
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
	struct launch launch = {.command = argv};
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
		status = pid ? record(&timeline, pid) : run_program(&timeline, &launch);
	dnp_program_done(&launch.program);
	dnp_output_done(&timeline.output);
	free(timeline.recording);
	dnp_choice_done(&timeline.choice);
	return status;
}
