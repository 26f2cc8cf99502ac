/* SPDX-License-Identifier: MIT */
#include "cli/live.h"

#include <dnprof/timeline.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "cli/screen.h"
#include "os/clock.h"
#include "os/tasks.h"
#include "os/terminal.h"

#define MS        UINT64_C(1000000)
#define SECOND_NS (1000 * MS)
#define FRAME_NS  (100 * MS)

#define RING_BYTES (2u << 20) /* a processor: for the switches of the whole machine */

#define NAME_COLUMNS 15
#define TID_COLUMNS  8  /* with the blank before it */
#define TIME_COLUMNS 10 /* " 1234 ms/s" */
#define LEAST_BAR    8  /* columns, or something else is left out */

/* How much time is shown, by keys from 1 on. */
static const uint64_t ranges[] = {500 * MS, SECOND_NS, 3 * SECOND_NS, 10 * SECOND_NS};

struct row {
	struct dnprof_thread thread; /* id DNPROF_OTHERS: all of other processes */
	uint64_t cpu_ns, clock_ns;   /* used in the last second, of so much */
};

struct live {
	dnprof_timeline *timeline; /* owned */
	struct dnprof_timeline_info info;
	struct dnprof_picture picture;
	struct dnp_terminal terminal;
	struct dnp_vec_of(struct row) rows;
	char name[16]; /* the process's */
	unsigned range;
	bool frozen, idle_shown;
	size_t first, hidden; /* rows above the screen; those that did nothing */
	struct dnp_screen screen;
};

/* ---- What there is to draw */

static int add_row(struct live *live, const struct dnprof_thread *thread)
{
	uint64_t until_ns = live->picture.until_ns;
	struct dnprof_thread_time time = {.struct_size = sizeof(time)};
	struct row row = {.thread = *thread};
	bool others = thread->id == DNPROF_OTHERS;

	if (dnprof_timeline_thread_time(live->timeline, thread->id,
		    until_ns > SECOND_NS ? until_ns - SECOND_NS : 0, until_ns, &time))
		return 0;
	row.cpu_ns = others ? time.on_cpu_ns : time.cpu_ns;
	row.clock_ns = time.checkpoint_until_ns - time.checkpoint_from_ns;
	if (others)
		row.clock_ns = until_ns - live->picture.from_ns < SECOND_NS
			? until_ns - live->picture.from_ns
			: SECOND_NS;
	return dnp_vec_push(&live->rows, row);
}

static uint64_t shown_from(const struct live *live)
{
	uint64_t until_ns = live->picture.until_ns, range_ns = ranges[live->range];

	return until_ns > range_ns ? until_ns - range_ns : 0;
}

/* One that ended before what is shown begins is no news. */
static bool is_shown(const struct live *live, const struct dnprof_thread *thread)
{
	return !(thread->flags & DNPROF_THREAD_OWN) && thread->pid == live->info.pid &&
		(!thread->end_ns || thread->end_ns > shown_from(live));
}

/* Whether it ran at all in the longest range. */
static bool is_idle(const struct live *live, const struct dnprof_thread *thread)
{
	uint64_t until_ns = live->picture.until_ns, range_ns = ranges[DNP_ARRAY_SIZE(ranges) - 1];

	return dnprof_timeline_slices(live->timeline, thread->id,
		       until_ns > range_ns ? until_ns - range_ns : 0, until_ns, NULL, 0) <= 0;
}

static int list_rows(struct live *live)
{
	struct dnprof_thread thread = {.struct_size = sizeof(thread)};
	struct dnprof_thread others = {.id = DNPROF_OTHERS, .name = "System/Other"};
	uint64_t after = 0;

	live->rows.n = live->hidden = 0;
	for (; !dnprof_timeline_next_thread(live->timeline, after, &thread); after = thread.id) {
		if (!is_shown(live, &thread))
			continue;
		if (!live->idle_shown && is_idle(live, &thread))
			live->hidden++;
		else if (add_row(live, &thread))
			return -ENOMEM;
	}
	return live->info.backend == DNPROF_TIMELINE_CPUS ? add_row(live, &others) : 0;
}

/* ---- Drawing */

static int cannot_draw(struct dnp_err *err, int failed)
{
	return dnp_err(err, failed, "the terminal cannot be drawn on: %s", strerror(-failed));
}

static double ms_per_s(const struct row *row)
{
	return row->clock_ns ? (double)row->cpu_ns * 1e3 / (double)row->clock_ns : 0;
}

/* Of ASCII. */
__attribute__((format(__printf__, 2, 3))) static void put(
	struct live *live, const char *format, ...)
{
	char text[64];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	for (const char *at = text; *at; at++)
		dnp_screen_put(&live->screen, (unsigned char)*at);
}

