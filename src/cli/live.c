/* SPDX-License-Identifier: MIT */
#include "cli/live.h"

#include <dnprof/timeline.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean.h"
#include "base/sink.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "cli/terminal.h"
#include "os/clock.h"
#include "os/tasks.h"

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
	struct dnp_sink_memory out;
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

static double ms_per_s(const struct row *row)
{
	return row->clock_ns ? (double)row->cpu_ns * 1e3 / (double)row->clock_ns : 0;
}

/* At most so many columns of a name, and blanks up to there. */
static void put_name(struct live *live, const char *name, int columns)
{
	struct dnp_str str = dnp_str(name);
	int used = 0;

	for (size_t at = 0; at < str.n && used < columns; used++) {
		uint32_t code = dnp_utf8_next(str, &at);
		char out[4];

		if (dnp_utf8_unsafe(code) || (code > 126 && !live->terminal.utf8))
			code = '?';
		dnp_sink_write(&live->out.sink, out, dnp_utf8_put(out, code));
	}
	dnp_sink_printf(&live->out.sink, "%*s", columns - used, "");
}

/* Two pixels a column. */
static void put_cell(struct live *live, bool left, bool right)
{
	static const char *const cells[] = {" ", "▐", "▌", "█"};
	static const char *const plain[] = {".", "#", "#", "#"};
	unsigned which = (left ? 2u : 0u) | (right ? 1u : 0u);

	dnp_sink_puts(&live->out.sink, live->terminal.utf8 ? cells[which] : plain[which]);
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

static void put_colour(struct live *live, const struct row *row)
{
	static const unsigned colours[] = {36, 32, 33, 35, 34, 31};
	bool others = row->thread.id == DNPROF_OTHERS;

	if (live->terminal.colours)
		dnp_sink_printf(&live->out.sink, "\033[%um",
			others ? 90 : colours[row->thread.id % DNP_ARRAY_SIZE(colours)]);
}

static void end_colour(struct live *live)
{
	if (live->terminal.colours)
		dnp_sink_puts(&live->out.sink, "\033[0m");
}

static void end_line(struct live *live)
{
	dnp_sink_puts(&live->out.sink, "\033[K\r\n");
}

/* What is least missed gives way to the bar, where there is little room. */
static int put_row(struct live *live, const struct row *row)
{
	int columns = live->terminal.columns, left = columns - TIME_COLUMNS - 1;
	bool has_tid = left - NAME_COLUMNS - TID_COLUMNS >= LEAST_BAR;
	int name = left - LEAST_BAR < NAME_COLUMNS ? left - LEAST_BAR : NAME_COLUMNS;
	int bar;

	if (left < 2) {
		put_name(live, row->thread.name, columns);
		end_line(live);
		return 0;
	}
	if (name < 1)
		name = 1;
	bar = left - name - (has_tid ? TID_COLUMNS : 0);
	put_name(live, row->thread.name, name);
	if (has_tid && row->thread.tid)
		dnp_sink_printf(&live->out.sink, " %*d", TID_COLUMNS - 1, row->thread.tid);
	else if (has_tid)
		dnp_sink_printf(&live->out.sink, "%*s", TID_COLUMNS, "");
	dnp_sink_puts(&live->out.sink, " ");
	put_colour(live, row);
	if (bar > 0 && put_bar(live, row, bar))
		return -ENOMEM;
	end_colour(live);
	dnp_sink_printf(&live->out.sink, "%5.0f ms/s", ms_per_s(row));
	end_line(live);
	return 0;
}

/* As much of a text as the line has room for. */
static void put_text(struct live *live, const char *text)
{
	int n = (int)dnp_utf8_columns(dnp_str(text));

	put_name(live, text, n < live->terminal.columns ? n : live->terminal.columns);
	end_line(live);
}

static void put_head(struct live *live)
{
	double total = 0;
	char text[600];

	for (size_t i = 0; i < live->rows.n; i++)
		if (live->rows.p[i].thread.id != DNPROF_OTHERS)
			total += ms_per_s(&live->rows.p[i]);
	snprintf(text, sizeof(text), "%s (%d)  %g s  total %.0f ms/s  %u switches/s  lost %llu%s",
		live->name, (int)live->info.pid, (double)ranges[live->range] / (double)SECOND_NS,
		total, live->picture.switches_per_s, (unsigned long long)live->picture.lost,
		live->frozen ? "  FROZEN" : "");
	put_text(live, text);
	put_text(live, live->info.reason);
}

static void put_foot(struct live *live)
{
	char text[200];
	int n = 0;

	if (live->hidden)
		n = snprintf(text, sizeof(text), "%zu idle hidden  ", live->hidden);
	snprintf(text + n, sizeof(text) - (size_t)n,
		"1-4 range  space freeze  i idle  j/k scroll  q quit");
	put_name(live, text, live->terminal.columns);
}

static int draw(struct live *live)
{
	size_t lines = live->terminal.lines > 3 ? (size_t)live->terminal.lines - 3 : 0;

	live->out.bytes.n = 0;
	dnp_sink_puts(&live->out.sink, "\033[H");
	if (live->first + lines > live->rows.n)
		live->first = live->rows.n > lines ? live->rows.n - lines : 0;
	put_head(live);
	for (size_t i = live->first; i < live->rows.n && i - live->first < lines; i++)
		if (put_row(live, &live->rows.p[i]))
			return -ENOMEM;
	dnp_sink_puts(&live->out.sink, "\033[J");
	dnp_sink_printf(&live->out.sink, "\033[%d;1H", live->terminal.lines);
	put_foot(live);
	if (live->out.sink.error)
		return -ENOMEM;
	fwrite(live->out.bytes.p, 1, live->out.bytes.n, stdout);
	fflush(stdout);
	return 0;
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
		if (!failed && draw(live))
			failed = dnp_err(
				err, -ENOMEM, "cannot draw the threads: out of memory; free some");
		next_ns = now_ns + FRAME_NS;
	}
	return failed;
}

static int open_timeline(struct live *live, pid_t pid, struct dnp_err *err)
{
	struct dnprof_timeline_options options = {
		.struct_size = sizeof(options), .pid = pid, .others = 1, .ring_bytes = RING_BYTES};
	struct dnprof_timeline_error error = {.struct_size = sizeof(error)};

	live->info.struct_size = sizeof(live->info);
	if (dnprof_timeline_open(&options, &live->timeline, &error) ||
		dnprof_timeline_start(live->timeline, &error))
		return dnp_err(err, error.code, "%s", error.text);
	dnprof_timeline_info(live->timeline, &live->info);
	dnp_task_name(pid, pid, live->name);
	return 0;
}

static int watch(struct live *live, uint64_t duration_ns, struct dnp_err *err)
{
	int failed = dnp_terminal_open(&live->terminal);

	if (failed)
		return dnp_err(
			err, failed, "the terminal cannot be drawn on: %s", strerror(-failed));
	failed = go_on(live, duration_ns, err);
	dnp_terminal_close(&live->terminal);
	return failed;
}

int dnp_live(pid_t pid, uint64_t duration_ns)
{
	struct live live = {.range = 1};
	struct dnp_err err = {0};
	int failed;

	dnp_sink_memory_init(&live.out);
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
	dnp_vec_done(&live.out.bytes);
	return failed ? dnp_failed(&err) : DNP_EXIT_DONE;
}
