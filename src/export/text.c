/* SPDX-License-Identifier: MIT */
/* The report for people. */
#include <inttypes.h>
#include <stdio.h>

#include "base/clean.h"
#include "export/export.h"
#include "export/line.h"
#include "export/share.h"
#include "export/text_tree.h"
#include "format/rec.h"

#define SHOWN_PROCESSES 20u
#define METHOD_COLUMNS  "    self     samples     total     samples   method"

static const char *string(const struct dnp_tree *tree, uint32_t number)
{
	return dnp_profile_string(tree->profile, number);
}

static void put_command(
	const struct dnp_tree *tree, const struct dnp_process *process, struct dnp_line *line)
{
	for (size_t i = 0; i < process->command.n; i++) {
		if (i)
			dnp_line_puts(line, " ");
		dnp_line_text(line, string(tree, process->command.p[i]));
	}
}

static void put_exit(const struct dnp_process *process, struct dnp_line *line)
{
	if (process->exited && process->signal)
		dnp_line_printf(line, ", killed by signal %" PRIu64, process->signal);
	else if (process->exited)
		dnp_line_printf(line, ", exit status %" PRIu64, process->status);
}

/* A line of facts below a heading, which may take several. */
static void begin_facts(struct dnp_line *line)
{
	dnp_line_puts(line, "  ");
	line->wrap = 4;
}

static void put_process(
	const struct dnp_tree *tree, const struct dnp_process *process, struct dnp_line *line)
{
	dnp_line_text(line, string(tree, process->title));
	dnp_line_puts(line, ": ");
	put_command(tree, process, line);
	dnp_line_end(line);
	begin_facts(line);
	dnp_line_printf(line, "pid %" PRIu64, process->pid);
	put_exit(process, line);
	if (*string(tree, process->runtime)) {
		dnp_line_puts(line, ", .NET ");
		dnp_line_text(line, string(tree, process->runtime));
	}
	if (*string(tree, process->os)) {
		dnp_line_puts(line, ", ");
		dnp_line_text(line, string(tree, process->os));
	}
	if (process->cpus)
		dnp_line_printf(line, ", %" PRIu64 " CPUs", process->cpus);
	dnp_line_end(line);
	begin_facts(line);
	dnp_line_printf(line, "recorded %s for %s", dnp_format_time(process->start_unix_ns).text,
		dnp_format_duration(process->duration_ns).text);
	dnp_line_end(line);
}

static void put_processes(const struct dnp_tree *tree, struct dnp_line *line)
{
	size_t n = tree->profile->processes.n;

	for (size_t i = 0; i < n && i < SHOWN_PROCESSES; i++)
		put_process(tree, &tree->profile->processes.p[i], line);
	if (n > SHOWN_PROCESSES) {
		dnp_line_printf(
			line, "and %s processes more", dnp_format_count(n - SHOWN_PROCESSES).text);
		dnp_line_end(line);
	}
}

static void put_lost(const struct dnp_event *event, struct dnp_line *line)
{
	static const char *const reasons[DNP_LOSS_REASONS] = {
		[0] = "other",
		[DNP_LOSS_RING] = "buffer full",
		[DNP_LOSS_LATE] = "before sampling began",
		[DNP_LOSS_NESTED] = "during another sample",
		[DNP_LOSS_STACK] = "on a foreign stack",
		[DNP_LOSS_MEMORY] = "out of memory",
		[DNP_LOSS_WRITE] = "not written",
	};
	const char *separator = " (";

	begin_facts(line);
	dnp_line_printf(line, "lost %s", dnp_format_count(event->lost).text);
	if (!event->lost)
		return;
	for (size_t i = 0; i < DNP_LOSS_REASONS; i++)
		if (event->lost_by[i]) {
			dnp_line_printf(line, "%s%s %s", separator, reasons[i],
				dnp_format_count(event->lost_by[i]).text);
			separator = ", ";
		}
	dnp_line_puts(line, ")");
}

