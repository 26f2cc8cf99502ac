/* SPDX-License-Identifier: MIT */
#include "cli/result.h"

#include <stdio.h>
#include <string.h>

#include "aggregate/live.h"
#include "base/clean.h"
#include "export/log.h"
#include "export/share.h"
#include "os/file.h"
#include "read/pack.h"
#include "read/symbolize.h"

/* More samples lost than this share of all: the result is called incomplete. */
#define MAX_LOST_SHARE 0.01

/* What formats of stacks show; DNP_NONE: no event has any. */
static uint32_t first_with_stacks(const struct dnp_profile *profile)
{
	for (uint32_t i = 0; i < profile->events.n; i++)
		if (!profile->events.p[i].switches && !profile->events.p[i].says)
			return i;
	return DNP_NONE;
}

static bool holds_anything(const struct dnp_event *event)
{
	return event->taken || (event->calls && event->calls->calls) ||
		event->voluntary + event->involuntary || (event->says && event->samples);
}

static bool is(const struct dnp_profile *profile, const struct dnp_event *event, const char *name)
{
	return !strcmp(dnp_profile_string(profile, event->name), name);
}

/* Whether what is written has that event: why threads waited goes with their switches. */
static bool is_written(const struct dnp_result *result, uint32_t event)
{
	const struct dnp_profile *profile = &result->profile;
	const struct dnp_event *it = &profile->events.p[event];

	if (result->choice->exporter->switches)
		return it->switches || it->says || is(profile, it, "wait");
	return event == first_with_stacks(profile);
}

/* Lists what is not in it, while all events are there. */
static void list_what_goes(struct dnp_result *result)
{
	const struct dnp_profile *profile = &result->profile;

	for (uint32_t i = 0; i < profile->events.n; i++)
		if (holds_anything(&profile->events.p[i]) && !is_written(result, i))
			dnp_sink_printf(&result->goes.sink, "%s%s",
				result->goes.bytes.n ? ", " : "",
				dnp_profile_string(profile, profile->events.p[i].name));
}

/* The recording goes once it is written: what that cannot hold is lost. */
static void say_what_goes(const struct dnp_result *result, uint32_t shown)
{
	const struct dnp_profile *profile = &result->profile;
	int n = (int)result->goes.bytes.n;
	const char *goes = result->goes.bytes.p;

	if (!n || result->goes.sink.error || result->choice->quiet)
		return;
	if (result->choice->exporter->switches)
		dnp_say("%s has the switches alone, nothing of %.*s; a .html, .dnp or .txt has all",
			result->path, n, goes);
	else
		dnp_say("%s has the stacks of %s alone, nothing of %.*s; a .html, .dnp or .txt "
			"has all",
			result->path, dnp_profile_string(profile, profile->events.p[shown].name), n,
			goes);
}

static void keep_stacks(struct dnp_result *result)
{
	bool any = result->profile.events.n;

	dnp_profile_keep_stacks(&result->profile);
	result->only_switches = any && !result->profile.events.n;
}

static int load_profile(struct dnp_result *result, struct dnp_input *input, struct dnp_err *err)
{
	const struct dnp_choice *choice = result->choice;
	bool chooses = !choice->exporter || choice->exporter->chooses;
	struct dnp_filter filter = {.native = chooses ? DNP_NATIVE_ALL : choice->native};
	int ret;

	/* Calls are recorded so; samples are written so, unless the recording itself is asked for.
	 */
	if (choice->exporter) {
		filter.include = choice->include.list.p;
		filter.include_count = choice->include.list.n;
		filter.exclude = choice->exclude.list.p;
		filter.exclude_count = choice->exclude.list.n;
	}

	ret = dnp_input_add_file(input, result->recording, err);
	if (!ret)
		ret = dnp_input_finish(input, err);
	if (!ret)
		ret = dnp_profile_init(&result->profile,
			choice->exporter ? choice->exporter->detail : DNP_SUMS, &filter);
	result->profile.calls_summed = !choice->exporter;
	if (!ret)
		ret = dnp_profile_add(&result->profile, input, err);
	if (!ret)
		dnp_profile_finish(&result->profile);
	if (!ret && choice->exporter && (choice->exporter->single || choice->exporter->switches))
		list_what_goes(result);
	if (!ret && choice->exporter && choice->exporter->stacks)
		keep_stacks(result);
	return ret;
}

