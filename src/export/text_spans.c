/* SPDX-License-Identifier: MIT */
#include "export/text_spans.h"

#include <string.h>

#include "aggregate/spans.h"
#include "export/share.h"
#include "export/text_threads.h"

#define SPAN_COLUMNS    "       count       total      median         p99     longest   name"
#define MARK_COLUMNS    "       count   text"
#define LONGEST_COLUMNS "       after        took   result   name"
#define OPEN_COLUMNS    "       after      so far            name"

static const char *string(const struct dnp_profile *profile, uint32_t number)
{
	return dnp_profile_string(profile, number);
}

/* They have a name of their own, a result and a trace. */
static bool are_requests(const struct dnp_profile *profile, const struct dnp_event *event)
{
	return !strcmp(string(profile, event->unit), "requests");
}

void dnp_text_failures(
	const struct dnp_profile *profile, const struct dnp_event *event, struct dnp_line *line)
{
	for (size_t i = 0; i < event->failures.n; i++) {
		dnp_line_printf(
			line, ", failed %s: ", dnp_format_count(event->failures.p[i].count).text);
		dnp_line_text(line, string(profile, event->failures.p[i].reason));
	}
}

void dnp_text_spans_event(
	const struct dnp_profile *profile, const struct dnp_event *event, struct dnp_line *line)
{
	uint64_t points = 0, spans = 0, open = 0, elsewhere = 0;

	for (size_t i = 0; i < profile->spans.n; i++) {
		const struct dnp_span *span = &profile->spans.p[i];

		if (span->event == DNP_NONE || &profile->events.p[span->event] != event)
			continue;
		points += span->point;
		spans += !span->point;
		open += !span->point && !span->ended;
		elsewhere += span->ended && span->end_thread != span->thread;
	}
	dnp_line_printf(line, "%s: %s %s", string(profile, event->name),
		dnp_format_count(spans).text, are_requests(profile, event) ? "requests" : "spans");
	if (points)
		dnp_line_printf(line, ", %s marks", dnp_format_count(points).text);
	dnp_line_printf(line, ", %s", string(profile, event->source));
	dnp_line_end(line);
	dnp_line_printf(line, "  lost %s", dnp_format_count(event->lost).text);
	if (open)
		dnp_line_printf(line, event->lost ? ", no end recorded of %s" : ", not ended %s",
			dnp_format_count(open).text);
	if (elsewhere)
		dnp_line_printf(
			line, ", ended on another thread %s", dnp_format_count(elsewhere).text);
	dnp_text_failures(profile, event, line);
	dnp_line_end(line);
}

static void put_span(
	const struct dnp_profile *profile, const struct dnp_span_sum *sum, struct dnp_line *line)
{
	dnp_line_right(line, dnp_format_count(sum->count).text, 12);
	dnp_line_right(line, sum->ended ? dnp_format_ns(sum->total_ns).text : "", 12);
	dnp_line_right(line, sum->ended ? dnp_format_ns(sum->median_ns).text : "", 12);
	dnp_line_right(line, sum->ended ? dnp_format_ns(sum->p99_ns).text : "", 12);
	dnp_line_right(line, sum->ended ? dnp_format_ns(sum->longest_ns).text : "", 12);
	dnp_line_puts(line, "   ");
	dnp_line_text(line, string(profile, sum->name));
	dnp_line_end(line);
}

static void put_mark(
	const struct dnp_profile *profile, const struct dnp_span_sum *sum, struct dnp_line *line)
{
	dnp_line_right(line, dnp_format_count(sum->count).text, 12);
	dnp_line_puts(line, "   ");
	dnp_line_text(line, string(profile, sum->name));
	dnp_line_end(line);
}

static void put_each(const struct dnp_profile *profile, const char *title, const char *columns,
	const struct dnp_span *const *spans, size_t all, size_t top, struct dnp_line *line)
{
	size_t n = top && top < all ? top : all;

	if (!all)
		return;
	dnp_text_heading(title, n, all, line);
	dnp_line_puts(line, columns);
	dnp_line_end(line);
	for (size_t i = 0; i < n; i++) {
		const struct dnp_span *span = spans[i];

		dnp_line_right(line, dnp_format_ns(span->begin_ns).text, 12);
		dnp_line_right(line, dnp_format_ns(dnp_span_ns(span)).text, 12);
		dnp_line_right(line, string(profile, span->result), 9);
		dnp_line_puts(line, "   ");
		dnp_line_text(line, string(profile, span->name));
		if (span->trace)
			dnp_line_puts(line, "  trace ");
		dnp_line_text(line, string(profile, span->trace));
		dnp_line_end(line);
	}
}

static void put_results(
	const struct dnp_profile *profile, const struct dnp_span_sums *sums, struct dnp_line *line)
{
	const char *separator = "  results: ";

	for (size_t i = 0; i < sums->results.n; i++) {
		dnp_line_puts(line, separator);
		dnp_line_text(line, string(profile, sums->results.p[i].name));
		dnp_line_printf(line, " %s", dnp_format_count(sums->results.p[i].count).text);
		separator = ", ";
	}
	if (sums->results.n)
		dnp_line_end(line);
}

static void put_table(const struct dnp_profile *profile, const char *title, const char *columns,
	const struct dnp_span_sum *sums, size_t all, size_t top,
	void (*put)(const struct dnp_profile *, const struct dnp_span_sum *, struct dnp_line *),
	struct dnp_line *line)
{
	size_t n = top && top < all ? top : all;

	if (!all)
		return;
	dnp_text_heading(title, n, all, line);
	dnp_line_puts(line, columns);
	dnp_line_end(line);
	for (size_t i = 0; i < n; i++)
		put(profile, &sums[i], line);
}

int dnp_text_spans(const struct dnp_profile *profile, const struct dnp_export_options *options,
	struct dnp_line *line)
{
	const struct dnp_event *event = &profile->events.p[options->event];
	bool requests = are_requests(profile, event);
	struct dnp_span_sums sums;
	int status = dnp_span_sums_init(&sums, profile, options->event);

	if (!status) {
		put_results(profile, &sums, line);
		put_table(profile, requests ? "Requests" : "Spans", SPAN_COLUMNS, sums.spans.p,
			sums.spans.n, options->top, put_span, line);
		if (requests) {
			put_each(profile, "Longest", LONGEST_COLUMNS, sums.longest.p,
				sums.longest.n, options->top, line);
			put_each(profile, dnp_span_open_title(event), OPEN_COLUMNS, sums.open.p,
				sums.open.n, options->top, line);
		}
		put_table(profile, "Marks", MARK_COLUMNS, sums.points.p, sums.points.n,
			options->top, put_mark, line);
	}
	dnp_span_sums_done(&sums);
	return status;
}