static void put_event(const struct dnp_tree *tree, struct dnp_line *line)
{
	const struct dnp_event *event = tree->event;

	line->wrap = 4;
	dnp_line_text(line, string(tree, event->name));
	dnp_line_printf(line, ": %s samples", dnp_format_count(event->samples).text);
	if (event->interval_ns) {
		dnp_line_printf(line, ", one per %s", dnp_format_duration(event->interval_ns).text);
		dnp_line_printf(line, " (%.0f Hz)", 1e9 / (double)event->interval_ns);
	}
	if (*string(tree, event->source)) {
		dnp_line_puts(line, ", ");
		dnp_line_text(line, string(tree, event->source));
	}
	dnp_line_end(line);
	put_lost(event, line);
	if (event->frames)
		dnp_line_printf(line, ", unresolved %s (%.2f %% of frames)",
			dnp_format_count(event->unresolved).text,
			dnp_percent(event->unresolved, event->frames));
	else
		dnp_line_printf(line, ", unresolved %s", dnp_format_count(event->unresolved).text);
	dnp_line_printf(line, ", truncated %s, failed %s", dnp_format_count(event->truncated).text,
		dnp_format_count(event->failed).text);
	dnp_line_end(line);
	if (*string(tree, event->note)) {
		begin_facts(line);
		dnp_line_text(line, string(tree, event->note));
		dnp_line_end(line);
	}
}

/* Whose code it was that ran: shares of self. */
static void put_kinds(const struct dnp_tree *tree, struct dnp_line *line)
{
	static const char *const names[] = {
		[DNP_CODE_USER] = "own code",
		[DNP_CODE_FRAMEWORK] = ".NET",
		[DNP_CODE_NATIVE] = "native",
		[DNP_CODE_KERNEL] = "kernel",
		[DNP_CODE_GC] = "GC",
		[DNP_CODE_JIT] = "JIT",
		[DNP_CODE_OTHER] = "other",
	};
	uint64_t self[DNP_ARRAY_SIZE(names)] = {0};
	const char *separator = "";

	begin_facts(line);
	for (size_t i = 0; i < tree->methods.n; i++)
		self[tree->profile->frames.p[tree->methods.p[i].frame].code] +=
			tree->methods.p[i].self;
	for (size_t i = 0; i < DNP_ARRAY_SIZE(names); i++)
		if (self[i]) {
			dnp_line_printf(line, "%s%s %.1f %%", separator, names[i],
				dnp_percent(self[i], tree->total[0]));
			separator = ", ";
		}
	dnp_line_end(line);
}

static void put_problems(const struct dnp_tree *tree, struct dnp_line *line)
{
	const struct dnp_profile *profile = tree->profile;

	for (size_t i = 0; i < profile->problems.n; i++) {
		dnp_line_puts(line, "! ");
		line->wrap = 2;
		dnp_line_text(line, string(tree, profile->problems.p[i]));
		dnp_line_end(line);
	}
}

static void put_method(
	const struct dnp_tree *tree, const struct dnp_method *method, struct dnp_line *line)
{
	uint64_t all = tree->total[0];

	dnp_line_printf(line, "%6.1f %% %11s %7.1f %% %11s   ", dnp_percent(method->self, all),
		dnp_format_count(method->self).text, dnp_percent(method->total, all),
		dnp_format_count(method->total).text);
	dnp_line_name(line, string(tree, tree->profile->frames.p[method->frame].name));
	dnp_line_end(line);
}

/* What only leads to others, as the host that starts the runtime, would fill the list by total. */
static bool only_leads_on(const struct dnp_tree *tree, const struct dnp_method *method)
{
	uint32_t code = tree->profile->frames.p[method->frame].code;

	return code != DNP_CODE_USER && code != DNP_CODE_FRAMEWORK && !method->self;
}

static void put_heading(const char *what, size_t shown, size_t all, struct dnp_line *line)
{
	dnp_line_end(line);
	dnp_line_puts(line, what);
	if (shown < all)
		dnp_line_printf(line, ", the first %s of %s", dnp_format_count(shown).text,
			dnp_format_count(all).text);
	dnp_line_end(line);
}

static void put_methods(const struct dnp_tree *tree, size_t top, struct dnp_line *line)
{
	size_t n = top && top < tree->methods.n ? top : tree->methods.n;

	put_heading("Methods by self", n, tree->methods.n, line);
	dnp_line_puts(line, METHOD_COLUMNS);
	dnp_line_end(line);
	for (size_t i = 0; i < n; i++)
		put_method(tree, &tree->methods.p[i], line);
}