static int export(struct dnp_result *result, const struct dnp_input *input, struct dnp_err *err)
{
	const struct dnp_choice *choice = result->choice;
	struct dnp_export_options options = {
		.input = input,
		.native = choice->native,
		.top = choice->exporter == &dnp_export_text ? 20 : 0,
		.min_percent = choice->exporter == &dnp_export_text ? 1 : 0,
		.methods = true,
		.threads = true,
		.tree = true,
		.every_event = true,
	};
	int ret;

	if (result->only_switches)
		return dnp_err(err, -ENODATA,
			"cannot write %s: that shows stacks, and switches have none; write a "
			".html, .dnp or .txt",
			result->path);
	if (!result->profile.events.n)
		return dnp_err(
			err, -ENODATA, "the recording has no samples; let the program run longer");
	if (choice->exporter->switches && !dnp_profile_switches(&result->profile, &options.event))
		return dnp_err(err, -ENODATA,
			"cannot write %s: that shows switches of threads, and none were recorded; "
			"record with -e switch",
			result->path);
	ret = dnp_export_file(choice->exporter, &result->profile, &options, result->path, err);
	if (!ret)
		say_what_goes(result, options.event);
	return ret;
}

/* What was recorded, all events together. */
struct totals {
	uint64_t samples;
	uint64_t judged, lost_samples; /* of events that count samples */
	uint64_t lost_in_queue;        /* of them, in that of signals */
	uint64_t calls, lost_calls;
	uint64_t switches, lost_switches;
	bool sampled, traced, switched;
};

/* What is lost of it is told in its unit, which is no sample. */
static bool loses_weight(const struct dnp_event *event)
{
	return !event->says && !event->switches && !event->calls &&
		(event->labels.n || event->in_ns || event->in_bytes);
}

static bool counts_samples(const struct dnp_profile *profile, const struct dnp_event *event)
{
	return !strcmp(dnp_profile_string(profile, event->unit), "samples");
}

static void add_samples(
	struct totals *totals, const struct dnp_profile *profile, const struct dnp_event *event)
{
	totals->sampled = true;
	totals->samples += event->says ? event->samples : event->taken;
	if (!counts_samples(profile, event))
		return;
	totals->judged += event->taken;
	totals->lost_samples += event->lost;
	totals->lost_in_queue += event->lost_by[DNP_LOSS_QUEUE];
}

static struct totals sum_up(const struct dnp_profile *profile)
{
	struct totals totals = {0};

	for (size_t i = 0; i < profile->events.n; i++) {
		const struct dnp_event *event = &profile->events.p[i];

		if (event->switches) {
			totals.switched = true;
			totals.switches += event->voluntary + event->involuntary;
			totals.lost_switches += event->lost;
		} else if (event->calls) {
			totals.traced = true;
			totals.calls += event->calls->calls;
			totals.lost_calls += event->lost;
		} else if (!is(profile, event, "wait") && !is(profile, event, "lock-owner")) {
			/* Why threads waited goes with switches, who had their locks with these. */
			add_samples(&totals, profile, event);
		}
	}
	return totals;
}

static bool is_much(uint64_t lost, uint64_t kept)
{
	return (double)lost > MAX_LOST_SHARE * (double)(kept + lost);
}

/* Beginnings, ends and points, each of which is said by itself. */
static uint64_t all_said(const struct dnp_profile *profile, const struct dnp_event *event)
{
	uint64_t all = 0;

	for (size_t i = 0; i < profile->spans.n; i++) {
		const struct dnp_span *span = &profile->spans.p[i];

		if (span->event != DNP_NONE && &profile->events.p[span->event] == event)
			all += 1 + span->ended;
	}
	return all;
}

/* What it is about, with what is lost; of objects that stay, what they could have been of. */
static uint64_t all_of(const struct dnp_profile *profile, const struct dnp_event *event)
{
	uint64_t all = dnp_live_allocated(profile, event);

	if (all)
		return all > event->lost ? all : event->lost;
	all = event->lost + (event->says ? all_said(profile, event) : 0);
	for (size_t k = 0; k < event->labels.n; k++)
		all += event->labels.p[k].sum.weight;
	return all;
}

/* Whether it is known how much there was, in its unit, of what is not counted in samples. */
static bool is_judged_alone(const struct dnp_profile *profile, const struct dnp_event *event)
{
	if (counts_samples(profile, event) || event->switches || event->calls)
		return false;
	return event->labels.n || event->says || !event->taken ||
		dnp_live_allocated(profile, event);
}

/* One of which much is lost, in its unit; NULL: none is. */
static const struct dnp_event *much_lost(const struct dnp_profile *profile, uint64_t *all)
{
	for (size_t i = 0; i < profile->events.n; i++) {
		const struct dnp_event *event = &profile->events.p[i];

		*all = all_of(profile, event);
		if (is_judged_alone(profile, event) && is_much(event->lost, *all - event->lost))
			return event;
	}
	return NULL;
}

