/* SPDX-License-Identifier: MIT */
/*
 * Slices in the Trace Event Format ("JSON object format") that chrome://tracing, Perfetto's page
 * and speedscope read: a complete event (X) for each time that a thread had a processor, named for
 * the processor, and one for each time in which switches are missing, in a row of each processor:
 * those of one row must not overlap.
 *
 * The format knows a thread by its id alone; one that has an id that was used before gets a number
 * above all ids of the system, and so does a row that is no thread.
 */
#include <inttypes.h>
#include <stdio.h>

#include "aggregate/spans.h"
#include "base/json.h"
#include "export/switches.h"

#define TIDS UINT64_C(4194304) /* Linux: ids are below that (PID_MAX_LIMIT) */

struct chrome {
	struct dnp_json json;
	struct dnp_vec_of(uint64_t) tids; /* of each thread of the process, as written */
	struct dnp_map used;              /* by process and tid: how many had it */
	struct dnp_map loss_rows;         /* of the process: by processor, its id in TIDS */
	int error;                        /* -ENOMEM */
};

/* Microseconds with three decimals, as a number. */
static void put_us(struct dnp_json *json, const char *key, uint64_t ns)
{
	dnp_sink_printf(
		json->sink, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

/* Opens an event, with what all have. */
static void open_event(struct dnp_json *json, const char *kind, uint64_t pid, uint64_t tid)
{
	dnp_sink_puts(json->sink, json->comma ? ",\n" : "\n");
	json->comma = false;
	dnp_json_open(json, NULL, '{');
	dnp_json_text(json, "ph", kind);
	dnp_json_u64(json, "pid", pid);
	dnp_json_u64(json, "tid", tid);
}

static void put_label(
	struct dnp_json *json, const char *what, uint64_t pid, uint64_t tid, struct dnp_str name)
{
	open_event(json, "M", pid, tid);
	dnp_json_text(json, "name", what);
	dnp_json_open(json, "args", '{');
	dnp_json_str(json, "name", name);
	dnp_json_close(json, '}');
	dnp_json_close(json, '}');
}

/* The id that a thread is written with; tid 0: it is none of the system's. */
static uint64_t give_id(struct chrome *chrome, uint32_t process, uint64_t tid)
{
	uint64_t key = (uint64_t)process << 32 | (tid & UINT32_MAX);
	uint32_t before = dnp_map_get(&chrome->used, key);

	tid = tid ? tid : TIDS;
	before = before == DNP_NONE ? 0 : before;
	if (dnp_map_set(&chrome->used, key, before + 1))
		chrome->error = -ENOMEM;
	return tid + before * TIDS;
}

static void begin(void *arg, const struct dnp_switch_source *source)
{
	struct chrome *chrome = arg;
	uint64_t pid = source->process->pid;
	const char *title = dnp_profile_string(source->profile, source->process->title);

	chrome->tids.n = 0;
	dnp_map_done(&chrome->loss_rows);
	put_label(&chrome->json, "process_name", pid, pid, dnp_str(title));
	for (size_t i = 0; i < source->switches->threads.n; i++) {
		const struct dnp_switch_thread *thread = &source->switches->threads.p[i];
		uint64_t tid = thread->wanted ? give_id(chrome, source->number, thread->tid) : 0;

		if (dnp_vec_push(&chrome->tids, tid))
			chrome->error = -ENOMEM;
		if (thread->wanted && thread->name.n)
			put_label(&chrome->json, "thread_name", pid, tid, thread->name);
	}
}

static void put_slice(void *arg, const struct dnp_switch_source *source, uint32_t thread,
	const struct dnp_slice_at *slice)
{
	struct chrome *chrome = arg;
	struct dnp_json *json = &chrome->json;
	bool sampled = slice->how == DNP_SLICE_SAMPLED;
	char name[32];

	if (chrome->error)
		return;
	if (dnp_slice_has_cpu(slice))
		snprintf(name, sizeof(name), "CPU %" PRIu32, slice->cpu);
	else
		snprintf(name, sizeof(name), "%s", sampled ? "ran at some time" : "ran");
	open_event(json, "X", source->process->pid, chrome->tids.p[thread]);
	put_us(json, "ts", dnp_switches_since(source, slice->start_ns));
	put_us(json, "dur", slice->end_ns - slice->start_ns);
	dnp_json_text(json, "name", name);
	dnp_json_open(json, "args", '{');
	dnp_json_text(json, "ended", dnp_switches_how(slice->how));
	dnp_json_close(json, '}');
	dnp_json_close(json, '}');
}

/* The row of a processor's losses; named when it is first needed. */
static uint64_t loss_row(
	struct chrome *chrome, const struct dnp_switch_source *source, uint64_t cpu)
{
	uint32_t row = dnp_map_get(&chrome->loss_rows, cpu);
	char name[64];

	if (row != DNP_NONE)
		return row * TIDS;
	row = (uint32_t)(give_id(chrome, source->number, 0) / TIDS);
	if (dnp_map_set(&chrome->loss_rows, cpu, row))
		chrome->error = -ENOMEM;
	snprintf(name, sizeof(name), "switches lost, CPU %" PRIu64, cpu);
	put_label(&chrome->json, "thread_name", source->process->pid, row * TIDS, dnp_str(name));
	return row * TIDS;
}

static void put_loss(
	void *arg, const struct dnp_switch_source *source, const struct dnp_rec_switch_loss *loss)
{
	struct chrome *chrome = arg;
	struct dnp_json *json = &chrome->json;
	uint64_t from_ns = dnp_switches_since(source, loss->from_ns);
	uint64_t until_ns = dnp_switches_since(source, loss->until_ns);
	uint64_t row = loss_row(chrome, source, loss->cpu);

	open_event(json, "X", source->process->pid, row);
	put_us(json, "ts", from_ns);
	put_us(json, "dur", until_ns > from_ns ? until_ns - from_ns : 0);
	dnp_json_text(json, "name", "lost");
	dnp_json_open(json, "args", '{');
	dnp_json_u64(json, "cpu", loss->cpu);
	dnp_json_u64(json, "lost", loss->count);
	dnp_json_close(json, '}');
	dnp_json_close(json, '}');
}

static void put_details(
	const struct dnp_profile *profile, const struct dnp_span *span, struct dnp_json *json)
{
	if (!span->result && !span->trace)
		return;
	dnp_json_open(json, "args", '{');
	if (span->result)
		dnp_json_text(json, "result", dnp_profile_string(profile, span->result));
	if (span->group != span->name)
		dnp_json_text(json, "group", dnp_profile_string(profile, span->group));
	if (span->trace)
		dnp_json_text(json, "trace", dnp_profile_string(profile, span->trace));
	dnp_json_close(json, '}');
}

/* Spans are events of their own (b, e), known by an id: they may end on another thread. */
static void put_span(void *arg, const struct dnp_switch_source *source, uint32_t thread,
	const struct dnp_span *span)
{
	struct chrome *chrome = arg;
	struct dnp_json *json = &chrome->json;
	const char *kinds = span->point ? "i" : span->ended ? "be" : "b";
	uint64_t id = (uint64_t)(span - source->profile->spans.p) + 1;
	struct dnp_span_title title = dnp_span_title(source->profile, span);

	if (chrome->error || thread == DNP_NONE)
		return;
	for (size_t i = 0; kinds[i]; i++) {
		const char kind[] = {kinds[i], '\0'};

		open_event(json, kind, source->process->pid, chrome->tids.p[thread]);
		put_us(json, "ts", i ? span->end_ns : span->begin_ns);
		dnp_json_text(json, "cat", span->point ? "mark" : "span");
		if (span->point)
			dnp_json_text(json, "s", "t");
		else
			dnp_json_u64(json, "id", id);
		dnp_json_text(json, "name", title.text);
		if (!i)
			put_details(source->profile, span, json);
		dnp_json_close(json, '}');
	}
}

static int write_chrome(const struct dnp_profile *profile, const struct dnp_export_options *options,
	struct dnp_sink *sink, struct dnp_err *err)
{
	static const struct dnp_switch_format format = {
		.begin = begin, .slice = put_slice, .loss = put_loss, .span = put_span};
	struct chrome chrome = {.json.sink = sink};
	int status;

	dnp_json_open(&chrome.json, NULL, '{');
	dnp_json_text(&chrome.json, "displayTimeUnit", "ns");
	dnp_json_open(&chrome.json, "otherData", '{');
	dnp_json_text(&chrome.json, "tool", "dnprof " DNP_VERSION);
	dnp_json_u64(&chrome.json, "start_unix_ns", profile->start_unix_ns);
	dnp_json_close(&chrome.json, '}');
	dnp_json_open(&chrome.json, "traceEvents", '[');
	status = dnp_switches_write(profile, options, &format, &chrome, sink, err);
	if (!status && chrome.error)
		status = dnp_err(
			err, chrome.error, "cannot write the switches: out of memory; free some");
	dnp_json_close(&chrome.json, ']');
	dnp_json_close(&chrome.json, '}');
	dnp_sink_puts(sink, "\n");
	dnp_vec_done(&chrome.tids);
	dnp_map_done(&chrome.used);
	dnp_map_done(&chrome.loss_rows);
	return status;
}

const struct dnp_exporter dnp_export_chrome = {
	.name = "chrome",
	.extensions = ".trace.json",
	.switches = true,
	.write = write_chrome,
};
