/* SPDX-License-Identifier: MIT */
/*
 * The page: the viewer of web/, with what it needs to know as JSON (meta) in one place and the
 * profile's arrays in another.
 *
 * Data is base64 of raw deflate of the arrays that meta lists, in that order: see arrays.h.
 */
#include "export/html.h"

#include <inttypes.h>
#include <stdio.h>

#include "aggregate/tree.h"
#include "base/base64.h"
#include "export/arrays.h"
#include "export/deflate.h"
#include "export/event.h"
#include "base/json.h"
#include "export/page_tables.h"

static void put_string(
	const struct dnp_page *page, struct dnp_json *json, const char *key, uint32_t number)
{
	dnp_json_text(json, key, dnp_profile_string(page->profile, number));
}

static void put_title(const struct dnp_page *page, struct dnp_json *json)
{
	const struct dnp_profile *profile = page->profile;
	const char *first = dnp_profile_string(profile, profile->processes.p[0].title);
	char title[256];

	if (profile->processes.n == 1)
		dnp_json_text(json, "title", first);
	else if (snprintf(title, sizeof(title), "%s and %zu more", first,
			 profile->processes.n - 1) > 0)
		dnp_json_text(json, "title", title);
}

/* As ps shows it: the first two words of the command, without their folders. */
static void put_process_name(
	const struct dnp_page *page, struct dnp_json *json, const struct dnp_process *process)
{
	const char *title = dnp_profile_string(page->profile, process->title);
	const char *program = title, *slash;
	char name[256];

	if (process->command.n)
		program = dnp_profile_string(page->profile, process->command.p[0]);
	slash = strrchr(program, '/');
	program = slash ? slash + 1 : program;
	if (!strcmp(program, title))
		snprintf(name, sizeof(name), "%s", title);
	else
		snprintf(name, sizeof(name), "%s %s", program, title);
	dnp_json_text(json, "name", name);
}

static void put_processes(const struct dnp_page *page, struct dnp_json *json)
{
	const struct dnp_profile *profile = page->profile;

	dnp_json_open(json, "processes", '[');
	for (size_t i = 0; i < profile->processes.n; i++) {
		const struct dnp_process *process = &profile->processes.p[i];

		dnp_json_open(json, NULL, '{');
		dnp_json_u64(json, "pid", process->pid);
		put_process_name(page, json, process);
		dnp_json_open(json, "command", '[');
		for (size_t k = 0; k < process->command.n; k++)
			put_string(page, json, NULL, process->command.p[k]);
		dnp_json_close(json, ']');
		put_string(page, json, "runtime", process->runtime);
		dnp_json_u64(json, "start_ns", process->start_ns);
		dnp_json_u64(json, "duration_ns", process->duration_ns);
		dnp_json_close(json, '}');
	}
	dnp_json_close(json, ']');
}

static void put_threads(
	const struct dnp_page *page, const struct dnp_tree *tree, struct dnp_json *json)
{
	dnp_json_open(json, "threads", '[');
	for (size_t i = 0; i < page->profile->threads.n; i++) {
		const struct dnp_thread *thread = &page->profile->threads.p[i];

		dnp_json_open(json, NULL, '{');
		dnp_json_u64(json, "process", thread->process);
		dnp_json_u64(json, "tid", thread->tid);
		put_string(page, json, "name", thread->name);
		dnp_json_u64(json, "samples", tree->thread_total[i]);
		dnp_json_u64(json, "cpu_ns", thread->cpu_ns);
		dnp_json_close(json, '}');
	}
	dnp_json_close(json, ']');
}

static void put_calls(const struct dnp_page_calls *calls, struct dnp_json *json)
{
	dnp_json_u64(json, "weight_ns", UINT64_C(1) << calls->weight_shift);
	dnp_json_u64(json, "bin_ns", dnp_page_calls_bin_ns(calls));
	dnp_json_u64(json, "step_ns", dnp_page_calls_step_ns(calls));
	dnp_json_u64(json, "merged_below_ns", calls->lanes.slices.merged_below_ns);
}

