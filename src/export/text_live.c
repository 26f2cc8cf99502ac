/* SPDX-License-Identifier: MIT */
#include "export/text_live.h"

#include "aggregate/live.h"
#include "export/event.h"
#include "export/share.h"
#include "export/text_labels.h"
#include "export/text_sites.h"
#include "export/text_threads.h"

#define SITE_COLUMNS                                                                               \
	"   share       bytes   95 % within                objects    median    oldest  gen 2   "  \
	"even"                                                                                     \
	"   made"

/* How much is left of each part of the time. */
static void put_parts(const struct dnp_live_site *site, struct dnp_line *line)
{
	static const char *const bars[] = {"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	uint64_t most = 1;

	for (unsigned i = 0; i < DNP_LIVE_PARTS; i++)
		most = site->parts[i] > most ? site->parts[i] : most;
	for (unsigned i = 0; i < DNP_LIVE_PARTS; i++) {
		double height = (double)site->parts[i] / (double)most * 8;

		dnp_line_puts(line, bars[site->parts[i] ? (unsigned)(height + 0.999) : 0]);
	}
}

static void put_site(const struct dnp_tree *tree, const struct dnp_live_site *site, uint64_t lot,
	struct dnp_line *line)
{
	dnp_line_printf(line, "%6.1f %% ", dnp_percent(site->at.sum.weight, tree->total[0]));
	dnp_line_right(line, dnp_format_bytes(site->at.sum.weight).text, 11);
	dnp_text_label_range(&site->at.sum, lot, line);
	dnp_line_right(line, dnp_format_count((uint64_t)(site->at.sum.count + 0.5)).text, 14);
	dnp_line_right(line, dnp_format_duration(site->median_ns).text, 10);
	dnp_line_right(line, dnp_format_duration(site->oldest_ns).text, 10);
	dnp_line_right(line, dnp_format_count(site->median_full).text, 7);
	dnp_line_printf(line, "%5.0f %%   ", site->even * 100);
	put_parts(site, line);
	dnp_line_end(line);
	dnp_text_site(tree, &site->at, line);
}

/* Of the whole process: how many are there is told where none are left out. */
static void put_watched(
	const struct dnp_tree *tree, const struct dnp_live *live, struct dnp_line *line)
{
	bool all = !dnp_event_not_filtered(tree->profile, tree->event);

	dnp_line_puts(line, "  ");
	line->wrap = 4;
	dnp_line_printf(line, "%s objects watched, one for %s,",
		dnp_format_count(live->watched).text, dnp_format_bytes(live->mean_bytes).text);
	dnp_line_printf(
		line, " %s at once at most%s", dnp_format_count(live->most).text, all ? "," : ";");
	if (all)
		dnp_line_printf(line, " %s there in the end;",
			dnp_format_count(tree->profile->objects.n).text);
	dnp_line_printf(line, " %s collections came,", dnp_format_count(live->collections).text);
	dnp_line_printf(line, " %s of them of gen 2", dnp_format_count(live->full).text);
	dnp_line_end(line);
}

static void put_thinned(const struct dnp_live *live, struct dnp_line *line)
{
	if (live->mean_bytes <= live->asked_bytes)
		return;
	dnp_line_printf(line, "  more stayed than can be watched at once: one for %s in the end,",
		dnp_format_bytes(live->mean_bytes).text);
	dnp_line_printf(line, " where %s were asked for; bars are wider for it",
		dnp_format_bytes(live->asked_bytes).text);
	dnp_line_end(line);
}

static void put_unseen(const struct dnp_live *live, struct dnp_line *line)
{
	if (live->unseen.samples) {
		dnp_line_printf(line, "  not counted: %s, too new for a collection to have come",
			dnp_format_bytes(live->unseen.weight).text);
		dnp_line_end(line);
	}
	if (!live->full) {
		dnp_line_puts(line,
			"  no collection of gen 2 came: what has died there, or among large "
			"objects, counts as alive");
		dnp_line_end(line);
	}
}

int dnp_text_live(const struct dnp_tree *tree, const struct dnp_export_options *options,
	struct dnp_line *line)
{
	const struct dnp_profile *profile = tree->profile;
	struct dnp_live live;
	int status = dnp_live_init(&live, profile);

	if (!status && profile->watches.n) {
		size_t all = live.sites.n;
		size_t n = options->top && options->top < all ? options->top : all;

		put_watched(tree, &live, line);
		put_thinned(&live, line);
		put_unseen(&live, line);
		if (all) {
			dnp_text_heading("Sites", n, all, line);
			dnp_line_puts(line, SITE_COLUMNS);
			dnp_line_end(line);
		}
		for (size_t i = 0; i < n; i++)
			put_site(tree, &live.sites.p[i], live.mean_bytes, line);
	}
	dnp_live_done(&live);
	return status;
}
