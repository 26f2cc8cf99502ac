/* SPDX-License-Identifier: MIT */
#include "export/text_switches.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/clean.h"
#include "export/event.h"
#include "export/share.h"
#include "export/text_spans.h"
#include "export/text_threads.h"

void dnp_text_switches_event(
	const struct dnp_profile *profile, const struct dnp_event *event, struct dnp_line *line)
{
	uint64_t switches = event->voluntary + event->involuntary;

	line->wrap = 4;
	dnp_line_text(line, dnp_profile_string(profile, event->name));
	if (event->interval_ns)
		dnp_line_printf(line, ": sampled, about every %s",
			dnp_format_duration(event->interval_ns).text);
	else
		dnp_line_printf(line, ": %s switches (%s voluntary, %s involuntary)",
			dnp_format_count(switches).text, dnp_format_count(event->voluntary).text,
			dnp_format_count(event->involuntary).text);
	if (*dnp_profile_string(profile, event->source)) {
		dnp_line_puts(line, ", ");
		dnp_line_text(line, dnp_profile_string(profile, event->source));
	}
	dnp_line_end(line);
	dnp_line_printf(line, "  lost %s", dnp_format_count(event->lost).text);
	dnp_text_failures(profile, event, line);
	dnp_line_end(line);
}

/* ---- Threads */

struct row {
	const struct dnp_thread *thread;
	uint64_t cpu_ns;
};

static int by_time(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	if (a->cpu_ns != b->cpu_ns)
		return a->cpu_ns < b->cpu_ns ? 1 : -1;
	if (a->thread->run.on_cpu_ns != b->thread->run.on_cpu_ns)
		return a->thread->run.on_cpu_ns < b->thread->run.on_cpu_ns ? 1 : -1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static size_t list(const struct dnp_profile *profile, struct row *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < profile->threads.n; i++) {
		const struct dnp_thread *thread = &profile->threads.p[i];

		if (thread->run.seen)
			rows[n++] = (struct row){thread, dnp_run_times_cpu(&thread->run)};
	}
	if (n)
		qsort(rows, n, sizeof(*rows), by_time);
	return n;
}

static void put_duration(uint64_t ns, bool known, struct dnp_line *line)
{
	dnp_line_right(line, known ? dnp_format_duration(ns).text : "-", 11);
}

static void put_rate(uint64_t count, uint64_t ns, double factor, struct dnp_line *line)
{
	char text[32] = "-";

	if (ns)
		snprintf(text, sizeof(text), "%.1f", (double)count * factor / (double)ns);
	dnp_line_right(line, text, 11);
}

/* Whose row it is. */
static void end_row(
	const struct dnp_profile *profile, const struct dnp_thread *thread, struct dnp_line *line)
{
	const char *name = dnp_profile_string(profile, thread->name);
	char id[24];

	if (profile->processes.n > 1)
		dnp_line_printf(line, " %9" PRIu64, profile->processes.p[thread->process].pid);
	snprintf(id, sizeof(id), "%" PRIu64, thread->tid);
	dnp_line_right(line, id, 10);
	dnp_line_puts(line, "   ");
	dnp_line_name(line, *name ? name : "(no name)");
	dnp_line_end(line);
}

static void put_thread(const struct dnp_profile *profile, const struct dnp_event *event,
	const struct row *row, struct dnp_line *line)
{
	const struct dnp_run_times *run = &row->thread->run;
	bool exact = !event->interval_ns;
	uint64_t watched_ns = dnp_run_times_watched(run);

	put_duration(row->cpu_ns, watched_ns, line);
	put_rate(row->cpu_ns, watched_ns, 1e3, line);
	put_duration(dnp_run_times_ready(run), watched_ns && run->last.ready_ns, line);
	put_duration(run->on_cpu_ns, exact, line);
	put_duration(run->preempted_ns, exact, line);
	put_duration(run->blocked_ns, exact, line);
	put_rate(run->voluntary + run->involuntary, exact ? dnp_run_times_life(run) : 0, 1e9, line);
	end_row(profile, row->thread, line);
}

static void put_columns(const struct dnp_profile *profile, struct dnp_line *line)
{
	dnp_line_puts(line, "  by the kernel's clock            |  by its switches");
	dnp_line_end(line);
	dnp_line_puts(line,
		"   CPU time    ms per s   runnable     on-CPU  preempted    blocked "
		"switches/s");
	dnp_line_puts(line, profile->processes.n > 1 ? "       pid" : "");
	dnp_line_puts(line, "       tid   name");
	dnp_line_end(line);
}

int dnp_text_switches_threads(const struct dnp_profile *profile, const struct dnp_event *event,
	const struct dnp_export_options *options, struct dnp_line *line)
{
	auto_free struct row *rows = calloc(profile->threads.n + 1, sizeof(*rows));
	size_t n, shown;
	bool unread = false;

	if (!rows)
		return -ENOMEM;
	n = list(profile, rows);
	shown = options->top && options->top < n ? options->top : n;
	dnp_text_heading("Threads", shown, n, line);
	put_columns(profile, line);
	for (size_t i = 0; i < shown; i++) {
		put_thread(profile, event, &rows[i], line);
		unread = unread || rows[i].thread->run.ended_unread;
	}
	if (unread) {
		dnp_line_puts(line,
			"  The clock of a thread is read about once a second: the CPU time of one "
			"that has ended is that until its last reading.");
		dnp_line_end(line);
	}
	return 0;
}

