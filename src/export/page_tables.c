/* SPDX-License-Identifier: MIT */
#include "export/page_tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/collections.h"
#include "aggregate/live.h"
#include "aggregate/spans.h"
#include "aggregate/thrown.h"
#include "base/clean.h"
#include "format/gc_reason.h"

#define ROWS_MAX 1000u /* of one table: the first, as the report has them */

/* What a column holds; the viewer knows these words. */
#define NAME  "name"
#define TEXT  "text"
#define COUNT "count"
#define NS    "ns"
#define BYTES "bytes"

struct column {
	const char *title, *kind;
};

static const char *string(const struct dnp_profile *profile, uint32_t number)
{
	return dnp_profile_string(profile, number);
}

/* Followed by its rows, arrays of as many values as there are columns, and close_table. */
static void open_table(struct dnp_json *json, const char *title, size_t rows,
	const struct column *columns, size_t n_columns)
{
	dnp_json_open(json, NULL, '{');
	dnp_json_text(json, "title", title);
	dnp_json_u64(json, "rows_in_all", rows);
	dnp_json_open(json, "columns", '[');
	for (size_t i = 0; i < n_columns; i++) {
		dnp_json_open(json, NULL, '{');
		dnp_json_text(json, "title", columns[i].title);
		dnp_json_text(json, "kind", columns[i].kind);
		dnp_json_close(json, '}');
	}
	dnp_json_close(json, ']');
	dnp_json_open(json, "rows", '[');
}

static void close_table(struct dnp_json *json)
{
	dnp_json_close(json, ']');
	dnp_json_close(json, '}');
}

static size_t shown(size_t rows)
{
	return rows < ROWS_MAX ? rows : ROWS_MAX;
}

/* ---- What samples are about */

static void put_label(const struct dnp_profile *profile, const struct dnp_event *event,
	const struct dnp_label *label, struct dnp_json *json)
{
	dnp_json_open(json, NULL, '[');
	dnp_json_text(json, NULL, string(profile, label->name));
	dnp_json_u64(json, NULL, (uint64_t)(label->sum.count + 0.5));
	if (event->in_bytes) {
		struct dnp_range range = dnp_label_range(&label->sum, event->lot);

		dnp_json_u64(json, NULL, label->sum.weight);
		dnp_json_u64(json, NULL, (uint64_t)range.low);
		dnp_json_u64(json, NULL, (uint64_t)(range.high + 0.5));
	}
	if (event->in_ns) {
		dnp_json_u64(json, NULL, label->sum.weight);
		dnp_json_u64(json, NULL, label->sum.greatest);
	}
	dnp_json_close(json, ']');
}

static void put_labels(
	const struct dnp_profile *profile, const struct dnp_event *event, struct dnp_json *json)
{
	static const struct column bytes[] = {{"What", NAME}, {"Objects", COUNT}, {"Bytes", BYTES},
		{"95 % from", BYTES}, {"95 % to", BYTES}};
	static const struct column ns[] = {
		{"What", NAME}, {"Count", COUNT}, {"Time", NS}, {"Longest", NS}};
	static const struct column counts[] = {{"What", NAME}, {"Count", COUNT}};
	size_t n = event->labels.n;

	if (!n)
		return;
	if (event->in_bytes)
		open_table(json, "Types", n, bytes, DNP_ARRAY_SIZE(bytes));
	else if (event->in_ns)
		open_table(json, "Sums", n, ns, DNP_ARRAY_SIZE(ns));
	else
		open_table(json, "Counts", n, counts, DNP_ARRAY_SIZE(counts));
	for (size_t i = 0; i < shown(n); i++)
		put_label(profile, event, &event->labels.p[i], json);
	close_table(json);
}

/* ---- Exceptions */

static void put_end(const struct dnp_profile *profile, const struct dnp_label *label,
	const char *what, uint64_t count, struct dnp_json *json)
{
	if (!count)
		return;
	dnp_json_open(json, NULL, '[');
	dnp_json_text(json, NULL, string(profile, label->name));
	dnp_json_text(json, NULL, what);
	dnp_json_u64(json, NULL, count);
	dnp_json_close(json, ']');
}

