/* SPDX-License-Identifier: MIT */
#include "export/arrays.h"

#include <stdio.h>

/* One array: where its elements come from. */
struct column {
	const char *name;
	const char *type;
	unsigned bytes; /* of an element: 1 or 4 */
	uint32_t (*at)(const struct dnp_page *page, const void *of, size_t i);
};

static uint32_t frame_name(const struct dnp_page *page, const void *of, size_t i)
{
	(void)of;
	return page->profile->frames.p[i].name;
}

static uint32_t frame_module(const struct dnp_page *page, const void *of, size_t i)
{
	(void)of;
	return page->profile->frames.p[i].module;
}

static uint32_t frame_kind(const struct dnp_page *page, const void *of, size_t i)
{
	(void)of;
	return page->profile->frames.p[i].code;
}

static uint32_t frame_managed(const struct dnp_page *page, const void *of, size_t i)
{
	(void)of;
	return page->profile->frames.p[i].managed;
}

static uint32_t node_parent(const struct dnp_page *page, const void *of, size_t i)
{
	(void)of;
	return page->profile->nodes.p[i].parent;
}

static uint32_t node_frame(const struct dnp_page *page, const void *of, size_t i)
{
	(void)of;
	return page->profile->nodes.p[i].frame;
}

/* Rows, whose weights may be in units of 2^shift. */
struct rows_column {
	const struct dnp_rows *rows;
	unsigned shift;
};

static uint32_t row_time(const struct dnp_page *page, const void *of, size_t i)
{
	const struct dnp_rows *rows = ((const struct rows_column *)of)->rows;

	return (uint32_t)(dnp_rows_time_us(rows, &rows->slots[i]) >> page->unit_shift);
}

static uint32_t row_thread(const struct dnp_page *page, const void *of, size_t i)
{
	(void)page;
	return ((const struct rows_column *)of)->rows->slots[i].thread;
}

static uint32_t row_node(const struct dnp_page *page, const void *of, size_t i)
{
	(void)page;
	return ((const struct rows_column *)of)->rows->slots[i].node;
}

static uint32_t row_weight(const struct dnp_page *page, const void *of, size_t i)
{
	const struct rows_column *column = of;
	uint64_t weight = column->rows->slots[i].weight >> column->shift;

	(void)page;
	return weight > UINT32_MAX ? UINT32_MAX : (uint32_t)weight;
}

static uint32_t row_waiting(const struct dnp_page *page, const void *of, size_t i)
{
	(void)page;
	return ((const struct rows_column *)of)->rows->slots[i].waiting;
}

static uint32_t span_node(const struct dnp_page *page, const void *of, size_t i)
{
	(void)page;
	(void)of;
	return (uint32_t)i;
}

static uint32_t float_bits(uint64_t value)
{
	float number = (float)value;
	uint32_t bits;

	memcpy(&bits, &number, sizeof(bits));
	return bits;
}

static uint32_t span_shortest(const struct dnp_page *page, const void *of, size_t i)
{
	(void)page;
	return float_bits(dnp_calls_span(of, (uint32_t)i).min_ns);
}

static uint32_t span_longest(const struct dnp_page *page, const void *of, size_t i)
{
	(void)page;
	return float_bits(dnp_calls_span(of, (uint32_t)i).max_ns);
}

static uint32_t slice_thread(const struct dnp_page *page, const void *of, size_t i)
{
	(void)page;
	return ((const struct dnp_page_calls *)of)->threads.p[i];
}

static uint32_t run_thread(const struct dnp_page *page, const void *of, size_t i)
{
	(void)of;
	return page->runs->threads.p[i];
}

static uint32_t clock_thread(const struct dnp_page *page, const void *of, size_t i)
{
	(void)of;
	return page->runs->clock_threads.p[i];
}

static uint32_t wait_thread(const struct dnp_page *page, const void *of, size_t i)
{
	(void)of;
	return page->profile->waits.p[i].thread;
}

static uint32_t wait_node(const struct dnp_page *page, const void *of, size_t i)
{
	(void)of;
	return page->profile->waits.p[i].node;
}

static uint32_t wait_call(const struct dnp_page *page, const void *of, size_t i)
{
	(void)of;
	return page->profile->waits.p[i].call;
}

static uint32_t wait_kind(const struct dnp_page *page, const void *of, size_t i)
{
	(void)of;
	return page->profile->waits.p[i].kind;
}

static uint32_t mark_thread(const struct dnp_page *page, const void *of, size_t i)
{
	(void)of;
	return page->runs->beside.marks.p[i].thread;
}

static uint32_t mark_text(const struct dnp_page *page, const void *of, size_t i)
{
	(void)of;
	return page->runs->beside.marks.p[i].text;
}

/* Plus 1; 0: it is not in the profile. */
static uint32_t waker_thread(const struct dnp_page *page, const void *of, size_t i)
{
	(void)of;
	return page->runs->beside.wakers.p[i].thread + 1;
}