static void say_much_lost(
	const struct dnp_profile *profile, const struct dnp_event *event, uint64_t all)
{
	if (dnp_live_allocated(profile, event))
		dnp_say("the recording is incomplete: objects of %llu bytes of %llu that were "
			"allocated could not be watched; keep fewer, with a greater alloc=SIZE",
			(unsigned long long)event->lost, (unsigned long long)all);
	else
		dnp_say("the recording is incomplete: %llu %s of %llu were lost of %s; record "
			"fewer events at once",
			(unsigned long long)event->lost, dnp_profile_string(profile, event->unit),
			(unsigned long long)all, dnp_profile_string(profile, event->name));
}

/* 0, or DNP_EXIT_INCOMPLETE after a line that says what is missing. */
static int judge(const struct dnp_result *result)
{
	const struct dnp_profile *profile = &result->profile;
	struct totals totals = sum_up(profile);
	const struct dnp_event *event;
	uint64_t all;

	/* The agent knows why; the recording shows only that something is missing. */
	if (result->failure && *result->failure)
		dnp_say("%s", result->failure);
	else if (profile->incomplete)
		dnp_say("the recording is incomplete: %s",
			dnp_profile_string(profile, profile->missing));
	else if (is_much(totals.lost_samples, totals.judged))
		dnp_say("the recording is incomplete: %llu samples of %llu were lost; %s",
			(unsigned long long)totals.lost_samples,
			(unsigned long long)(totals.judged + totals.lost_samples),
			totals.lost_in_queue > totals.lost_samples / 2
				? "too many signals were pending, of all programs of that user; "
				  "raise ulimit -i"
				: "sample less often, with a lower -F");
	else if ((event = much_lost(profile, &all)))
		say_much_lost(profile, event, all);
	else if (totals.lost_calls)
		dnp_say("the recording is incomplete: %llu events of calls were lost; choose with "
			"--include, or record less with --depth tree",
			(unsigned long long)totals.lost_calls);
	else if (is_much(totals.lost_switches, totals.switches))
		dnp_say("the recording is incomplete: %llu records of switches were lost; the "
			"report says on which processors",
			(unsigned long long)totals.lost_switches);
	else
		return DNP_EXIT_DONE;
	return DNP_EXIT_INCOMPLETE;
}

/* On a terminal, or when the user cannot know the file's name otherwise. */
static bool wants_summary(const struct dnp_choice *choice)
{
	if (choice->quiet)
		return false;
	return isatty(STDERR_FILENO) || choice->verbose || choice->tells ||
		!dnp_given(choice->values, "output");
}

static double seconds(const struct dnp_result *result)
{
	const struct dnp_profile *profile = &result->profile;
	uint64_t elapsed_ns = result->elapsed_ns;

	for (size_t i = 0; !result->elapsed_ns && i < profile->processes.n; i++)
		if (profile->processes.p[i].duration_ns > elapsed_ns)
			elapsed_ns = profile->processes.p[i].duration_ns;
	return (double)elapsed_ns / 1e9;
}

/* "812 samples": how much was recorded. */
static void put_totals(const struct totals *totals, struct dnp_sink *sink)
{
	if (totals->traced)
		dnp_sink_printf(sink, "%llu calls%s", (unsigned long long)totals->calls,
			totals->sampled || totals->switched ? ", " : "");
	if (totals->switched)
		dnp_sink_printf(sink, "%llu switches%s", (unsigned long long)totals->switches,
			totals->sampled ? ", " : "");
	if (totals->sampled || (!totals->traced && !totals->switched))
		dnp_sink_printf(sink, "%llu samples", (unsigned long long)totals->samples);
}

/* "0, 4.00 KiB of alloc": how many were lost, and how much of those that count something else. */
static void put_lost(const struct dnp_profile *profile, struct dnp_sink *sink)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < profile->events.n; i++)
		lost += loses_weight(&profile->events.p[i]) ? 0 : profile->events.p[i].lost;
	dnp_sink_printf(sink, "%llu", (unsigned long long)lost);
	for (size_t i = 0; i < profile->events.n; i++) {
		const struct dnp_event *event = &profile->events.p[i];

		if (loses_weight(event) && event->lost)
			dnp_sink_printf(sink, ", %s of %s",
				dnp_format_lost(event, event->lost).text,
				dnp_profile_string(profile, event->name));
	}
}