/* Two pixels a column. */
static void put_cell(struct live *live, bool left, bool right)
{
	static const uint32_t cells[] = {' ', 0x2590, 0x258c, 0x2588}; /* half and full blocks */
	static const uint32_t plain[] = {'.', '#', '#', '#'};
	unsigned which = (left ? 2u : 0u) | (right ? 1u : 0u);

	dnp_screen_put(&live->screen, live->terminal.utf8 ? cells[which] : plain[which]);
}

static int put_bar(struct live *live, const struct row *row, int columns)
{
	uint32_t width = (uint32_t)columns * 2;
	auto_free struct dnprof_span *spans = calloc(width, sizeof(*spans));
	auto_free bool *pixels = calloc(width, sizeof(*pixels));
	int n;

	if (!spans || !pixels)
		return -ENOMEM;
	n = dnprof_timeline_spans(live->timeline, row->thread.id, shown_from(live),
		live->picture.until_ns, width, spans);
	for (int i = 0; i < n; i++)
		memset(pixels + spans[i].start, true, spans[i].end - spans[i].start);
	for (int i = 0; i < columns; i++)
		put_cell(live, pixels[2 * i], pixels[2 * i + 1]);
	return 0;
}

static enum dnp_terminal_colour colour_of(const struct row *row)
{
	static const enum dnp_terminal_colour colours[] = {DNP_TERMINAL_CYAN, DNP_TERMINAL_GREEN,
		DNP_TERMINAL_YELLOW, DNP_TERMINAL_MAGENTA, DNP_TERMINAL_BLUE, DNP_TERMINAL_RED};

	return row->thread.id == DNPROF_OTHERS ? DNP_TERMINAL_GREY
					       : colours[row->thread.id % DNP_ARRAY_SIZE(colours)];
}

static const char *name_of(const struct row *row)
{
	return *row->thread.name ? row->thread.name : "(no name)";
}

/* What is least missed gives way to the bar, where there is little room. */
static int put_row(struct live *live, const struct row *row)
{
	int columns = live->terminal.columns, left = columns - TIME_COLUMNS - 1;
	bool has_tid = left - NAME_COLUMNS - TID_COLUMNS >= LEAST_BAR;
	int name = left - LEAST_BAR < NAME_COLUMNS ? left - LEAST_BAR : NAME_COLUMNS;
	int bar;

	if (left < 2) {
		dnp_screen_text(&live->screen, name_of(row), columns);
		return 0;
	}
	if (name < 1)
		name = 1;
	bar = left - name - (has_tid ? TID_COLUMNS : 0);
	dnp_screen_text(&live->screen, name_of(row), name);
	if (has_tid && row->thread.tid)
		put(live, " %*d", TID_COLUMNS - 1, row->thread.tid);
	else if (has_tid)
		put(live, "%*s", TID_COLUMNS, "");
	put(live, " ");
	dnp_screen_paint(&live->screen, colour_of(row));
	if (bar > 0 && put_bar(live, row, bar))
		return -ENOMEM;
	dnp_screen_paint(&live->screen, DNP_TERMINAL_PLAIN);
	put(live, "%5.0f ms/s", ms_per_s(row));
	return 0;
}

/* As much of a text as the line has room for. */
static void put_line(struct live *live, int line, const char *text)
{
	dnp_screen_go(&live->screen, line);
	dnp_screen_text(&live->screen, text, live->terminal.columns);
}

/* "" where nobody counts them. */
static const char *switches(const struct live *live, char out[32])
{
	*out = '\0';
	if (live->info.backend != DNPROF_TIMELINE_POLL || dnp_task_runs_counted)
		snprintf(out, 32, "  %u switches/s", live->picture.switches_per_s);
	return out;
}

static void put_head(struct live *live)
{
	char text[600], rate[32];
	double total = 0;

	for (size_t i = 0; i < live->rows.n; i++)
		if (live->rows.p[i].thread.id != DNPROF_OTHERS)
			total += ms_per_s(&live->rows.p[i]);
	snprintf(text, sizeof(text), "%s (%d)  %g s  total %.0f ms/s%s  lost %llu%s", live->name,
		(int)live->info.pid, (double)ranges[live->range] / (double)SECOND_NS, total,
		switches(live, rate), (unsigned long long)live->picture.lost,
		live->frozen ? "  FROZEN" : "");
	put_line(live, 0, text);
	put_line(live, 1, live->info.reason);
}

static void put_foot(struct live *live)
{
	char text[200];
	int n = 0;

	if (live->hidden)
		n = snprintf(text, sizeof(text), "%zu idle hidden  ", live->hidden);
	snprintf(text + n, sizeof(text) - (size_t)n,
		"1-4 range  space freeze  i idle  j/k scroll  q quit");
	put_line(live, live->terminal.lines - 1, text);
}

