/* SPDX-License-Identifier: MIT */
#include "export/text_sites.h"

#include "export/share.h"
#include "export/text_labels.h"
#include "export/text_threads.h"

#define CALLERS 4u /* methods of the program's own, the one that made it included */

static void put_frame(const struct dnp_tree *tree, uint32_t frame, struct dnp_line *line)
{
	dnp_line_text(line, dnp_profile_string(tree->profile, tree->profile->frames.p[frame].name));
}

void dnp_text_site(const struct dnp_tree *tree, const struct dnp_site *site, struct dnp_line *line)
{
	const struct dnp_profile *profile = tree->profile;
	unsigned n = 1;

	dnp_line_puts(line, "        ");
	line->wrap = 10;
	put_frame(tree, site->type, line);
	if (site->method != site->type) { /* a stack of its type alone */
		dnp_line_puts(line, " in ");
		put_frame(tree, site->method, line);
	}
	for (uint32_t node = profile->nodes.p[site->node].parent; node && n < CALLERS;
		node = profile->nodes.p[node].parent) {
		uint32_t frame = profile->nodes.p[node].frame;

		if (profile->frames.p[frame].code != DNP_CODE_USER)
			continue;
		dnp_line_puts(line, " ← ");
		put_frame(tree, frame, line);
		n++;
	}
	dnp_line_end(line);
}

static void put_site(const struct dnp_tree *tree, const struct dnp_site *site, bool ranges,
	struct dnp_line *line)
{
	dnp_text_label(tree->event, &site->sum, tree->total[0], ranges, line);
	dnp_line_end(line);
	dnp_text_site(tree, site, line);
}

int dnp_text_sites(const struct dnp_tree *tree, size_t top, struct dnp_line *line)
{
	bool ranges = dnp_text_has_ranges(tree->event);
	struct dnp_sites sites;
	int status = dnp_sites_of_event(&sites, tree->profile, tree->event);
	size_t n = top && top < sites.all.n ? top : sites.all.n;

	if (!status && n) {
		dnp_text_heading("Sites", n, sites.all.n, line);
		dnp_text_label_columns(tree->event, ranges, line);
		dnp_line_end(line);
		for (size_t i = 0; i < n; i++)
			put_site(tree, &sites.all.p[i], ranges, line);
	}
	dnp_sites_done(&sites);
	return status;
}