static uint32_t waker_pid(const struct dnp_page *page, const void *of, size_t i)
{
	(void)of;
	return page->runs->beside.wakers.p[i].pid;
}

static uint32_t waker_tid(const struct dnp_page *page, const void *of, size_t i)
{
	(void)of;
	return page->runs->beside.wakers.p[i].tid;
}

static uint32_t waker_name(const struct dnp_page *page, const void *of, size_t i)
{
	(void)of;
	return page->runs->beside.wakers.p[i].name;
}

static uint32_t wake_thread(const struct dnp_page *page, const void *of, size_t i)
{
	(void)of;
	return page->runs->beside.wakes.p[i].thread;
}

static uint32_t wake_by(const struct dnp_page *page, const void *of, size_t i)
{
	(void)of;
	return page->runs->beside.wakes.p[i].by;
}

static const struct column frame_columns[] = {
	{"frame.name", "u32", 4, frame_name},
	{"frame.module", "u32", 4, frame_module},
	{"frame.kind", "u8", 1, frame_kind},
	{"frame.managed", "u8", 1, frame_managed},
	{0},
};

static const struct column node_columns[] = {
	{"node.parent", "u32", 4, node_parent},
	{"node.frame", "u32", 4, node_frame},
	{0},
};

static const struct column row_columns[] = {
	{"time", "u32", 4, row_time},
	{"thread", "u32", 4, row_thread},
	{"node", "u32", 4, row_node},
	{"weight", "u32", 4, row_weight},
	{0},
};

static const struct column waiting_columns[] = {
	{"waiting", "u8", 1, row_waiting},
	{0},
};

static const struct column span_columns[] = {
	{"spans.node", "u32", 4, span_node},
	{"spans.shortest", "f32", 4, span_shortest},
	{"spans.longest", "f32", 4, span_longest},
	{0},
};

static const struct column thread_columns[] = {
	{"slices.threads", "u32", 4, slice_thread},
	{0},
};

static const struct column run_columns[] = {
	{"runs.threads", "u32", 4, run_thread},
	{0},
};

static const struct column clock_columns[] = {
	{"clocks.threads", "u32", 4, clock_thread},
	{0},
};

static const struct column wait_columns[] = {
	{"waits.thread", "u32", 4, wait_thread},
	{"waits.node", "u32", 4, wait_node},
	{"waits.call", "u32", 4, wait_call},
	{"waits.kind", "u8", 1, wait_kind},
	{0},
};

static const struct column mark_columns[] = {
	{"marks.thread", "u32", 4, mark_thread},
	{"marks.text", "u32", 4, mark_text},
	{0},
};

static const struct column waker_columns[] = {
	{"wakers.thread", "u32", 4, waker_thread},
	{"wakers.pid", "u32", 4, waker_pid},
	{"wakers.tid", "u32", 4, waker_tid},
	{"wakers.name", "u32", 4, waker_name},
	{0},
};

static const struct column wake_columns[] = {
	{"wakes.thread", "u32", 4, wake_thread},
	{"wakes.by", "u32", 4, wake_by},
	{0},
};

/* Lists or writes one array after the other. */
struct visit {
	const struct dnp_page *page;
	struct dnp_json *json; /* lists */
	struct dnp_sink *sink; /* writes */
};

static void pad(struct dnp_sink *sink, size_t bytes)
{
	static const char zeros[8];

	dnp_sink_write(sink, zeros, -bytes & 7);
}

static void list(struct visit *visit, const char *prefix, const char *name, const char *type,
	const char *unit, size_t n)
{
	char full[256];

	snprintf(full, sizeof(full), "%s%s%s", prefix, *prefix ? "." : "", name);
	dnp_json_open(visit->json, NULL, '{');
	dnp_json_text(visit->json, "name", full);
	dnp_json_text(visit->json, "type", type);
	dnp_json_u64(visit->json, unit, n);
	dnp_json_close(visit->json, '}');
}

static void visit_bytes(struct visit *visit, const char *prefix, const char *name, const char *type,
	const void *bytes, size_t n)
{
	if (visit->json) {
		list(visit, prefix, name, type, "bytes", n);
		return;
	}
	dnp_sink_write(visit->sink, bytes, n);
	pad(visit->sink, n);
}

static void write_column(
	const struct visit *visit, const struct column *column, const void *of, size_t n)
{
	uint8_t buffer[4096];
	size_t used = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t value = column->at(visit->page, of, i);

		for (unsigned k = 0; k < column->bytes; k++, value >>= 8)
			buffer[used++] = (uint8_t)value;
		if (used == sizeof(buffer)) {
			dnp_sink_write(visit->sink, buffer, used);
			used = 0;
		}
	}
	dnp_sink_write(visit->sink, buffer, used);
	pad(visit->sink, n * column->bytes);
}

static void visit_columns(struct visit *visit, const char *prefix, const struct column *columns,
	const void *of, size_t n)
{
	for (const struct column *column = columns; column->name; column++) {
		if (visit->json)
			list(visit, prefix, column->name, column->type, "count", n);
		else
			write_column(visit, column, of, n);
	}
}