static size_t count_tallies(const struct dnp_event *event, bool messages)
{
	size_t n = 0;

	for (size_t i = 0; i < event->labels.n; i++) {
		const struct dnp_thrown *thrown = event->labels.p[i].thrown;

		if (!thrown)
			continue;
		n += messages ? thrown->messages.n : thrown->catchers.n;
		n += !messages && thrown->ended[DNP_EXCEPTION_IN_FILTER];
		n += !messages && thrown->ended[DNP_EXCEPTION_NOT_CAUGHT];
	}
	return n;
}

/* Some more than ROWS_MAX, so that no type is cut in two. */
static void put_ends(const struct dnp_profile *profile, const struct dnp_event *event,
	bool messages, struct dnp_json *json)
{
	size_t put = 0;

	for (size_t i = 0; i < event->labels.n && put < ROWS_MAX; i++) {
		const struct dnp_label *label = &event->labels.p[i];
		const struct dnp_thrown *thrown = label->thrown;
		const struct dnp_tallies *tallies;

		if (!thrown)
			continue;
		tallies = messages ? &thrown->messages : &thrown->catchers;
		for (size_t k = 0; k < shown(tallies->n); k++, put++)
			put_end(profile, label, string(profile, tallies->p[k].name),
				tallies->p[k].count, json);
		if (messages)
			continue;
		put_end(profile, label, "[ended in a filter]",
			thrown->ended[DNP_EXCEPTION_IN_FILTER], json);
		put_end(profile, label, "[not caught]", thrown->ended[DNP_EXCEPTION_NOT_CAUGHT],
			json);
	}
}

static void put_thrown(
	const struct dnp_profile *profile, const struct dnp_event *event, struct dnp_json *json)
{
	static const struct column catchers[] = {
		{"Type", NAME}, {"Caught in", NAME}, {"Count", COUNT}};
	static const struct column messages[] = {
		{"Type", NAME}, {"Message", TEXT}, {"Count", COUNT}};
	size_t caught = count_tallies(event, false), said = count_tallies(event, true);

	if (caught) {
		open_table(json, "Caught in", caught, catchers, DNP_ARRAY_SIZE(catchers));
		put_ends(profile, event, false, json);
		close_table(json);
	}
	if (said) {
		open_table(json, "Messages", said, messages, DNP_ARRAY_SIZE(messages));
		put_ends(profile, event, true, json);
		close_table(json);
	}
}

/* ---- Requests, spans and marks */

/* Of what has not ended there are none. */
static void put_times(const struct dnp_span_sum *sum, struct dnp_json *json)
{
	const uint64_t times[] = {sum->total_ns, sum->median_ns, sum->p99_ns, sum->longest_ns};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(times); i++)
		if (sum->ended)
			dnp_json_u64(json, NULL, times[i]);
		else
			dnp_json_text(json, NULL, "");
}

static void put_span_sums(const struct dnp_profile *profile, const struct dnp_span_sums *sums,
	const char *open_title, struct dnp_json *json)
{
	const struct column columns[] = {{"Name", NAME}, {"Count", COUNT}, {open_title, COUNT},
		{"Total", NS}, {"Median", NS}, {"p99", NS}, {"Longest", NS}};

	if (!sums->spans.n)
		return;
	open_table(json, "Sums", sums->spans.n, columns, DNP_ARRAY_SIZE(columns));
	for (size_t i = 0; i < shown(sums->spans.n); i++) {
		const struct dnp_span_sum *sum = &sums->spans.p[i];

		dnp_json_open(json, NULL, '[');
		dnp_json_text(json, NULL, string(profile, sum->name));
		dnp_json_u64(json, NULL, sum->count);
		dnp_json_u64(json, NULL, sum->count - sum->ended);
		put_times(sum, json);
		dnp_json_close(json, ']');
	}
	close_table(json);
}