static int put_rows(struct live *live)
{
	size_t lines = live->terminal.lines > 3 ? (size_t)live->terminal.lines - 3 : 0;

	if (live->first + lines > live->rows.n)
		live->first = live->rows.n > lines ? live->rows.n - lines : 0;
	for (size_t i = 0; i < lines && live->first + i < live->rows.n; i++) {
		dnp_screen_go(&live->screen, (int)i + 2);
		if (put_row(live, &live->rows.p[live->first + i]))
			return -ENOMEM;
	}
	return 0;
}

static int draw(struct live *live, struct dnp_err *err)
{
	int failed = dnp_screen_begin(&live->screen, &live->terminal);

	if (!failed) {
		put_head(live);
		failed = put_rows(live);
		put_foot(live);
	}
	if (!failed)
		failed = dnp_terminal_draw(&live->terminal, live->screen.cells.p);
	if (failed == -ENOMEM)
		return dnp_err(err, failed, "cannot draw the threads: out of memory; free some");
	return failed ? cannot_draw(err, failed) : 0;
}

/* ---- Keys and time */

/* True: it is to end. */
static bool heed(struct live *live, int key)
{
	switch (key) {
	case '1':
	case '2':
	case '3':
	case '4': live->range = (unsigned)key - '1'; break;
	case ' ': live->frozen = !live->frozen; break;
	case 'i': live->idle_shown = !live->idle_shown; break;
	case 'j': live->first++; break;
	case 'k': live->first -= live->first > 0; break;
	case 'q': return true;
	default: break;
	}
	return key < 0;
}

static int take_picture(struct live *live, struct dnp_err *err)
{
	struct dnprof_timeline_error error = {.struct_size = sizeof(error)};
	int failed = 0;

	live->picture.struct_size = sizeof(live->picture);
	if (!live->frozen)
		failed = dnprof_timeline_snapshot(live->timeline, &live->picture, &error);
	if (failed)
		return dnp_err(err, failed, "%s", error.text);
	if (list_rows(live))
		return dnp_err(err, -ENOMEM, "cannot draw the threads: out of memory; free some");
	return 0;
}

/* Until it is to end; 0 or -errno. */
static int go_on(struct live *live, uint64_t duration_ns, struct dnp_err *err)
{
	uint64_t begin_ns = dnp_now_ns(), now_ns = begin_ns, next_ns = begin_ns;
	int failed = 0;

	while (!failed && !live->picture.ended_ns) {
		int key =
			dnp_terminal_key(&live->terminal, next_ns > now_ns ? next_ns - now_ns : 0);

		if (heed(live, key))
			break;
		now_ns = dnp_now_ns();
		if (duration_ns && now_ns - begin_ns >= duration_ns)
			break;
		if (!key && !live->terminal.ended && now_ns < next_ns)
			continue;
		failed = take_picture(live, err);
		if (!failed)
			failed = draw(live, err);
		next_ns = now_ns + FRAME_NS;
	}
	return failed;
}

static int open_timeline(struct live *live, pid_t pid, struct dnp_err *err)
{
	struct dnprof_timeline_options options = {.struct_size = sizeof(options),
		.pid = (int32_t)pid,
		.others = 1,
		.ring_bytes = RING_BYTES};
	struct dnprof_timeline_error error = {.struct_size = sizeof(error)};

	live->info.struct_size = sizeof(live->info);
	if (dnprof_timeline_open(&options, &live->timeline, &error) ||
		dnprof_timeline_start(live->timeline, &error))
		return dnp_err(err, error.code, "%s", error.text);
	dnprof_timeline_info(live->timeline, &live->info);
	dnp_process_name((int)pid, live->name);
	return 0;
}

static int watch(struct live *live, uint64_t duration_ns, struct dnp_err *err)
{
	int failed = dnp_terminal_open(&live->terminal);

	if (failed)
		return cannot_draw(err, failed);
	failed = go_on(live, duration_ns, err);
	dnp_terminal_close(&live->terminal);
	return failed;
}

int dnp_live(pid_t pid, uint64_t duration_ns)
{
	struct live live = {.range = 1};
	struct dnp_err err = {0};
	int failed;

	if (!dnp_terminal_possible())
		failed = dnp_err(&err, -ENOTTY,
			"--live draws on a terminal, and input or output is none; record with -o, "
			"or run it on a terminal");
	else
		failed = open_timeline(&live, pid, &err);
	if (!failed)
		failed = watch(&live, duration_ns, &err);
	if (!failed && live.picture.ended_ns)
		dnp_say("process %d has ended", (int)pid);
	dnprof_timeline_close(live.timeline);
	dnp_vec_done(&live.rows);
	dnp_screen_done(&live.screen);
	return failed ? dnp_failed(&err) : DNP_EXIT_DONE;
}
