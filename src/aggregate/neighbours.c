/* SPDX-License-Identifier: MIT */
#include "aggregate/neighbours.h"

#include "base/clean.h"

/* Edges to each frame, both ways, while the tree is walked. */
struct gather {
	const struct dnp_tree *tree;
	uint32_t frame;
	struct dnp_edge *callers, *callees;    /* of each frame */
	uint32_t *open_callers, *open_callees; /* how often each edge is on the path walked */
};

static uint32_t frame_of(const struct gather *gather, uint32_t node)
{
	return gather->tree->profile->nodes.p[node].frame;
}

static void add(const struct gather *gather, struct dnp_edge *edge, uint32_t *open, uint32_t node)
{
	edge->self += gather->tree->self[node];
	edge->calls += gather->tree->calls ? gather->tree->calls[node] : 0;
	if (!(*open)++)
		edge->total += gather->tree->total[node];
}

static void enter(const struct gather *gather, uint32_t node)
{
	uint32_t frame = frame_of(gather, node);
	uint32_t above = frame_of(gather, gather->tree->profile->nodes.p[node].parent);

	if (frame == gather->frame)
		add(gather, &gather->callers[above], &gather->open_callers[above], node);
	if (above == gather->frame)
		add(gather, &gather->callees[frame], &gather->open_callees[frame], node);
}

static void leave(const struct gather *gather, uint32_t node)
{
	uint32_t frame = frame_of(gather, node);
	uint32_t above = frame_of(gather, gather->tree->profile->nodes.p[node].parent);

	if (frame == gather->frame)
		gather->open_callers[above]--;
	if (above == gather->frame)
		gather->open_callees[frame]--;
}

static void walk(const struct gather *gather)
{
	const struct dnp_tree *tree = gather->tree;
	struct dnp_tree_walk walk = dnp_tree_walk(tree, 0);
	uint32_t at = 0;

	while (dnp_tree_walk_next(&walk)) {
		for (uint32_t i = 0; i < walk.left; i++) {
			leave(gather, at);
			at = tree->profile->nodes.p[at].parent;
		}
		at = walk.node;
		if (at)
			enter(gather, at);
	}
}

static int by_total(const void *left, const void *right)
{
	const struct dnp_edge *a = left, *b = right;

	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	if (a->calls != b->calls)
		return a->calls < b->calls ? 1 : -1;
	return a->frame < b->frame ? -1 : a->frame > b->frame;
}

/* Moves the edges that there are to the front, the greatest first: how many. */
static size_t keep(struct dnp_edge *edges, size_t n)
{
	size_t kept = 0;

	for (uint32_t i = 0; i < n; i++)
		if (edges[i].total || edges[i].calls) {
			edges[kept] = edges[i];
			edges[kept++].frame = i;
		}
	qsort(edges, kept, sizeof(*edges), by_total);
	return kept;
}

int dnp_neighbours_init(
	struct dnp_neighbours *neighbours, const struct dnp_tree *tree, uint32_t frame)
{
	size_t n = tree->profile->frames.n;
	auto_free uint32_t *open_callers = calloc(n, sizeof(*open_callers));
	auto_free uint32_t *open_callees = calloc(n, sizeof(*open_callees));
	struct gather gather = {.tree = tree,
		.frame = frame,
		.open_callers = open_callers,
		.open_callees = open_callees};

	*neighbours = (struct dnp_neighbours){.frame = frame};
	if (!open_callers || !open_callees || dnp_vec_reserve(&neighbours->callers, n) ||
		dnp_vec_reserve(&neighbours->callees, n))
		return -ENOMEM;
	gather.callers = memset(neighbours->callers.p, 0, n * sizeof(struct dnp_edge));
	gather.callees = memset(neighbours->callees.p, 0, n * sizeof(struct dnp_edge));
	walk(&gather);
	neighbours->callers.n = keep(neighbours->callers.p, n);
	neighbours->callees.n = keep(neighbours->callees.p, n);
	return 0;
}

void dnp_neighbours_done(struct dnp_neighbours *neighbours)
{
	dnp_vec_done(&neighbours->callers);
	dnp_vec_done(&neighbours->callees);
}
