/* SPDX-License-Identifier: MIT */
/* dnprof stop: ends a recording that 'dnprof start' has begun. */
#include "cli/stop.h"

#include <string.h>

#include "base/clean.h"
#include "base/sink.h"
#include "cli/result.h"
#include "launch/control.h"
#include "launch/copy.h"
#include "launch/interrupt.h"
#include "launch/rights.h"
#include "os/file.h"

/* Where the recording goes that lies nowhere here, and nobody said where to. */
#define ELSEWHERE "dnprof-%p-%t.dnp"

struct stop {
	const struct dnp_choice *choice;
	pid_t pid;
	uint64_t patience_ns;
	struct dnp_interrupt interrupt; /* until there is nothing to be removed any more */
	struct dnp_status before;       /* how things stood */
	struct dnp_control_ended ended;
};

/* Ends it; *fd: the recording. 0 or -errno, -ENODATA: there is none. */
static int end(struct stop *stop, int *fd, struct dnp_err *err)
{
	struct dnp_control *control;
	int ret = dnp_control_open(&control, stop->pid, stop->patience_ns, err);

	if (ret)
		return ret;
	dnp_control_interrupt_by(control, stop->interrupt.fd);
	ret = dnp_control_stop(control, fd, &stop->ended, err);
	dnp_control_close(control);
	return ret;
}

/* What becomes of a copy, in another place, as what is asked for. An exit status. */
static int conclude_copy(struct stop *stop, const struct dnp_copy *copy)
{
	dnp_interrupt_give_back(&stop->interrupt);
	return dnp_result_of_process(
		&(struct dnp_result){
			.choice = stop->choice,
			.recording = copy->recording,
			.path = copy->output.path,
			.failure = stop->ended.why,
		},
		stop->pid);
}

static int take_copy(struct stop *stop, struct dnp_copy *copy, int from, struct dnp_err *err)
{
	return dnp_copy_take(copy, from, !stop->choice->exporter, false, err);
}

static int make_copy(struct stop *stop, struct dnp_copy *copy, int from)
{
	struct dnp_err err = {0};

	return take_copy(stop, copy, from, &err) ? dnp_failed(&err) : conclude_copy(stop, copy);
}

/* The name in the folder of temporary files, which may have characters that patterns have. */
static char *temporary_pattern(void)
{
	auto_free char *folder = dnp_folder_temporary();
	struct dnp_sink_memory text;

	dnp_sink_memory_init(&text);
	for (const char *p = folder; p && *p; p++)
		dnp_sink_printf(&text.sink, *p == '%' ? "%%%%" : "%c", *p);
	dnp_sink_write(&text.sink, "/" ELSEWHERE, sizeof("/" ELSEWHERE));
	if (folder && !text.sink.error)
		return text.bytes.p;
	dnp_vec_done(&text.bytes);
	return NULL;
}

/* *status: what became of it there, and of what was tried before. False: nothing. */
static bool copy_to(struct stop *stop, const char *pattern, int from, int *status)
{
	struct dnp_copy copy;
	struct dnp_err err = {0};
	int failed = dnp_copy_open(&copy, pattern, stop->pid, &err), concluded;

	if (!failed)
		failed = take_copy(stop, &copy, from, &err);
	if (failed) {
		*status = dnp_failed(&err);
	} else {
		if (*status)
			dnp_say("the recording is kept: %s", copy.recording);
		concluded = conclude_copy(stop, &copy);
		*status = *status ? *status : concluded;
	}
	dnp_copy_done(&copy);
	return !failed;
}

/* It lies nowhere any more: where it cannot be here it goes to the temporary files. */
static int copy_elsewhere(struct stop *stop, int from)
{
	auto_free char *temporary = NULL;
	int status = DNP_EXIT_DONE;

	if (copy_to(stop, ELSEWHERE, from, &status))
		return status;
	temporary = temporary_pattern();
	if (temporary)
		copy_to(stop, temporary, from, &status);
	return status;
}