static void put_methods_by_total(const struct dnp_tree *tree, size_t top, struct dnp_line *line)
{
	size_t all = 0;

	for (size_t i = 0; i < tree->methods.n; i++)
		all += !only_leads_on(tree, &tree->methods.p[i]);
	top = top && top < all ? top : all;
	put_heading("Methods by total", top, all, line);
	dnp_line_puts(line, METHOD_COLUMNS);
	dnp_line_end(line);
	for (size_t i = 0; top; i++) {
		if (only_leads_on(tree, &tree->methods.p[i]))
			continue;
		put_method(tree, &tree->methods.p[i], line);
		top--;
	}
}

struct ranked_thread {
	uint64_t samples;
	uint32_t thread;
};

static int by_samples(const void *left, const void *right)
{
	const struct ranked_thread *a = left, *b = right;

	if (a->samples != b->samples)
		return a->samples < b->samples ? 1 : -1;
	return a->thread < b->thread ? -1 : 1;
}

static void put_thread(
	const struct dnp_tree *tree, const struct ranked_thread *ranked, struct dnp_line *line)
{
	const struct dnp_profile *profile = tree->profile;
	const struct dnp_thread *thread = &profile->threads.p[ranked->thread];
	const char *name = string(tree, thread->name);

	dnp_line_printf(line, "%6.1f %% %11s  ", dnp_percent(ranked->samples, tree->total[0]),
		dnp_format_count(ranked->samples).text);
	dnp_line_right(line, thread->cpu_ns ? dnp_format_duration(thread->cpu_ns).text : "-", 12);
	if (profile->processes.n > 1)
		dnp_line_printf(line, " %9" PRIu64, profile->processes.p[thread->process].pid);
	dnp_line_printf(line, " %9" PRIu64 "   ", thread->tid);
	dnp_line_name(line, *name ? name : "(no name)");
	dnp_line_end(line);
}

static int put_threads(const struct dnp_tree *tree, size_t top, struct dnp_line *line)
{
	size_t n = tree->profile->threads.n, shown = top && top < n ? top : n;
	auto_free struct ranked_thread *ranked = reallocarray(NULL, n + 1, sizeof(*ranked));

	if (!ranked)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		ranked[i] = (struct ranked_thread){tree->thread_total[i], i};
	qsort(ranked, n, sizeof(*ranked), by_samples);
	put_heading("Threads", shown, n, line);
	dnp_line_puts(line, "   share     samples      CPU time");
	dnp_line_puts(line, tree->profile->processes.n > 1 ? "       pid" : "");
	dnp_line_puts(line, "       tid   name");
	dnp_line_end(line);
	for (size_t i = 0; i < shown; i++)
		put_thread(tree, &ranked[i], line);
	return 0;
}

static int put_report(
	struct dnp_tree *tree, const struct dnp_export_options *options, struct dnp_line *line)
{
	put_processes(tree, line);
	put_event(tree, line);
	if (tree->total[0])
		put_kinds(tree, line);
	put_problems(tree, line);
	if (options->methods) {
		put_methods(tree, options->top, line);
		dnp_tree_sort_by_total(tree);
		put_methods_by_total(tree, options->top, line);
	}
	if (options->threads && put_threads(tree, options->top, line))
		return -ENOMEM;
	if (options->tree)
		dnp_text_tree(tree, options->min_percent, line);
	return 0;
}

static int write_text(const struct dnp_profile *profile, const struct dnp_export_options *options,
	struct dnp_sink *sink, struct dnp_err *err)
{
	struct dnp_line line = {.sink = sink, .columns = options->columns};
	struct dnp_tree tree;
	int status = dnp_tree_init(&tree, profile, options->event);

	if (!status)
		status = put_report(&tree, options, &line);
	dnp_tree_done(&tree);
	if (status)
		dnp_err(err, status,
			"cannot write the report: out of memory; report part of the time");
	return status;
}

const struct dnp_exporter dnp_export_text = {
	.name = "text",
	.extensions = ".txt",
	.write = write_text,
};
