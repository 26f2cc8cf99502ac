/* SPDX-License-Identifier: MIT */
#include "aggregate/neighbours.h"

/* The edges to their callers of the nodes that are walked. */
struct gather {
	const struct dnp_tree *tree;
	struct dnp_edges *edges;
	struct dnp_vec_of(uint32_t) open; /* how often each edge is on the path walked */
	struct dnp_vec_of(uint32_t) path; /* places of the edges on it */
	struct dnp_map places;            /* of edges, by both frames */
};

/* DNP_NONE: no memory. */
static uint32_t find(struct gather *gather, uint32_t callee, uint32_t caller)
{
	uint64_t key = (uint64_t)caller << 32 | callee;
	uint32_t place = dnp_map_get(&gather->places, key);
	struct dnp_edge edge = {.of = callee, .frame = caller};

	if (place != DNP_NONE)
		return place;
	place = (uint32_t)gather->edges->n;
	if (dnp_vec_push(gather->edges, edge) || dnp_vec_push(&gather->open, 0) ||
		dnp_map_set(&gather->places, key, place))
		return DNP_NONE;
	return place;
}

static int enter(struct gather *gather, uint32_t node)
{
	const struct dnp_tree *tree = gather->tree;
	const struct dnp_node *nodes = tree->profile->nodes.p;
	uint32_t place = find(gather, nodes[node].frame, nodes[nodes[node].parent].frame);
	struct dnp_edge *edge;

	if (place == DNP_NONE)
		return -ENOMEM;
	edge = &gather->edges->p[place];
	edge->self += tree->self[node];
	edge->calls += tree->calls ? tree->calls[node] : 0;
	if (!gather->open.p[place]++)
		edge->total += tree->total[node];
	return dnp_vec_push(&gather->path, place);
}

static int walk(struct gather *gather)
{
	struct dnp_tree_walk walk = dnp_tree_walk(gather->tree, 0);
	int status = 0;

	while (!status && dnp_tree_walk_next(&walk)) {
		for (uint32_t i = 0; i < walk.left; i++)
			gather->open.p[gather->path.p[--gather->path.n]]--;
		if (walk.node)
			status = enter(gather, walk.node);
	}
	return status;
}

static int by_method(const void *left, const void *right)
{
	const struct dnp_edge *a = left, *b = right;

	if (a->of != b->of)
		return a->of < b->of ? -1 : 1;
	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	if (a->calls != b->calls)
		return a->calls < b->calls ? 1 : -1;
	return a->frame < b->frame ? -1 : a->frame > b->frame;
}

static void sort(struct dnp_edges *edges)
{
	if (edges->n)
		qsort(edges->p, edges->n, sizeof(*edges->p), by_method);
}

/* Drops what this event knows nothing of, and has each edge the other way round as well. */
static int turn(struct dnp_neighbours *neighbours)
{
	struct dnp_edges *callers = &neighbours->callers, *callees = &neighbours->callees;
	size_t kept = 0;

	if (dnp_vec_reserve(callees, callers->n))
		return -ENOMEM;
	for (size_t i = 0; i < callers->n; i++) {
		struct dnp_edge edge = callers->p[i];

		if (!edge.total && !edge.calls)
			continue;
		callers->p[kept] = callees->p[kept] = edge;
		callees->p[kept].of = edge.frame;
		callees->p[kept++].frame = edge.of;
	}
	callers->n = callees->n = kept;
	return 0;
}

int dnp_neighbours_init(struct dnp_neighbours *neighbours, const struct dnp_tree *tree)
{
	struct gather gather = {.tree = tree, .edges = &neighbours->callers};
	int status;

	*neighbours = (struct dnp_neighbours){0};
	status = walk(&gather);
	if (!status)
		status = turn(neighbours);
	sort(&neighbours->callers);
	sort(&neighbours->callees);
	dnp_vec_done(&gather.open);
	dnp_vec_done(&gather.path);
	dnp_map_done(&gather.places);
	return status;
}

void dnp_neighbours_done(struct dnp_neighbours *neighbours)
{
	dnp_vec_done(&neighbours->callers);
	dnp_vec_done(&neighbours->callees);
}

/* The first one of that method or a later one. */
static size_t first_of(const struct dnp_edges *edges, uint32_t method)
{
	size_t low = 0, high = edges->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (edges->p[middle].of < method)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t dnp_edges_of(const struct dnp_edges *edges, uint32_t method, const struct dnp_edge **first)
{
	size_t place = first_of(edges, method);

	*first = edges->n ? edges->p + place : NULL;
	return first_of(edges, method + 1) - place;
}