static int put_events(const struct dnp_page *page, struct dnp_json *json)
{
	int status = 0;

	dnp_json_open(json, "events", '[');
	for (size_t i = 0; i < page->profile->events.n; i++) {
		const struct dnp_event *event = &page->profile->events.p[i];
		const char *not_filtered = dnp_event_not_filtered(page->profile, event);

		dnp_json_open(json, NULL, '{');
		put_string(page, json, "name", event->name);
		dnp_event_members(page->profile, event, json);
		dnp_json_text(json, "not_filtered", not_filtered ? not_filtered : "");
		if (page->calls[i])
			put_calls(page->calls[i], json);
		else if (event->in_ns)
			dnp_json_u64(json, "weight_ns",
				UINT64_C(1) << dnp_page_weight_shift(&event->rows));
		else if (event->in_bytes)
			dnp_json_u64(json, "weight_bytes",
				UINT64_C(1) << dnp_page_weight_shift(&event->rows));
		if (event->switches && page->runs) {
			dnp_json_u64(json, "marks", page->runs->beside.mark_count);
			dnp_json_u64(json, "wakes", page->runs->beside.wake_count);
		}
		dnp_json_u64(json, "rows", event->rows.n);
		if (!status)
			status = dnp_page_tables(page->profile, (uint32_t)i, json);
		dnp_json_close(json, '}');
	}
	dnp_json_close(json, ']');
	return status;
}

static void put_beginning(const struct dnp_page *page, struct dnp_json *json)
{
	const struct dnp_export_options *options = page->options;

	dnp_json_open(json, "begin", '{');
	put_string(page, json, "event", page->profile->events.p[options->event].name);
	dnp_json_text(json, "native", dnp_native_name(options->native));
	dnp_json_text(json, "state", dnp_state_name(options->state));
	dnp_json_close(json, '}');
}

static int put_meta(const struct dnp_page *page, const struct dnp_tree *tree, struct dnp_sink *sink)
{
	const struct dnp_profile *profile = page->profile;
	struct dnp_json json = {.sink = sink};
	char start[24];
	int status;

	snprintf(start, sizeof(start), "%" PRIu64, profile->start_unix_ns);
	dnp_json_open(&json, NULL, '{');
	dnp_json_u64(&json, "version", 1);
	dnp_json_text(&json, "tool", "dnprof " DNP_VERSION);
	put_title(page, &json);
	dnp_json_text(&json, "start_unix_ns", start);
	dnp_json_u64(&json, "duration_ns", profile->duration_ns);
	dnp_json_u64(&json, "time_unit_ns", UINT64_C(1000) << page->unit_shift);
	put_processes(page, &json);
	put_threads(page, tree, &json);
	status = put_events(page, &json);
	put_beginning(page, &json);
	dnp_json_open(&json, "problems", '[');
	for (size_t i = 0; i < profile->problems.n; i++)
		put_string(page, &json, NULL, profile->problems.p[i]);
	dnp_json_close(&json, ']');
	dnp_json_open(&json, "sections", '[');
	dnp_arrays_list(page, &json);
	dnp_json_close(&json, ']');
	dnp_json_close(&json, '}');
	return status;
}

static int put_data(const struct dnp_page *page, struct dnp_sink *sink)
{
	struct dnp_sink_base64 base64;
	struct dnp_sink_deflate deflate;
	int status;

	dnp_sink_base64_init(&base64, sink);
	status = dnp_sink_deflate_init(&deflate, &base64.sink);
	if (status)
		return status;
	dnp_arrays_write(page, &deflate.sink);
	status = dnp_sink_deflate_finish(&deflate);
	return status ? status : dnp_sink_base64_finish(&base64);
}

/* So that all times of some rows fit into a column. */
static unsigned shift_for(const struct dnp_rows *rows, unsigned shift)
{
	/* The middle of the last bin is at most the next power of two beyond. */
	while ((rows->newest_us | (UINT64_C(1) << rows->shift)) >> shift > UINT32_MAX)
		shift++;
	return shift;
}