/* Of those that have not ended there are no results. */
static void put_each_span(const struct dnp_profile *profile, const char *title, bool ended,
	const struct dnp_span *const *spans, size_t n, struct dnp_json *json)
{
	static const struct column took[] = {
		{"Name", NAME}, {"Took", NS}, {"After", NS}, {"Trace", TEXT}, {"Result", TEXT}};
	static const struct column so_far[] = {
		{"Name", NAME}, {"So far", NS}, {"After", NS}, {"Trace", TEXT}};

	if (!n)
		return;
	if (ended)
		open_table(json, title, n, took, DNP_ARRAY_SIZE(took));
	else
		open_table(json, title, n, so_far, DNP_ARRAY_SIZE(so_far));
	for (size_t i = 0; i < shown(n); i++) {
		const struct dnp_span *span = spans[i];

		dnp_json_open(json, NULL, '[');
		dnp_json_text(json, NULL, string(profile, span->name));
		dnp_json_u64(json, NULL, dnp_span_ns(span));
		dnp_json_u64(json, NULL, span->begin_ns);
		dnp_json_text(json, NULL, string(profile, span->trace));
		if (ended)
			dnp_json_text(json, NULL, string(profile, span->result));
		dnp_json_close(json, ']');
	}
	close_table(json);
}

static void put_results(
	const struct dnp_profile *profile, const struct dnp_span_sums *sums, struct dnp_json *json)
{
	static const struct column columns[] = {{"Result", NAME}, {"Count", COUNT}};

	if (!sums->results.n)
		return;
	open_table(json, "Results", sums->results.n, columns, DNP_ARRAY_SIZE(columns));
	for (size_t i = 0; i < shown(sums->results.n); i++) {
		dnp_json_open(json, NULL, '[');
		dnp_json_text(json, NULL, string(profile, sums->results.p[i].name));
		dnp_json_u64(json, NULL, sums->results.p[i].count);
		dnp_json_close(json, ']');
	}
	close_table(json);
}

static void put_points(
	const struct dnp_profile *profile, const struct dnp_span_sums *sums, struct dnp_json *json)
{
	static const struct column columns[] = {{"Mark", NAME}, {"Count", COUNT}};

	if (!sums->points.n)
		return;
	open_table(json, "Marks", sums->points.n, columns, DNP_ARRAY_SIZE(columns));
	for (size_t i = 0; i < shown(sums->points.n); i++) {
		dnp_json_open(json, NULL, '[');
		dnp_json_text(json, NULL, string(profile, sums->points.p[i].name));
		dnp_json_u64(json, NULL, sums->points.p[i].count);
		dnp_json_close(json, ']');
	}
	close_table(json);
}

static int put_spans(const struct dnp_profile *profile, uint32_t event, struct dnp_json *json)
{
	const char *open_title = dnp_span_open_title(&profile->events.p[event]);
	struct dnp_span_sums sums;
	int status = dnp_span_sums_init(&sums, profile, event);

	if (!status) {
		put_span_sums(profile, &sums, open_title, json);
		put_each_span(profile, "Longest", true, sums.longest.p, sums.longest.n, json);
		put_each_span(profile, open_title, false, sums.open.p, sums.open.n, json);
		put_results(profile, &sums, json);
		put_points(profile, &sums, json);
	}
	dnp_span_sums_done(&sums);
	return status;
}

/* ---- Collections */

static void put_generation(
	const char *name, const struct dnp_collection_sum *sum, struct dnp_json *json)
{
	if (!sum->count)
		return;
	dnp_json_open(json, NULL, '[');
	dnp_json_text(json, NULL, name);
	dnp_json_u64(json, NULL, sum->count);
	dnp_json_u64(json, NULL, sum->background);
	dnp_json_u64(json, NULL, sum->pause_ns);
	dnp_json_u64(json, NULL, sum->median_ns);
	dnp_json_u64(json, NULL, sum->p99_ns);
	dnp_json_u64(json, NULL, sum->longest_ns);
	dnp_json_u64(json, NULL, sum->survived);
	dnp_json_close(json, ']');
}

