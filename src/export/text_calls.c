/* SPDX-License-Identifier: MIT */
#include "export/text_calls.h"

#include <inttypes.h>
#include <stdio.h>

#include "aggregate/neighbours.h"
#include "base/pattern.h"
#include "export/event.h"
#include "export/share.h"
#include "export/text_threads.h"

#define TIME_COLUMNS  11u
#define CALLS_COLUMNS 15u
#define WIDE          120u /* columns of a terminal that shortest and longest calls fit in */

static void put_counters(const struct dnp_calls *calls, struct dnp_line *line)
{
	dnp_line_printf(line, "  began %s, returned %s", dnp_format_count(calls->enters).text,
		dnp_format_count(calls->leaves).text);
	if (calls->tailcalls)
		dnp_line_printf(line, ", tail calls %s", dnp_format_count(calls->tailcalls).text);
	if (calls->unwinds)
		dnp_line_printf(
			line, ", ended by exceptions %s", dnp_format_count(calls->unwinds).text);
	dnp_line_printf(line, ", still open %s", dnp_format_count(calls->open).text);
	dnp_line_end(line);
	dnp_line_printf(line, "  methods %s", dnp_format_count(calls->methods).text);
	if (calls->left_out)
		dnp_line_printf(line, ", left out by the filter %s",
			dnp_format_count(calls->left_out).text);
	if (calls->waits)
		dnp_line_printf(line, ", waited for the recording %s times",
			dnp_format_count(calls->waits).text);
	dnp_line_end(line);
}

static bool is_filtered(const struct dnp_profile *profile)
{
	return profile->filter.thread_count || dnp_filter_cuts(&profile->filter);
}

void dnp_text_calls_event(const struct dnp_tree *tree, struct dnp_line *line)
{
	const struct dnp_event *event = tree->event;
	const struct dnp_calls *calls = event->calls;

	line->wrap = 4;
	dnp_line_text(line, dnp_profile_string(tree->profile, event->name));
	dnp_line_printf(line, ": %s calls, lost %s", dnp_format_count(calls->calls).text,
		dnp_format_count(event->lost).text);
	/* That of what was told. */
	if (calls->calls)
		dnp_line_printf(line, ", depth %s", dnp_call_depth_name(calls->depth));
	if (*dnp_profile_string(tree->profile, event->source)) {
		dnp_line_puts(line, ", ");
		dnp_line_text(line, dnp_profile_string(tree->profile, event->source));
	}
	dnp_line_end(line);
	/* Of all there was; a recording that ended early may have been told of less than it has. */
	if (calls->counted && calls->enters >= calls->calls && !is_filtered(tree->profile))
		put_counters(calls, line);
}

/* Whether each call was timed, and there is room to say so. */
static bool shows_spans(const struct dnp_tree *tree, const struct dnp_line *line)
{
	return tree->event->calls->depth != DNP_CALL_TREE &&
		(!line->columns || line->columns >= WIDE);
}

static void put_time(struct dnp_line *line, uint64_t ns)
{
	dnp_line_right(line, dnp_format_ns(ns).text, TIME_COLUMNS);
}

static void put_calls(struct dnp_line *line, uint64_t calls)
{
	dnp_line_right(line, dnp_format_count(calls).text, CALLS_COLUMNS);
}

void dnp_text_calls_columns(const struct dnp_tree *tree, struct dnp_line *line)
{
	dnp_line_puts(line, "    self       time     total       time          calls    average");
	if (shows_spans(tree, line))
		dnp_line_puts(line, "   shortest    longest");
	dnp_line_puts(line, "   method");
	dnp_line_end(line);
}

void dnp_text_calls_method(
	const struct dnp_tree *tree, const struct dnp_method *method, struct dnp_line *line)
{
	uint64_t all = tree->total[0];

	dnp_line_printf(line, "%6.1f %%", dnp_percent(method->self, all));
	put_time(line, method->self);
	dnp_line_printf(line, "%8.1f %%", dnp_percent(method->total, all));
	put_time(line, method->total);
	put_calls(line, method->calls);
	if (method->calls)
		put_time(line, method->sum / method->calls);
	else
		dnp_line_right(line, "-", TIME_COLUMNS);
	if (shows_spans(tree, line) && method->span.max_ns) {
		put_time(line, method->span.min_ns);
		put_time(line, method->span.max_ns);
	} else if (shows_spans(tree, line)) {
		dnp_line_right(line, "-", TIME_COLUMNS);
		dnp_line_right(line, "-", TIME_COLUMNS);
	}
	dnp_line_puts(line, "   ");
	dnp_line_name(line, dnp_tree_name(tree, method->frame));
	dnp_line_end(line);
}

static void put_edge(
	const struct dnp_tree *tree, const struct dnp_edge *edge, struct dnp_line *line)
{
	uint64_t all = tree->total[0];

	dnp_line_printf(line, "%6.1f %%", dnp_percent(edge->total, all));
	if (tree->calls) {
		put_time(line, edge->total);
		put_time(line, edge->self);
		put_calls(line, edge->calls);
	} else {
		dnp_line_right(line, dnp_format_weight(tree->event, edge->total).text, 12);
		dnp_line_right(line, dnp_format_weight(tree->event, edge->self).text, 12);
	}
	dnp_line_puts(line, "   ");
	dnp_line_name(line,
		edge->frame ? dnp_tree_name(tree, edge->frame) : "(nobody: the thread's first)");
	dnp_line_end(line);
}

static void put_edges(const struct dnp_tree *tree, const char *heading, const struct dnp_edges *all,
	uint32_t frame, size_t top, struct dnp_line *line)
{
	const struct dnp_edge *edges;
	size_t n = dnp_edges_of(all, frame, &edges);
	size_t shown = top && top < n ? top : n;

	if (!n)
		return;
	dnp_line_puts(line,
		tree->calls                     ? "   total       time       self          calls   "
			: tree->event->in_ns    ? "   total        time        self   "
			: tree->event->in_bytes ? "   total       bytes        self   "
						: "   total     samples        self   ");
	dnp_line_puts(line, heading);
	if (shown < n)
		dnp_line_printf(line, ", the first %s of %s", dnp_format_count(shown).text,
			dnp_format_count(n).text);
	dnp_line_end(line);
	for (size_t i = 0; i < shown; i++)
		put_edge(tree, &edges[i], line);
}

int dnp_text_neighbours(const struct dnp_tree *tree, const struct dnp_export_options *options,
	struct dnp_line *line)
{
	struct dnp_neighbours neighbours;
	size_t shown = 0, all = 0;
	int status = dnp_neighbours_init(&neighbours, tree);

	for (size_t i = 0; i < tree->methods.n; i++) {
		const struct dnp_method *method = &tree->methods.p[i];

		if (!dnp_pattern_any(options->about, options->about_count,
			    dnp_str(dnp_tree_name(tree, method->frame))) ||
			(all++, options->top && shown >= options->top))
			continue;
		shown++;
		dnp_line_end(line);
		dnp_line_name(line, dnp_tree_name(tree, method->frame));
		dnp_line_end(line);
		put_edges(
			tree, "called by", &neighbours.callers, method->frame, options->top, line);
		put_edges(tree, "calls", &neighbours.callees, method->frame, options->top, line);
	}
	dnp_neighbours_done(&neighbours);
	if (!all || shown < all)
		dnp_line_end(line);
	if (!all)
		dnp_line_puts(line, "no method matches");
	else if (shown < all)
		dnp_line_printf(
			line, "and %s methods more that match", dnp_format_count(all - shown).text);
	if (!all || shown < all)
		dnp_line_end(line);
	return status;
}
