/* SPDX-License-Identifier: MIT */
#include "export/text_tree.h"

#include <inttypes.h>

#include "export/share.h"

#define CALLS_COLUMNS 15u
#define TIME_COLUMNS  11u
#define LEVELS        64u /* of indentation, at most */
#define LONG_RUN      5u  /* frames from which on a run is shortened */

struct drawing {
	const struct dnp_tree *tree;
	struct dnp_line *line;
	uint64_t least;
	uint32_t level;    /* forks above the node */
	bool more[LEVELS]; /* of each level: siblings follow below */
	uint32_t skip_to;  /* nodes up to this one are left out; DNP_NONE: none are */
};

/* Whether the node is one of several that its parent calls. */
static bool at_fork(const struct drawing *drawing, uint32_t node)
{
	const struct dnp_tree *tree = drawing->tree;
	uint32_t parent = tree->profile->nodes.p[node].parent;

	if (!node)
		return false;
	return dnp_tree_child(tree, parent, drawing->least) != node ||
		dnp_tree_sibling(tree, node, drawing->least) != DNP_NONE;
}

static void put_branches(struct drawing *drawing, uint32_t node)
{
	uint32_t levels = drawing->level < LEVELS ? drawing->level : LEVELS;

	for (uint32_t i = 0; i < levels; i++) {
		bool more = drawing->more[i];

		if (i + 1 == levels && at_fork(drawing, node))
			dnp_line_puts(drawing->line, more ? "├ " : "└ ");
		else
			dnp_line_puts(drawing->line, more ? "│ " : "  ");
	}
}

static void put_node(struct drawing *drawing, uint32_t node)
{
	const struct dnp_tree *tree = drawing->tree;
	const struct dnp_profile *profile = tree->profile;
	uint32_t name = profile->frames.p[profile->nodes.p[node].frame].name;

	dnp_line_printf(drawing->line, "%6.1f %% %7.1f %%   ",
		dnp_percent(tree->total[node], tree->total[0]),
		dnp_percent(tree->self[node], tree->total[0]));
	if (tree->calls) {
		dnp_line_right(drawing->line, node ? dnp_format_count(tree->calls[node]).text : "",
			CALLS_COLUMNS);
		dnp_line_right(drawing->line, dnp_format_ns(tree->total[node]).text, TIME_COLUMNS);
		dnp_line_puts(drawing->line, "   ");
	}
	put_branches(drawing, node);
	dnp_line_name(drawing->line, dnp_profile_string(profile, name));
	dnp_line_end(drawing->line);
}

/* A frame that only leads on: not the program's own, nothing of its own, one callee. */
static bool leads_on(const struct drawing *drawing, uint32_t node)
{
	const struct dnp_tree *tree = drawing->tree;
	const struct dnp_profile *profile = tree->profile;
	uint32_t child = dnp_tree_child(tree, node, drawing->least);

	return node && profile->frames.p[profile->nodes.p[node].frame].code != DNP_CODE_USER &&
		tree->self[node] < drawing->least && child != DNP_NONE &&
		dnp_tree_sibling(tree, child, drawing->least) == DNP_NONE;
}

/* If a long run begins with this node's callee, leaves out all of it but its last frame. */
static void shorten(struct drawing *drawing, uint32_t node)
{
	uint32_t last = node, length = 0;

	while (leads_on(drawing, last)) {
		last = dnp_tree_child(drawing->tree, last, drawing->least);
		length++;
	}
	if (length < LONG_RUN)
		return;
	drawing->skip_to = last;
	dnp_line_right(drawing->line, "",
		21 + (drawing->tree->calls ? CALLS_COLUMNS + TIME_COLUMNS + 3 : 0));
	put_branches(drawing, dnp_tree_child(drawing->tree, node, drawing->least));
	dnp_line_printf(drawing->line, "… %" PRIu32 " frames", length - 1);
	dnp_line_end(drawing->line);
}

static void draw(struct drawing *drawing, uint32_t node)
{
	if (drawing->skip_to != DNP_NONE && drawing->skip_to != node)
		return;
	drawing->skip_to = DNP_NONE;
	put_node(drawing, node);
	shorten(drawing, node);
}

static void leave(struct drawing *drawing, uint32_t node, uint32_t times)
{
	for (; times; times--, node = drawing->tree->profile->nodes.p[node].parent)
		drawing->level -= at_fork(drawing, node);
}

static void enter(struct drawing *drawing, uint32_t node)
{
	if (!at_fork(drawing, node))
		return;
	if (drawing->level < LEVELS)
		drawing->more[drawing->level] =
			dnp_tree_sibling(drawing->tree, node, drawing->least) != DNP_NONE;
	drawing->level++;
}

void dnp_text_tree(const struct dnp_tree *tree, double min_percent, struct dnp_line *line)
{
	struct drawing drawing = {.tree = tree,
		.line = line,
		.least = dnp_share_least(tree, min_percent),
		.skip_to = DNP_NONE};
	struct dnp_tree_walk walk = dnp_tree_walk(tree, drawing.least);
	uint32_t before = 0;

	dnp_line_end(line);
	dnp_line_printf(line, "Call tree");
	if (min_percent > 0)
		dnp_line_printf(line, ", from %g %% on", min_percent);
	dnp_line_end(line);
	dnp_line_puts(line, "   total      self");
	if (tree->calls)
		dnp_line_puts(line, "            calls       time");
	dnp_line_end(line);
	while (dnp_tree_walk_next(&walk)) {
		leave(&drawing, before, walk.left);
		before = walk.node;
		enter(&drawing, before);
		draw(&drawing, before);
	}
}