static void put_generations(const struct dnp_collection_sums *sums, struct dnp_json *json)
{
	static const struct column columns[] = {{"Generation", TEXT}, {"Count", COUNT},
		{"Background", COUNT}, {"Paused", NS}, {"Median", NS}, {"p99", NS}, {"Longest", NS},
		{"Survived", BYTES}};
	static const char *const names[DNP_GENERATIONS] = {"0", "1", "2"};
	uint64_t rows = sums->all.count > 0;

	for (unsigned i = 0; i < DNP_GENERATIONS; i++)
		rows += sums->generations[i].count > 0;
	open_table(json, "Generations", rows, columns, DNP_ARRAY_SIZE(columns));
	for (unsigned i = 0; i < DNP_GENERATIONS; i++)
		put_generation(names[i], &sums->generations[i], json);
	put_generation("all", &sums->all, json);
	close_table(json);
}

static void put_collection(const struct dnp_collection *one, struct dnp_json *json)
{
	char what[128];

	snprintf(what, sizeof(what), "#%" PRIu64 " gen %" PRIu64 " %s%s (%s)", one->number,
		one->generation, dnp_collection_kind_name(one->kind),
		one->compacting ? ", compacting" : "", dnp_gc_reason(one->reason));
	dnp_json_open(json, NULL, '[');
	dnp_json_text(json, NULL, what);
	dnp_json_u64(json, NULL, one->longest_ns);
	dnp_json_u64(json, NULL, one->pause_ns);
	dnp_json_u64(json, NULL, one->suspend_ns);
	dnp_json_u64(json, NULL, one->begin_ns);
	dnp_json_u64(json, NULL, dnp_collection_before(one));
	dnp_json_u64(json, NULL, dnp_collection_after(one));
	dnp_json_close(json, ']');
}

static int put_collections(const struct dnp_profile *profile, struct dnp_json *json)
{
	static const struct column columns[] = {{"What", TEXT}, {"Longest", NS}, {"Paused", NS},
		{"Stopping", NS}, {"After", NS}, {"Heap before", BYTES}, {"Heap after", BYTES}};
	struct dnp_collection_sums sums;
	int status = dnp_collection_sums_init(&sums, &profile->collections);

	if (!status && sums.longest.n) {
		put_generations(&sums, json);
		open_table(json, "Collections", sums.longest.n, columns, DNP_ARRAY_SIZE(columns));
		for (size_t i = 0; i < shown(sums.longest.n); i++)
			put_collection(sums.longest.p[i], json);
		close_table(json);
	}
	dnp_collection_sums_done(&sums);
	return status;
}

/* ---- Where objects are made, and the like */

static const char *frame_name(const struct dnp_profile *profile, uint32_t frame)
{
	return string(profile, profile->frames.p[frame].name);
}

/* Of objects: the first columns of both tables. */
static void put_made(const struct dnp_profile *profile, const struct dnp_site *site, uint64_t lot,
	struct dnp_json *json)
{
	struct dnp_range range = dnp_label_range(&site->sum, lot);

	dnp_json_text(json, NULL, frame_name(profile, site->type));
	dnp_json_text(json, NULL, frame_name(profile, site->method));
	dnp_json_u64(json, NULL, site->sum.weight);
	dnp_json_u64(json, NULL, (uint64_t)range.low);
	dnp_json_u64(json, NULL, (uint64_t)(range.high + 0.5));
	dnp_json_u64(json, NULL, (uint64_t)(site->sum.count + 0.5));
}

static void put_site(const struct dnp_profile *profile, const struct dnp_event *event,
	const struct dnp_site *site, struct dnp_json *json)
{
	dnp_json_open(json, NULL, '[');
	if (event->in_bytes) {
		put_made(profile, site, event->lot, json);
	} else {
		dnp_json_text(json, NULL, frame_name(profile, site->type));
		dnp_json_text(json, NULL, frame_name(profile, site->method));
		dnp_json_u64(json, NULL, (uint64_t)(site->sum.count + 0.5));
	}
	if (event->in_ns) {
		dnp_json_u64(json, NULL, site->sum.weight);
		dnp_json_u64(json, NULL, site->sum.greatest);
	}
	dnp_json_close(json, ']');
}