/* Who else waits for the end of the recording makes of it what it was asked for. */
static int leave_to_client(const struct stop *stop)
{
	if (!stop->choice->quiet)
		dnp_say("the recording of process %d has ended; the 'dnprof run' or 'dnprof "
			"record' that asked for it has it now",
			(int)stop->pid);
	return DNP_EXIT_DONE;
}

/*
 * Of the user's, who may be another one. *from is closed meanwhile, as not every system replaces a
 * file that somebody has open, and is the finished one then.
 */
static void finish(const struct stop *stop, const char *original, int *from)
{
	struct dnp_rights rights;

	dnp_rights_take(&rights, *from);
	close(*from);
	dnp_result_finish_of_process(stop->pid, original);
	*from = dnp_file_open(original);
	dnp_rights_give_back(&rights);
}

/* What becomes of the recording *from. An exit status. */
static int conclude(struct stop *stop, struct dnp_copy *copy, int *from)
{
	/* It may have begun only after the look at how things stood. */
	bool awaited = stop->ended.awaited || stop->before.awaited;
	auto_free char *original = awaited ? NULL : dnp_copy_placed(*from, stop->interrupt.fd);

	if (original)
		finish(stop, original, from);
	if (copy)
		return make_copy(stop, copy, *from);
	if (original) {
		dnp_interrupt_give_back(&stop->interrupt);
		return dnp_result_of_process(
			&(struct dnp_result){
				.choice = stop->choice,
				.recording = original,
				.path = original,
				.failure = stop->ended.why,
				.finished = true,
			},
			stop->pid);
	}
	return awaited ? leave_to_client(stop) : copy_elsewhere(stop, *from);
}

static int stop_recording(const struct dnp_choice *choice, struct dnp_stopped *stopped)
{
	struct stop stop = {
		.choice = choice,
		.pid = stopped->pid,
		.patience_ns = stopped->patience_ns,
		.interrupt.fd = -1,
	};
	struct dnp_copy copy = {.fd = -1};
	struct dnp_err err = {0};
	auto_close int fd = -1;
	int ret = dnp_control_status(stop.pid, stop.patience_ns, &stop.before, &err), status;

	if (!ret)
		ret = dnp_interrupt_take(&stop.interrupt, &err);
	/* A place that cannot be written is told before the recording ends. */
	if (!ret && choice->output)
		ret = dnp_copy_open(&copy, choice->output, stop.pid, &err);
	if (!ret)
		ret = end(&stop, &fd, &err);
	stopped->recorded = ret != -ENODATA;
	memcpy(stopped->failure, stop.before.failure, sizeof(stopped->failure));
	if (ret)
		status = stopped->recorded ? dnp_failed(&err) : DNP_EXIT_DONE;
	else
		status = conclude(&stop, choice->output ? &copy : NULL, &fd);
	dnp_copy_done(&copy);
	dnp_interrupt_give_back(&stop.interrupt);
	return status;
}

int dnp_stop(const char *command, const struct dnp_values *values, int argc, char **argv,
	struct dnp_stopped *stopped)
{
	struct dnp_choice choice;
	int status = dnp_take_pid(command, argc, argv, &stopped->pid);

	stopped->recorded = false;
	*stopped->failure = '\0';
	if (!status)
		status = dnp_take_timeout(values, &stopped->patience_ns);
	if (status)
		return status;
	status = dnp_choice_parse(&choice, values);
	if (!status)
		status = stop_recording(&choice, stopped);
	stopped->quiet = choice.quiet;
	dnp_choice_done(&choice);
	return status;
}

int dnp_cmd_stop(const struct dnp_values *values, int argc, char **argv)
{
	struct dnp_stopped stopped;
	int status = dnp_stop("stop", values, argc, argv, &stopped);

	if (status || stopped.recorded)
		return status;
	if (*stopped.failure)
		dnp_say("process %d is not being recorded any more: %s", (int)stopped.pid,
			stopped.failure);
	else
		dnp_say("process %d is not being recorded; 'dnprof start %d' begins",
			(int)stopped.pid, (int)stopped.pid);
	return DNP_EXIT_FAILED;
}
