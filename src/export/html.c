/* SPDX-License-Identifier: MIT */
/*
 * The page: the viewer of web/, with what it needs to know as JSON (meta) in one place and the
 * profile's arrays in another.
 *
 * Data is base64 of raw deflate of the sections that meta lists, in that order, little-endian, each
 * padded with zero bytes to a multiple of 8:
 *   strings       utf8: every string ended by a zero byte; string 0 is ""
 *   frame.name, frame.module   u32: strings      frame.kind  u8: enum dnp_code
 *   frame.managed   u8: 1: stays where native frames are left out
 *   node.parent, node.frame    u32: node 0 is the root, parents before children
 *   EVENT.time    u32: in time_unit_ns since the start, ascending
 *   EVENT.thread, EVENT.node, EVENT.weight       u32
 *   EVENT.waiting   u8: 1: the thread did not run; only where there are such samples
 */
#include "export/html.h"

#include <inttypes.h>
#include <stdio.h>

#include "aggregate/tree.h"
#include "base/base64.h"
#include "export/deflate.h"
#include "export/event.h"
#include "base/json.h"

struct page {
	const struct dnp_profile *profile;
	const struct dnp_export_options *options;
	unsigned unit_shift; /* a unit of time is 2^unit_shift microseconds */
};

/* One array: where its elements come from. */
struct column {
	const char *name;
	unsigned bytes; /* of an element: 1 or 4 */
	uint32_t (*at)(const struct page *page, const struct dnp_event *event, size_t i);
};

static uint32_t frame_name(const struct page *page, const struct dnp_event *event, size_t i)
{
	(void)event;
	return page->profile->frames.p[i].name;
}

static uint32_t frame_module(const struct page *page, const struct dnp_event *event, size_t i)
{
	(void)event;
	return page->profile->frames.p[i].module;
}

static uint32_t frame_kind(const struct page *page, const struct dnp_event *event, size_t i)
{
	(void)event;
	return page->profile->frames.p[i].code;
}

static uint32_t frame_managed(const struct page *page, const struct dnp_event *event, size_t i)
{
	(void)event;
	return page->profile->frames.p[i].managed;
}

static uint32_t node_parent(const struct page *page, const struct dnp_event *event, size_t i)
{
	(void)event;
	return page->profile->nodes.p[i].parent;
}

static uint32_t node_frame(const struct page *page, const struct dnp_event *event, size_t i)
{
	(void)event;
	return page->profile->nodes.p[i].frame;
}

static uint32_t row_time(const struct page *page, const struct dnp_event *event, size_t i)
{
	return (uint32_t)(dnp_rows_time_us(&event->rows, &event->rows.slots[i]) >>
		page->unit_shift);
}

static uint32_t row_thread(const struct page *page, const struct dnp_event *event, size_t i)
{
	(void)page;
	return event->rows.slots[i].thread;
}

static uint32_t row_node(const struct page *page, const struct dnp_event *event, size_t i)
{
	(void)page;
	return event->rows.slots[i].node;
}

static uint32_t row_weight(const struct page *page, const struct dnp_event *event, size_t i)
{
	uint64_t weight = event->rows.slots[i].weight;

	(void)page;
	return weight > UINT32_MAX ? UINT32_MAX : (uint32_t)weight;
}

static uint32_t row_waiting(const struct page *page, const struct dnp_event *event, size_t i)
{
	(void)page;
	return event->rows.slots[i].waiting;
}

static const struct column frame_columns[] = {
	{"frame.name", 4, frame_name},
	{"frame.module", 4, frame_module},
	{"frame.kind", 1, frame_kind},
	{"frame.managed", 1, frame_managed},
	{0},
};

static const struct column node_columns[] = {
	{"node.parent", 4, node_parent},
	{"node.frame", 4, node_frame},
	{0},
};

static const struct column row_columns[] = {
	{"time", 4, row_time},
	{"thread", 4, row_thread},
	{"node", 4, row_node},
	{"weight", 4, row_weight},
	{0},
};

static const struct column waiting_column = {"waiting", 1, row_waiting};

/* Calls one of the two for every column in order: what meta lists is what data holds. */
typedef void (*column_fn)(const struct page *page, const struct column *column,
	const struct dnp_event *event, size_t n, void *arg);

static void each_column(const struct page *page, column_fn each, void *arg)
{
	const struct dnp_profile *profile = page->profile;

	for (const struct column *c = frame_columns; c->name; c++)
		each(page, c, NULL, profile->frames.n, arg);
	for (const struct column *c = node_columns; c->name; c++)
		each(page, c, NULL, profile->nodes.n, arg);
	for (size_t i = 0; i < profile->events.n; i++) {
		const struct dnp_event *event = &profile->events.p[i];

		for (const struct column *c = row_columns; c->name; c++)
			each(page, c, event, event->rows.n, arg);
		if (event->waiting)
			each(page, &waiting_column, event, event->rows.n, arg);
	}
}

static void list_column(const struct page *page, const struct column *column,
	const struct dnp_event *event, size_t n, void *arg)
{
	struct dnp_json *json = arg;
	const char *prefix = event ? dnp_profile_string(page->profile, event->name) : "";
	char *name;

	if (asprintf(&name, "%s%s%s", prefix, event ? "." : "", column->name) < 0) {
		json->sink->error = -ENOMEM;
		return;
	}
	dnp_json_open(json, NULL, '{');
	dnp_json_text(json, "name", name);
	dnp_json_text(json, "type", column->bytes == 1 ? "u8" : "u32");
	dnp_json_u64(json, "count", n);
	dnp_json_close(json, '}');
	free(name);
}

static void pad(struct dnp_sink *sink, size_t bytes)
{
	static const char zeros[8];

	dnp_sink_write(sink, zeros, -bytes & 7);
}