static unsigned unit_shift(const struct dnp_page *page)
{
	unsigned shift = 0;

	for (size_t i = 0; i < page->profile->events.n; i++) {
		const struct dnp_page_calls *calls = page->calls[i];

		shift = shift_for(&page->profile->events.p[i].rows, shift);
		if (!calls)
			continue;
		shift = shift_for(&calls->lanes.time, shift);
		shift = shift_for(&calls->lanes.counts, shift);
		shift = shift_for(&calls->lanes.durations, shift);
	}
	return shift;
}

static int find_calls(struct dnp_page *page)
{
	const struct dnp_profile *profile = page->profile;

	page->calls = calloc(profile->events.n + 1, sizeof(struct dnp_page_calls *));
	if (!page->calls)
		return -ENOMEM;
	for (uint32_t i = 0; i < profile->events.n; i++) {
		if (!profile->events.p[i].calls)
			continue;
		page->calls[i] = malloc(sizeof(**page->calls));
		if (!page->calls[i] ||
			dnp_page_calls_init(page->calls[i], profile, i, page->options->input))
			return -ENOMEM;
	}
	return 0;
}

static size_t slices_max(const struct dnp_page *page)
{
	return page->options->slices_max ? page->options->slices_max : DNP_PAGE_RUNS;
}

/* All events of switches are one. */
static int find_runs(struct dnp_page *page)
{
	const struct dnp_profile *profile = page->profile;
	bool any = false;

	for (size_t i = 0; i < profile->events.n; i++)
		any |= profile->events.p[i].switches;
	if (!any || !page->options->input)
		return 0;
	page->runs = malloc(sizeof(*page->runs));
	if (!page->runs)
		return -ENOMEM;
	return dnp_page_runs_init(page->runs, profile, page->options->input, slices_max(page));
}

static void free_parts(struct dnp_page *page)
{
	if (page->runs)
		dnp_page_runs_done(page->runs);
	free(page->runs);
	for (size_t i = 0; page->calls && i < page->profile->events.n; i++) {
		if (page->calls[i])
			dnp_page_calls_done(page->calls[i]);
		free(page->calls[i]);
	}
	free(page->calls);
}

static size_t find_marker(struct dnp_str template, const char *marker)
{
	const char *found = memmem(template.p, template.n, marker, strlen(marker));

	return found ? (size_t)(found - template.p) : template.n;
}

static int refuse(const struct dnp_page *page, int status, struct dnp_err *err)
{
	if (status == -E2BIG)
		return dnp_err(err, status,
			"cannot write the page: it would have more than %zu slices, which is too "
			"much for browsers; show fewer threads, with --thread, or write all for "
			"other tools, with dnprof export",
			slices_max(page));
	return dnp_err(err, status, "cannot write the page: %s; %s", strerror(-status),
		status == -ENOMEM ? "show less, with --thread, say"
				  : "make room, or choose another place with -o");
}

int dnp_html_write(struct dnp_str template, const struct dnp_profile *profile,
	const struct dnp_export_options *options, struct dnp_sink *sink, struct dnp_err *err)
{
	static const char meta_marker[] = "@DNPROF_META@", data_marker[] = "@DNPROF_DATA@";
	struct dnp_page page = {.profile = profile, .options = options};
	size_t meta = find_marker(template, meta_marker);
	size_t data = find_marker(template, data_marker);
	struct dnp_tree tree;
	int status;

	if (data == template.n || meta >= data)
		return dnp_err(err, -EINVAL,
			"cannot write the page: the viewer in this dnprof is damaged; build it "
			"anew");
	status = dnp_tree_init(&tree, profile, options->event);
	if (!status)
		status = find_calls(&page);
	if (!status)
		status = find_runs(&page);
	if (!status) {
		page.unit_shift = unit_shift(&page);
		dnp_sink_write(sink, template.p, meta);
		status = put_meta(&page, &tree, sink);
	}
	if (!status) {
		meta += sizeof(meta_marker) - 1;
		dnp_sink_write(sink, template.p + meta, data - meta);
		status = put_data(&page, sink);
		data += sizeof(data_marker) - 1;
		dnp_sink_write(sink, template.p + data, template.n - data);
	}
	free_parts(&page);
	dnp_tree_done(&tree);
	return status ? refuse(&page, status, err) : 0;
}
