/* SPDX-License-Identifier: MIT */
#include "export/text_labels.h"

#include <stdio.h>
#include <string.h>

#include "export/share.h"
#include "export/text_threads.h"

#define COUNT_COLUMNS "   share       count"
#define TIME_COLUMNS  "   share        time       count     longest"
#define BYTES_COLUMNS "   share       bytes   95 % within                  objects"
#define EXACT_COLUMNS "   share       bytes         objects"
#define RANGE_WIDTH   23

bool dnp_text_has_ranges(const struct dnp_event *event)
{
	double variance = 0;

	for (size_t i = 0; i < event->labels.n; i++)
		variance += event->labels.p[i].sum.variance;
	return event->in_bytes && (variance > 0 || event->lot);
}

void dnp_text_label_columns(const struct dnp_event *event, bool ranges, struct dnp_line *line)
{
	dnp_line_puts(line,
		ranges                    ? BYTES_COLUMNS
			: event->in_bytes ? EXACT_COLUMNS
			: event->in_ns    ? TIME_COLUMNS
					  : COUNT_COLUMNS);
}

void dnp_text_label_range(const struct dnp_label_sum *sum, uint64_t lot, struct dnp_line *line)
{
	struct dnp_range range = dnp_label_range(sum, lot);
	char text[128];

	snprintf(text, sizeof(text), "%s – %s", dnp_format_bytes((uint64_t)range.low).text,
		dnp_format_bytes((uint64_t)(range.high + 0.5)).text);
	dnp_line_right(line, text, RANGE_WIDTH);
}

/* What their shares are of. */
static uint64_t total_of(const struct dnp_tree *tree)
{
	const struct dnp_event *event = tree->event;
	uint64_t total = 0;

	if (!event->counted)
		return tree->total[0];
	for (size_t i = 0; i < event->labels.n; i++)
		total += event->labels.p[i].sum.weight;
	return total;
}

void dnp_text_label(const struct dnp_event *event, const struct dnp_label_sum *sum, uint64_t total,
	bool ranges, struct dnp_line *line)
{
	dnp_line_printf(line, "%6.1f %% ", dnp_percent(sum->weight, total));
	dnp_line_right(line, dnp_format_weight(event, sum->weight).text, 11);
	if (ranges)
		dnp_text_label_range(sum, event->lot, line);
	if (event->in_bytes || event->in_ns)
		dnp_line_right(line,
			ranges ? dnp_format_count((uint64_t)(sum->count + 0.5)).text
			       : dnp_format_estimate(sum).text,
			event->in_bytes ? 16 : 12);
	if (event->in_ns)
		dnp_line_right(line, dnp_format_weight(event, sum->greatest).text, 12);
}

static void put_label(const struct dnp_tree *tree, const struct dnp_label *label, uint64_t total,
	bool ranges, struct dnp_line *line)
{
	dnp_text_label(tree->event, &label->sum, total, ranges, line);
	dnp_line_puts(line, "   ");
	dnp_line_name(line, dnp_profile_string(tree->profile, label->name));
	dnp_line_end(line);
}

static const char *heading(const struct dnp_tree *tree)
{
	const char *name = dnp_profile_string(tree->profile, tree->event->name);

	if (!strcmp(name, "gc"))
		return "Kinds";
	if (!strcmp(name, "safepoint"))
		return "Reasons";
	if (!strcmp(name, "waithandle"))
		return "Waits";
	if (tree->event->counted)
		return "Calls";
	return strcmp(name, "lock") && strcmp(name, "lock-owner") ? "Types" : "Locks";
}

void dnp_text_labels(const struct dnp_tree *tree, size_t top, struct dnp_line *line)
{
	const struct dnp_event *event = tree->event;
	size_t n = top && top < event->labels.n ? top : event->labels.n;
	uint64_t total = total_of(tree);
	bool ranges = dnp_text_has_ranges(event);

	if (!event->labels.n)
		return;
	dnp_text_heading(heading(tree), n, event->labels.n, line);
	dnp_text_label_columns(event, ranges, line);
	dnp_line_puts(line, event->counted ? "   method" : "   type");
	dnp_line_end(line);
	for (size_t i = 0; i < n; i++)
		put_label(tree, &event->labels.p[i], total, ranges, line);
}