static void write_column(const struct page *page, const struct column *column,
	const struct dnp_event *event, size_t n, void *arg)
{
	struct dnp_sink *sink = arg;
	uint8_t buffer[4096];
	size_t used = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t value = column->at(page, event, i);

		for (unsigned k = 0; k < column->bytes; k++, value >>= 8)
			buffer[used++] = (uint8_t)value;
		if (used == sizeof(buffer)) {
			dnp_sink_write(sink, buffer, used);
			used = 0;
		}
	}
	dnp_sink_write(sink, buffer, used);
	pad(sink, n * column->bytes);
}

static void put_string(
	const struct page *page, struct dnp_json *json, const char *key, uint32_t number)
{
	dnp_json_text(json, key, dnp_profile_string(page->profile, number));
}

static void put_title(const struct page *page, struct dnp_json *json)
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
	const struct page *page, struct dnp_json *json, const struct dnp_process *process)
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

static void put_processes(const struct page *page, struct dnp_json *json)
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

static void put_threads(const struct page *page, const struct dnp_tree *tree, struct dnp_json *json)
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

static void put_events(const struct page *page, struct dnp_json *json)
{
	dnp_json_open(json, "events", '[');
	for (size_t i = 0; i < page->profile->events.n; i++) {
		const struct dnp_event *event = &page->profile->events.p[i];

		dnp_json_open(json, NULL, '{');
		put_string(page, json, "name", event->name);
		dnp_event_members(page->profile, event, json);
		dnp_json_u64(json, "rows", event->rows.n);
		dnp_json_close(json, '}');
	}
	dnp_json_close(json, ']');
}

static void put_beginning(const struct page *page, struct dnp_json *json)
{
	const struct dnp_export_options *options = page->options;

	dnp_json_open(json, "begin", '{');
	put_string(page, json, "event", page->profile->events.p[options->event].name);
	dnp_json_text(json, "native", dnp_native_name(options->native));
	dnp_json_text(json, "state", dnp_state_name(options->state));
	dnp_json_close(json, '}');
}

static void put_meta(const struct page *page, const struct dnp_tree *tree, struct dnp_sink *sink)
{
	const struct dnp_profile *profile = page->profile;
	struct dnp_json json = {.sink = sink};
	char start[24];

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
	put_events(page, &json);
	put_beginning(page, &json);
	dnp_json_open(&json, "problems", '[');
	for (size_t i = 0; i < profile->problems.n; i++)
		put_string(page, &json, NULL, profile->problems.p[i]);
	dnp_json_close(&json, ']');
	dnp_json_open(&json, "sections", '[');
	dnp_json_open(&json, NULL, '{');
	dnp_json_text(&json, "name", "strings");
	dnp_json_text(&json, "type", "utf8");
	dnp_json_u64(&json, "bytes", profile->strings.bytes.n);
	dnp_json_close(&json, '}');
	each_column(page, list_column, &json);
	dnp_json_close(&json, ']');
	dnp_json_close(&json, '}');
}

static int put_data(const struct page *page, struct dnp_sink *sink)
{
	const struct dnp_strings *strings = &page->profile->strings;
	struct dnp_sink_base64 base64;
	struct dnp_sink_deflate deflate;
	int status;

	dnp_sink_base64_init(&base64, sink);
	status = dnp_sink_deflate_init(&deflate, &base64.sink);
	if (status)
		return status;
	dnp_sink_write(&deflate.sink, strings->bytes.p, strings->bytes.n);
	pad(&deflate.sink, strings->bytes.n);
	each_column(page, write_column, &deflate.sink);
	status = dnp_sink_deflate_finish(&deflate);
	return status ? status : dnp_sink_base64_finish(&base64);
}

static unsigned unit_shift(const struct dnp_profile *profile)
{
	unsigned shift = 0;

	for (size_t i = 0; i < profile->events.n; i++) {
		const struct dnp_rows *rows = &profile->events.p[i].rows;

		/* The middle of the last bin is at most the next power of two beyond. */
		while ((rows->newest_us | (UINT64_C(1) << rows->shift)) >> shift > UINT32_MAX)
			shift++;
	}
	return shift;
}

static size_t find_marker(struct dnp_str template, const char *marker)
{
	const char *found = memmem(template.p, template.n, marker, strlen(marker));

	return found ? (size_t)(found - template.p) : template.n;
}

int dnp_html_write(struct dnp_str template, const struct dnp_profile *profile,
	const struct dnp_export_options *options, struct dnp_sink *sink, struct dnp_err *err)
{
	static const char meta_marker[] = "@DNPROF_META@", data_marker[] = "@DNPROF_DATA@";
	struct page page = {
		.profile = profile, .options = options, .unit_shift = unit_shift(profile)};
	size_t meta = find_marker(template, meta_marker);
	size_t data = find_marker(template, data_marker);
	struct dnp_tree tree;
	int status;

	if (data == template.n || meta >= data)
		return dnp_err(err, -EINVAL,
			"cannot write the page: the viewer in this dnprof is damaged; build it "
			"anew");
	status = dnp_tree_init(&tree, profile, options->event);
	if (!status) {
		dnp_sink_write(sink, template.p, meta);
		put_meta(&page, &tree, sink);
		meta += sizeof(meta_marker) - 1;
		dnp_sink_write(sink, template.p + meta, data - meta);
		status = put_data(&page, sink);
		data += sizeof(data_marker) - 1;
		dnp_sink_write(sink, template.p + data, template.n - data);
	}
	dnp_tree_done(&tree);
	if (status)
		dnp_err(err, status, "cannot write the page: %s; report part of the time",
			strerror(-status));
	return status;
}
