/* SPDX-License-Identifier: MIT */
#include "export/text_threads.h"

#include <inttypes.h>
#include <stdio.h>

#include "aggregate/threads.h"
#include "export/share.h"

#define MANY 5u /* threads from which on those that are alike are one line */

void dnp_text_heading(const char *what, size_t shown, size_t all, struct dnp_line *line)
{
	dnp_line_end(line);
	dnp_line_puts(line, what);
	if (shown < all)
		dnp_line_printf(line, ", the first %s of %s", dnp_format_count(shown).text,
			dnp_format_count(all).text);
	dnp_line_end(line);
}

static void put_time(const struct dnp_event *event, uint64_t samples, struct dnp_line *line)
{
	struct dnp_number text = event->interval_ns
		? dnp_format_duration(samples * event->interval_ns)
		: dnp_format_count(samples);

	dnp_line_right(line, text.text, 13);
}

static void put_name(const struct dnp_thread_list *list, const struct dnp_tree *tree,
	const struct dnp_thread_row *row, struct dnp_line *line)
{
	const struct dnp_thread *thread = &tree->profile->threads.p[row->thread];
	const char *name = dnp_profile_string(tree->profile, thread->name);

	if (row->count > 1)
		name = dnp_strings_get(&list->patterns, row->pattern);
	dnp_line_puts(line, "   ");
	dnp_line_name(line, *name ? name : "(no name)");
}

/* The id of one thread, the number of several. */
static void put_id(const struct dnp_thread *thread, uint32_t count, struct dnp_line *line)
{
	char id[24];

	if (count > 1)
		snprintf(id, sizeof(id), "×%" PRIu32, count);
	else
		snprintf(id, sizeof(id), "%" PRIu64, thread->tid);
	dnp_line_right(line, id, 10);
}

/* Whether some of its samples are of threads that ran, and some of others that did not. */
static bool has_states(const struct dnp_tree *tree)
{
	return tree->event->waiting && !tree->event->in_ns;
}

static void put_thread(const struct dnp_thread_list *list, const struct dnp_tree *tree,
	const struct dnp_thread_row *row, struct dnp_line *line)
{
	const struct dnp_profile *profile = tree->profile;
	const struct dnp_thread *thread = &profile->threads.p[row->thread];

	dnp_line_printf(line, "%6.1f %% ", dnp_percent(row->total, tree->total[0]));
	if (tree->calls) {
		dnp_line_right(line, dnp_format_count(row->calls).text, 14);
		dnp_line_right(line, dnp_format_ns(row->total).text, 12);
	} else {
		dnp_line_right(line, dnp_format_weight(tree->event, row->total).text, 11);
		dnp_line_puts(line, "  ");
	}
	if (has_states(tree)) {
		put_time(tree->event, row->total - row->waiting, line);
		put_time(tree->event, row->waiting, line);
	}
	dnp_line_right(line, row->cpu_ns ? dnp_format_duration(row->cpu_ns).text : "-", 12);
	if (profile->processes.n > 1)
		dnp_line_printf(line, " %9" PRIu64, profile->processes.p[thread->process].pid);
	put_id(thread, row->count, line);
	put_name(list, tree, row, line);
	dnp_line_end(line);
}

static void put_columns(const struct dnp_tree *tree, struct dnp_line *line)
{
	dnp_line_puts(line,
		tree->calls                     ? "   share          calls        time"
			: tree->event->in_bytes ? "   share       bytes  "
			: tree->event->in_ns    ? "   share        time  "
						: "   share     samples  ");
	if (has_states(tree))
		dnp_line_puts(line, "      running      waiting");
	dnp_line_puts(line, "    CPU time");
	dnp_line_puts(line, tree->profile->processes.n > 1 ? "       pid" : "");
	dnp_line_puts(line, "       tid   name");
	dnp_line_end(line);
}

/* Where calls are counted, threads that made none are no news; they stand last. */
static size_t count_shown(const struct dnp_thread_list *list, const struct dnp_tree *tree)
{
	size_t n = list->rows.n;

	while (tree->calls && n && !list->rows.p[n - 1].calls && !list->rows.p[n - 1].total)
		n--;
	return n;
}

int dnp_text_threads(const struct dnp_tree *tree, const struct dnp_export_options *options,
	struct dnp_line *line)
{
	struct dnp_thread_list list;
	int status = dnp_thread_list_init(&list, tree, options->each_thread ? 0 : MANY);
	size_t n = count_shown(&list, tree),
	       shown = options->top && options->top < n ? options->top : n;

	if (!status) {
		dnp_text_heading("Threads", shown, n, line);
		put_columns(tree, line);
		for (size_t i = 0; i < shown; i++)
			put_thread(&list, tree, &list.rows.p[i], line);
	}
	dnp_thread_list_done(&list);
	return status;
}