/* ---- Waits */

struct wait_row {
	const struct dnp_thread *thread;
	enum dnp_wait_kind kind;
};

static const struct dnp_wait_sum *sum_of(const struct wait_row *row)
{
	return &row->thread->run.waits[row->kind];
}

static int by_wait(const void *left, const void *right)
{
	const struct wait_row *a = left, *b = right;

	if (sum_of(a)->ns != sum_of(b)->ns)
		return sum_of(a)->ns < sum_of(b)->ns ? 1 : -1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->kind < b->kind ? -1 : a->kind > b->kind;
}

static size_t list_waits(const struct dnp_profile *profile, struct wait_row *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < profile->threads.n; i++)
		for (unsigned kind = 0; kind < DNP_WAIT_KINDS; kind++)
			if (profile->threads.p[i].run.waits[kind].count)
				rows[n++] = (struct wait_row){&profile->threads.p[i], kind};
	if (n)
		qsort(rows, n, sizeof(*rows), by_wait);
	return n;
}

static void put_wait(
	const struct dnp_profile *profile, const struct wait_row *row, struct dnp_line *line)
{
	const struct dnp_wait_sum *sum = sum_of(row);

	put_duration(sum->ns, true, line);
	dnp_line_right(line, dnp_format_count(sum->count).text, 11);
	put_duration(sum->longest_ns, true, line);
	dnp_line_printf(line, "   %-9s", dnp_wait_name(row->kind));
	end_row(profile, row->thread, line);
}

int dnp_text_switches_waits(const struct dnp_profile *profile,
	const struct dnp_export_options *options, struct dnp_line *line)
{
	auto_free struct wait_row *rows =
		calloc(profile->threads.n * DNP_WAIT_KINDS + 1, sizeof(*rows));
	size_t n, shown;

	if (!rows)
		return -ENOMEM;
	n = list_waits(profile, rows);
	if (!n)
		return 0;
	shown = options->top && options->top < n ? options->top : n;
	dnp_text_heading("Waits whose stacks are known (-e wait)", shown, n, line);
	dnp_line_puts(line, "     waited      times    longest   for      ");
	dnp_line_puts(line, profile->processes.n > 1 ? "       pid" : "");
	dnp_line_puts(line, "       tid   name");
	dnp_line_end(line);
	for (size_t i = 0; i < shown; i++)
		put_wait(profile, &rows[i], line);
	return 0;
}

/* ---- Wake-ups */

static int by_wakes(const void *left, const void *right)
{
	const struct dnp_wake *const *a = left, *const *b = right;

	if ((*a)->count != (*b)->count)
		return (*a)->count < (*b)->count ? 1 : -1;
	return *a < *b ? -1 : *a > *b;
}

static void put_waker(
	const struct dnp_profile *profile, const struct dnp_wake *wake, struct dnp_line *line)
{
	const char *name = dnp_profile_string(profile, wake->name);

	dnp_line_puts(line, "   by ");
	if (wake->own)
		dnp_line_name(line, name);
	else if (!wake->by_pid)
		dnp_line_puts(line, "an interrupt");
	else
		dnp_line_name(line, *name ? name : "another process");
}

static void put_wake(
	const struct dnp_profile *profile, const struct dnp_wake *wake, struct dnp_line *line)
{
	const struct dnp_thread *thread = &profile->threads.p[wake->thread];
	const struct dnp_wait_sum *run = &wake->run;
	const char *name = dnp_profile_string(profile, thread->name);
	char id[24];

	dnp_line_right(line, dnp_format_count(wake->count).text, 11);
	dnp_line_right(line, run->count ? dnp_format_ns(run->ns / run->count).text : "-", 11);
	dnp_line_right(line, run->count ? dnp_format_ns(run->longest_ns).text : "-", 11);
	snprintf(id, sizeof(id), "%" PRIu64, thread->tid);
	dnp_line_right(line, id, 10);
	dnp_line_printf(line, "   %-15s", *name ? name : "(no name)");
	put_waker(profile, wake, line);
	dnp_line_end(line);
}

int dnp_text_switches_wakes(const struct dnp_profile *profile,
	const struct dnp_export_options *options, struct dnp_line *line)
{
	size_t n = profile->wakes.n, shown = options->top && options->top < n ? options->top : n;
	auto_free const struct dnp_wake **rows = calloc(n + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	if (!n)
		return 0;
	for (size_t i = 0; i < n; i++)
		rows[i] = &profile->wakes.p[i];
	qsort(rows, n, sizeof(*rows), by_wakes);
	dnp_text_heading("Who woke whom", shown, n, line);
	dnp_line_puts(line, "      times    runs in    longest       tid   name");
	dnp_line_end(line);
	for (size_t i = 0; i < shown; i++)
		put_wake(profile, rows[i], line);
	return 0;
}