static void summarize(const struct dnp_result *result)
{
	struct totals totals = sum_up(&result->profile);
	bool raw = !result->choice->exporter;
	struct dnp_sink_memory what, lost;

	dnp_sink_memory_init(&what);
	dnp_sink_memory_init(&lost);
	put_totals(&totals, &what.sink);
	put_lost(&result->profile, &lost.sink);
	dnp_say("%s: %.*s in %.1f s, lost %.*s%s%s", result->path, (int)what.bytes.n, what.bytes.p,
		seconds(result), (int)lost.bytes.n, lost.bytes.p,
		raw ? "; to read it: dnprof report " : "", raw ? result->path : "");
	dnp_vec_done(&what.bytes);
	dnp_vec_done(&lost.bytes);
}

/* Whether the log, if one is wanted, was written. */
static bool write_log(const struct dnp_choice *choice, const struct dnp_input *input)
{
	static const struct dnp_log_options everything;
	struct dnp_err err = {0};

	if (!choice->log || !dnp_log_write(input, dnp_choice_log_path(), &everything, NULL, &err))
		return true;
	dnp_failed(&err);
	return false;
}

static int read_and_export(struct dnp_result *result, struct dnp_input *input)
{
	const struct dnp_choice *choice = result->choice;
	struct dnp_err err = {0};
	int ret = load_profile(result, input, &err);
	bool logged = ret || write_log(choice, input);
	int status;

	if (!ret && choice->exporter) {
		ret = export(result, input, &err);
		result->used_up = !ret && logged;
	}
	if (!ret) {
		if (wants_summary(choice))
			summarize(result);
		status = judge(result);
		if (dnp_choice_missed(choice, input, &result->profile) && !status)
			status = DNP_EXIT_INCOMPLETE;
		return logged ? status : DNP_EXIT_FAILED;
	}
	dnp_failed(&err);
	if (choice->exporter)
		dnp_say("the recording is kept: %s", result->recording);
	return DNP_EXIT_FAILED;
}

/* Where there is no room for the names, a report looks them up itself. */
static void finish(const char *recording, const char *root)
{
	struct dnp_err err = {0};

	if (dnp_symbolize_file(recording, root, &err) || dnp_pack_file(recording, &err))
		dnp_failed(&err);
}

int dnp_result_make(struct dnp_result *result)
{
	struct dnp_input input;
	int status;

	if (!result->finished)
		finish(result->recording, result->root);
	dnp_input_init(&input);
	dnp_sink_memory_init(&result->goes);
	status = read_and_export(result, &input);
	dnp_profile_done(&result->profile);
	dnp_vec_done(&result->goes.bytes);
	dnp_input_done(&input);
	/* Not every system removes a file that is mapped. */
	if (result->used_up)
		dnp_file_remove(result->recording);
	return status;
}

static void root_of(pid_t pid, char root[32])
{
	snprintf(root, 32, "/proc/%d/root", (int)pid);
}

int dnp_result_of_process(struct dnp_result *result, pid_t pid)
{
	char root[32];

	root_of(pid, root);
	result->root = root;
	return dnp_result_make(result);
}

int dnp_result_of_children(const struct dnp_session_sum *sum, unsigned refused, int status)
{
	if (sum->recording)
		dnp_say("the recording is incomplete: %u processes that the program left running "
			"did not "
			"end theirs in time; end them ('dotnet build-server shutdown') or use "
			"'--disable-build-servers'",
			sum->recording);
	if (refused)
		dnp_say("the recording may be incomplete: more than %u .NET programs ran at once, "
			"and whether %u of them ended theirs was not seen; run fewer at once",
			DNP_SESSION_SLOTS, refused);
	return !status && (sum->recording || refused) ? DNP_EXIT_INCOMPLETE : status;
}

void dnp_result_finish_of_process(pid_t pid, const char *recording)
{
	char root[32];

	root_of(pid, root);
	finish(recording, root);
}

int dnp_result_leave(const struct dnp_result *result)
{
	if (*result->failure)
		dnp_say("%s", result->failure);
	dnp_say("%sthe recording is kept as it is: %s; read it with 'dnprof report'",
		*result->failure ? "" : "interrupted: ", result->recording);
	return DNP_EXIT_INCOMPLETE;
}

int dnp_result_unplaced(const struct dnp_err *err, char *folder)
{
	int status = dnp_failed(err);

	if (folder)
		dnp_say("what was recorded is kept in %s; read it there with 'dnprof report', and "
			"remove the folder then",
			folder);
	free(folder);
	return status;
}

bool dnp_result_exists(const char *recording)
{
	struct dnp_err ignored;
	struct dnp_input input;
	int ret;

	dnp_input_init(&input);
	ret = dnp_input_add_file(&input, recording, &ignored);
	dnp_input_done(&input);
	return !ret;
}
