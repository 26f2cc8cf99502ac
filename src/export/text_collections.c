/* SPDX-License-Identifier: MIT */
#include "export/text_collections.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clean.h"
#include "export/share.h"
#include "export/text_threads.h"
#include "format/gc_reason.h"

#define SUM_COLUMNS                                                                                \
	"    gen       count  background      paused      median         p99     longest    "      \
	"survived"
#define LONGEST_COLUMNS                                                                            \
	"       after     longest      paused    stopping   heap before       after   what"

static void put_sum(
	const char *generation, const struct dnp_collection_sum *sum, struct dnp_line *line)
{
	if (!sum->count)
		return;
	dnp_line_right(line, generation, 7);
	dnp_line_right(line, dnp_format_count(sum->count).text, 12);
	dnp_line_right(line, dnp_format_count(sum->background).text, 12);
	dnp_line_right(line, dnp_format_ns(sum->pause_ns).text, 12);
	dnp_line_right(line, dnp_format_ns(sum->median_ns).text, 12);
	dnp_line_right(line, dnp_format_ns(sum->p99_ns).text, 12);
	dnp_line_right(line, dnp_format_ns(sum->longest_ns).text, 12);
	dnp_line_right(line, dnp_format_bytes(sum->survived).text, 12);
	dnp_line_end(line);
}

static void put_sums(const struct dnp_collection_sums *sums, struct dnp_line *line)
{
	static const char *const names[DNP_GENERATIONS] = {"0", "1", "2"};

	dnp_text_heading("Collections", sums->longest.n, sums->longest.n, line);
	dnp_line_puts(line, SUM_COLUMNS);
	dnp_line_end(line);
	for (unsigned i = 0; i < DNP_GENERATIONS; i++)
		put_sum(names[i], &sums->generations[i], line);
	put_sum("all", &sums->all, line);
}

static void put_paused(const struct dnp_profile *profile, const struct dnp_collection_sums *sums,
	struct dnp_line *line)
{
	uint64_t duration_ns = 0;

	for (size_t i = 0; i < profile->processes.n; i++)
		duration_ns += profile->processes.p[i].duration_ns;
	dnp_line_printf(line, "  paused %s times, for %s (%.2f %% of the time%s)",
		dnp_format_count(sums->all.pauses).text, dnp_format_ns(sums->all.pause_ns).text,
		dnp_percent(sums->all.pause_ns, duration_ns),
		profile->processes.n > 1 ? " of all processes" : "");
	dnp_line_printf(line, "; %s of that until all threads stood",
		dnp_format_ns(sums->all.suspend_ns).text);
	dnp_line_end(line);
}

static void put_heaps(const struct dnp_collection_sums *sums, struct dnp_line *line)
{
	static const char *const names[DNP_HEAP_PARTS] = {
		"gen 0", "gen 1", "gen 2", "large", "pinned"};
	uint64_t all = 0;

	if (!sums->heaps)
		return;
	for (unsigned i = 0; i < DNP_HEAP_PARTS; i++)
		all += sums->heaps_after[i];
	if (sums->heaps == 1)
		dnp_line_puts(line, "  heap after the last one");
	else
		dnp_line_printf(
			line, "  heaps of %zu processes after the last one of each", sums->heaps);
	dnp_line_printf(line, " %s", dnp_format_bytes(all).text);
	for (unsigned i = 0; i < DNP_HEAP_PARTS; i++)
		dnp_line_printf(line, "%s %s %s", i ? "," : ":", names[i],
			dnp_format_bytes(sums->heaps_after[i]).text);
	dnp_line_end(line);
}

static void put_one(const struct dnp_collection *one, struct dnp_line *line)
{
	dnp_line_right(line, dnp_format_ns(one->begin_ns).text, 12);
	dnp_line_right(line, dnp_format_ns(one->longest_ns).text, 12);
	dnp_line_right(line, dnp_format_ns(one->pause_ns).text, 12);
	dnp_line_right(line, dnp_format_ns(one->suspend_ns).text, 12);
	dnp_line_right(
		line, one->sized ? dnp_format_bytes(dnp_collection_before(one)).text : "", 14);
	dnp_line_right(
		line, one->sized ? dnp_format_bytes(dnp_collection_after(one)).text : "", 12);
	dnp_line_printf(line, "   #%" PRIu64 " gen %" PRIu64 " %s%s (%s)", one->number,
		one->generation, dnp_collection_kind_name(one->kind),
		one->compacting ? ", compacting" : "", dnp_gc_reason(one->reason));
	dnp_line_end(line);
}

static void put_longest(const struct dnp_collection_sums *sums, size_t top, struct dnp_line *line)
{
	size_t all = sums->longest.n, n = top && top < all ? top : all;

	dnp_text_heading("Longest pauses", n, all, line);
	dnp_line_puts(line, LONGEST_COLUMNS);
	dnp_line_end(line);
	for (size_t i = 0; i < n; i++)
		put_one(sums->longest.p[i], line);
}

int dnp_text_collections(const struct dnp_profile *profile,
	const struct dnp_export_options *options, struct dnp_line *line)
{
	struct dnp_collection_sums sums;
	int status = dnp_collection_sums_init(&sums, &profile->collections);

	if (!status && sums.longest.n) {
		put_sums(&sums, line);
		put_paused(profile, &sums, line);
		put_heaps(&sums, line);
		put_longest(&sums, options->top, line);
	}
	dnp_collection_sums_done(&sums);
	return status;
}