static void visit_rows(struct visit *visit, const char *event, const char *part,
	const struct dnp_rows *rows, unsigned shift)
{
	struct rows_column of = {rows, shift};
	char prefix[200];

	snprintf(prefix, sizeof(prefix), "%s%s", event, part);
	visit_columns(visit, prefix, row_columns, &of, rows->n);
}

static void visit_slices(struct visit *visit, const char *event, const struct dnp_page_calls *calls)
{
	visit_rows(visit, event, ".durations", &calls->lanes.durations, 0);
	visit_columns(visit, event, thread_columns, calls, calls->threads.n);
	visit_bytes(visit, event, "slices.end", "varint", calls->end.p, calls->end.n);
	visit_bytes(visit, event, "slices.length", "varint", calls->length.p, calls->length.n);
	visit_bytes(visit, event, "slices.node", "varint", calls->node.p, calls->node.n);
	visit_bytes(visit, event, "slices.calls", "varint", calls->calls.p, calls->calls.n);
}

static void visit_calls(struct visit *visit, const char *name, const struct dnp_event *event,
	const struct dnp_page_calls *calls)
{
	visit_rows(visit, name, "", &calls->lanes.time, calls->weight_shift);
	visit_rows(visit, name, ".calls", &calls->lanes.counts, 0);
	if (event->calls->depth != DNP_CALL_TREE)
		visit_columns(visit, name, span_columns, event->calls, event->calls->spans.n);
	if (calls->single)
		visit_slices(visit, name, calls);
}

static void visit_beside(
	struct visit *visit, const char *event, const struct dnp_page_beside *beside)
{
	const struct dnp_strings *strings = &beside->strings;

	visit_bytes(visit, event, "strings", "utf8", strings->bytes.p, strings->bytes.n);
	visit_columns(visit, event, mark_columns, NULL, beside->marks.n);
	visit_bytes(
		visit, event, "marks.times", "varint", beside->mark_times.p, beside->mark_times.n);
	visit_bytes(visit, event, "marks.lengths", "varint", beside->mark_lengths.p,
		beside->mark_lengths.n);
	visit_columns(visit, event, waker_columns, NULL, beside->wakers.n);
	visit_columns(visit, event, wake_columns, NULL, beside->wakes.n);
	visit_bytes(
		visit, event, "wakes.times", "varint", beside->wake_times.p, beside->wake_times.n);
}

static void visit_runs(struct visit *visit, const char *event, const struct dnp_page_runs *runs)
{
	visit_columns(visit, event, run_columns, NULL, runs->threads.n);
	visit_bytes(visit, event, "runs.slices", "varint", runs->slices.p, runs->slices.n);
	visit_columns(visit, event, clock_columns, NULL, runs->clock_threads.n);
	visit_bytes(visit, event, "clocks.readings", "varint", runs->clocks.p, runs->clocks.n);
	visit_bytes(visit, event, "losses", "varint", runs->losses.p, runs->losses.n);
	visit_columns(visit, event, wait_columns, NULL, visit->page->profile->waits.n);
	visit_bytes(visit, event, "waits.times", "varint", runs->wait_times.p, runs->wait_times.n);
	visit_beside(visit, event, &runs->beside);
}

static void visit_event(struct visit *visit, size_t i)
{
	const struct dnp_profile *profile = visit->page->profile;
	const struct dnp_event *event = &profile->events.p[i];
	const char *name = dnp_profile_string(profile, event->name);
	bool scaled = event->in_ns || event->in_bytes;
	struct rows_column rows = {&event->rows, scaled ? dnp_page_weight_shift(&event->rows) : 0};

	if (visit->page->calls[i]) {
		visit_calls(visit, name, event, visit->page->calls[i]);
		return;
	}
	visit_columns(visit, name, row_columns, &rows, event->rows.n);
	if (event->waiting)
		visit_columns(visit, name, waiting_columns, &rows, event->rows.n);
	if (event->switches && visit->page->runs)
		visit_runs(visit, name, visit->page->runs);
}

static void visit_all(struct visit *visit)
{
	const struct dnp_profile *profile = visit->page->profile;

	visit_bytes(
		visit, "", "strings", "utf8", profile->strings.bytes.p, profile->strings.bytes.n);
	visit_columns(visit, "", frame_columns, NULL, profile->frames.n);
	visit_columns(visit, "", node_columns, NULL, profile->nodes.n);
	for (size_t i = 0; i < profile->events.n; i++)
		visit_event(visit, i);
}

void dnp_arrays_list(const struct dnp_page *page, struct dnp_json *json)
{
	struct visit visit = {.page = page, .json = json};

	visit_all(&visit);
}

void dnp_arrays_write(const struct dnp_page *page, struct dnp_sink *sink)
{
	struct visit visit = {.page = page, .sink = sink};

	visit_all(&visit);
}
