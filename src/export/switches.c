/* SPDX-License-Identifier: MIT */
#include "export/switches.h"

#include "read/visit.h"

uint64_t dnp_switches_since(const struct dnp_switch_source *source, uint64_t time_ns)
{
	uint64_t start_ns = source->switches->recording->process.start_ns;

	return source->process->start_ns + (time_ns > start_ns ? time_ns - start_ns : 0);
}

const char *dnp_switches_how(uint32_t how)
{
	static const char *const words[] = {
		[DNP_SLICE_WAITS] = "waits",
		[DNP_SLICE_PREEMPTED] = "preempted",
		[DNP_SLICE_ENDED] = "ended",
		[DNP_SLICE_RUNS] = "runs",
		[DNP_SLICE_UNKNOWN] = "unknown",
		[DNP_SLICE_SAMPLED] = "sampled",
	};

	return how < sizeof(words) / sizeof(*words) ? words[how] : words[DNP_SLICE_UNKNOWN];
}

/* Those that the profile has left out are not wanted. */
static void choose_threads(const struct dnp_process *process, struct dnp_switches *switches)
{
	for (size_t i = 0; i < switches->threads.n; i++) {
		struct dnp_switch_thread *thread = &switches->threads.p[i];

		thread->wanted = dnp_map_get(&process->thread_of, thread->index) != DNP_NONE;
	}
}

/* ---- What stands beside the slices */

struct beside {
	const struct dnp_switch_source *source;
	const struct dnp_switch_format *format;
	void *arg;
};

/* The place of a thread that is wanted; DNP_NONE: it is not. */
static uint32_t wanted(const struct beside *beside, uint64_t index)
{
	uint32_t place = dnp_map_get(&beside->source->switches->places, index);

	return place != DNP_NONE && beside->source->switches->threads.p[place].wanted ? place
										      : DNP_NONE;
}

#define ON(what)                                                                                   \
	static int on_##what(void *arg, const struct dnp_rec_##what *rec, uint64_t time_ns)        \
	{                                                                                          \
		struct beside *beside = arg;                                                       \
		uint32_t thread = wanted(beside, rec->thread);                                     \
                                                                                                   \
		(void)time_ns;                                                                     \
		if (thread != DNP_NONE)                                                            \
			beside->format->what(beside->arg, beside->source, thread, rec);            \
		return beside->source->sink->error;                                                \
	}

ON(wait)
ON(wakeup)

static void write_beside(
	const struct dnp_switch_source *source, const struct dnp_switch_format *format, void *arg)
{
	struct beside beside = {source, format, arg};
	struct dnp_visitor visitor = {
		.wait = format->wait ? on_wait : NULL,
		.wakeup = format->wakeup ? on_wakeup : NULL,
	};
	uint64_t damaged = 0;

	if (format->wait || format->wakeup)
		dnp_recording_visit(source->switches->recording, &visitor, &beside, &damaged);
}

/* ---- What the program said */

/* Places of the threads of the profile. 0 or -ENOMEM. */
static int find_places(const struct dnp_switch_source *source, struct dnp_map *places)
{
	const struct dnp_switches *switches = source->switches;

	for (uint32_t i = 0; i < switches->threads.n; i++) {
		uint32_t thread =
			dnp_map_get(&source->process->thread_of, switches->threads.p[i].index);

		if (thread != DNP_NONE && dnp_map_set(places, thread, i))
			return -ENOMEM;
	}
	return 0;
}

static int write_spans(
	const struct dnp_switch_source *source, const struct dnp_switch_format *format, void *arg)
{
	const struct dnp_profile *profile = source->profile;
	struct dnp_map places = {0};
	int status = find_places(source, &places);

	for (size_t i = 0; i < profile->spans.n && !status; i++) {
		const struct dnp_span *span = &profile->spans.p[i];

		if (profile->threads.p[span->thread].process == source->number)
			format->span(arg, source, dnp_map_get(&places, span->thread), span);
	}
	dnp_map_done(&places);
	return status;
}

/* ---- All of it */

static int write_process(struct dnp_switch_source *source, struct dnp_switches *switches,
	const struct dnp_switch_format *format, void *arg)
{
	struct dnp_slice_at slice;
	uint32_t thread;
	int status = 1;

	choose_threads(source->process, switches);
	format->begin(arg, source);
	for (size_t i = 0; i < switches->losses.n; i++)
		format->loss(arg, source, &switches->losses.p[i]);
	while (!source->sink->error && (status = dnp_switches_next(switches, &thread, &slice)) > 0)
		format->slice(arg, source, thread, &slice);
	write_beside(source, format, arg);
	if (status >= 0)
		status = write_spans(source, format, arg);
	if (format->end)
		format->end(arg, source);
	return status < 0 ? status : 0;
}

int dnp_switches_write(const struct dnp_profile *profile, const struct dnp_export_options *options,
	const struct dnp_switch_format *format, void *arg, struct dnp_sink *sink,
	struct dnp_err *err)
{
	int status = 0;

	for (uint32_t i = 0; options->input && i < profile->processes.n && !status; i++) {
		struct dnp_switches switches;
		struct dnp_switch_source source = {.profile = profile,
			.process = &profile->processes.p[i],
			.switches = &switches,
			.number = i,
			.sink = sink};

		status = dnp_switches_init(&switches, &options->input->recordings.p[i]);
		if (!status)
			status = write_process(&source, &switches, format, arg);
		dnp_switches_done(&switches);
	}
	if (status)
		dnp_err(err, status, "cannot write the switches: out of memory; free some");
	return status;
}