static void put_all_sites(const struct dnp_profile *profile, const struct dnp_event *event,
	const struct dnp_sites *sites, struct dnp_json *json)
{
	static const struct column bytes[] = {{"Type", NAME}, {"Made in", NAME}, {"Bytes", BYTES},
		{"95 % from", BYTES}, {"95 % to", BYTES}, {"Objects", COUNT}};
	static const struct column ns[] = {
		{"Type", NAME}, {"In", NAME}, {"Count", COUNT}, {"Time", NS}, {"Longest", NS}};
	static const struct column counts[] = {{"Type", NAME}, {"In", NAME}, {"Count", COUNT}};
	size_t n = sites->all.n;

	if (event->in_bytes)
		open_table(json, "Sites", n, bytes, DNP_ARRAY_SIZE(bytes));
	else if (event->in_ns)
		open_table(json, "Sites", n, ns, DNP_ARRAY_SIZE(ns));
	else
		open_table(json, "Sites", n, counts, DNP_ARRAY_SIZE(counts));
	for (size_t i = 0; i < shown(n); i++)
		put_site(profile, event, &sites->all.p[i], json);
	close_table(json);
}

static int put_sites(
	const struct dnp_profile *profile, const struct dnp_event *event, struct dnp_json *json)
{
	struct dnp_sites sites;
	int status = dnp_sites_of_event(&sites, profile, event);

	if (!status && sites.all.n)
		put_all_sites(profile, event, &sites, json);
	dnp_sites_done(&sites);
	return status;
}

/* ---- Objects that stay */

static void put_live_site(const struct dnp_profile *profile, const struct dnp_live_site *site,
	uint64_t lot, struct dnp_json *json)
{
	dnp_json_open(json, NULL, '[');
	put_made(profile, &site->at, lot, json);
	dnp_json_u64(json, NULL, site->median_ns);
	dnp_json_u64(json, NULL, site->median_full);
	dnp_json_u64(json, NULL, (uint64_t)(site->even * 100 + 0.5));
	dnp_json_close(json, ']');
}

static int put_live(const struct dnp_profile *profile, struct dnp_json *json)
{
	static const struct column columns[] = {{"Type", NAME}, {"Made in", NAME}, {"Bytes", BYTES},
		{"95 % from", BYTES}, {"95 % to", BYTES}, {"Objects", COUNT}, {"Median age", NS},
		{"Gen 2", COUNT}, {"Even, %", COUNT}};
	struct dnp_live live;
	int status = dnp_live_init(&live, profile);

	if (!status && live.sites.n) {
		open_table(json, "Sites", live.sites.n, columns, DNP_ARRAY_SIZE(columns));
		for (size_t i = 0; i < shown(live.sites.n); i++)
			put_live_site(profile, &live.sites.p[i], live.mean_bytes, json);
		close_table(json);
	}
	dnp_live_done(&live);
	return status;
}

/* ---- All of them */

int dnp_page_tables(const struct dnp_profile *profile, uint32_t event, struct dnp_json *json)
{
	const struct dnp_event *of = &profile->events.p[event];
	bool collections = profile->collections.n && !strcmp(string(profile, of->name), "gc");
	int status = 0;

	/* Collections are all shown, also where a filter leaves no sample of them. */
	if (!of->says && !of->labels.n && !collections)
		return 0;
	dnp_json_open(json, "tables", '[');
	if (of->says)
		status = put_spans(profile, event, json);
	if (collections)
		status = put_collections(profile, json);
	if (!strcmp(string(profile, of->name), "live"))
		status = put_live(profile, json);
	put_labels(profile, of, json);
	if (!status && strcmp(string(profile, of->name), "live"))
		status = put_sites(profile, of, json);
	put_thrown(profile, of, json);
	dnp_json_close(json, ']');
	return status;
}
