/* SPDX-License-Identifier: MIT */
#include "aggregate/tree.h"

#include "base/clean.h"

static void add_rows(struct dnp_tree *tree)
{
	const struct dnp_rows *rows = &tree->event->rows;

	for (size_t i = 0; i < rows->n; i++) {
		tree->self[rows->slots[i].node] += rows->slots[i].weight;
		tree->thread_total[rows->slots[i].thread] += rows->slots[i].weight;
		if (rows->slots[i].waiting)
			tree->thread_waiting[rows->slots[i].thread] += rows->slots[i].weight;
	}
}

/* Children stand behind their parents, so one pass from the end adds up all. */
static void add_totals(struct dnp_tree *tree)
{
	size_t n = tree->profile->nodes.n;

	memcpy(tree->total, tree->self, n * sizeof(*tree->total));
	for (size_t i = n; i-- > 1;)
		tree->total[tree->profile->nodes.p[i].parent] += tree->total[i];
}

struct ranked {
	uint64_t total;
	uint32_t node;
};

static int by_rank(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	return a->node < b->node ? -1 : 1;
}

struct siblings dnp_vec_of(struct ranked);

/* Puts a node's children in order; most nodes have one. */
static int sort_children(struct dnp_tree *tree, uint32_t node, struct siblings *siblings)
{
	siblings->n = 0;
	for (uint32_t i = tree->first_child[node]; i != DNP_NONE; i = tree->next[i])
		if (dnp_vec_push(siblings, (struct ranked){tree->total[i], i}))
			return -ENOMEM;
	qsort(siblings->p, siblings->n, sizeof(*siblings->p), by_rank);
	tree->first_child[node] = DNP_NONE;
	for (size_t i = siblings->n; i-- > 0;) {
		tree->next[siblings->p[i].node] = tree->first_child[node];
		tree->first_child[node] = siblings->p[i].node;
	}
	return 0;
}

/* Links each node's children, the greatest first. What this event has no samples of stays out. */
static int link_children(struct dnp_tree *tree)
{
	const struct dnp_node *nodes = tree->profile->nodes.p;
	size_t n = tree->profile->nodes.n;
	struct siblings siblings = {0};
	int status = 0;

	memset(tree->first_child, 0xff, n * sizeof(*tree->first_child));
	memset(tree->next, 0xff, n * sizeof(*tree->next));
	for (uint32_t i = (uint32_t)n; i-- > 1;)
		if (tree->total[i]) {
			tree->next[i] = tree->first_child[nodes[i].parent];
			tree->first_child[nodes[i].parent] = i;
		}
	for (uint32_t i = 0; i < n && !status; i++)
		if (tree->first_child[i] != DNP_NONE &&
			tree->next[tree->first_child[i]] != DNP_NONE)
			status = sort_children(tree, i, &siblings);
	dnp_vec_done(&siblings);
	return status;
}

/* What is known of a frame while the tree is walked. */
struct open_frame {
	uint64_t self, total;
	uint32_t open; /* how often it is on the stack that the walk is at */
};

static void enter(const struct dnp_tree *tree, struct open_frame *frames, uint32_t node)
{
	struct open_frame *frame = &frames[tree->profile->nodes.p[node].frame];

	frame->self += tree->self[node];
	if (!frame->open++)
		frame->total += tree->total[node];
}

static int gather_methods(struct dnp_tree *tree, const struct open_frame *frames)
{
	for (uint32_t i = 1; i < tree->profile->frames.n; i++)
		if (frames[i].total &&
			dnp_vec_push(&tree->methods,
				(struct dnp_method){i, frames[i].self, frames[i].total}))
			return -ENOMEM;
	return 0;
}

static int add_methods(struct dnp_tree *tree)
{
	size_t n = tree->profile->frames.n;
	auto_free struct open_frame *frames = calloc(n, sizeof(*frames));
	struct dnp_tree_walk walk = dnp_tree_walk(tree, 1);
	uint32_t at = 0; /* the node entered last */

	if (!frames)
		return -ENOMEM;
	while (dnp_tree_walk_next(&walk)) {
		for (uint32_t i = 0; i < walk.left; i++) {
			frames[tree->profile->nodes.p[at].frame].open--;
			at = tree->profile->nodes.p[at].parent;
		}
		at = walk.node;
		enter(tree, frames, at);
	}
	return gather_methods(tree, frames);
}

int dnp_tree_init(struct dnp_tree *tree, const struct dnp_profile *profile, uint32_t event)
{
	size_t n = profile->nodes.n;
	int status;

	*tree = (struct dnp_tree){.profile = profile, .event = &profile->events.p[event]};
	tree->self = calloc(n, sizeof(*tree->self));
	tree->total = calloc(n, sizeof(*tree->total));
	tree->first_child = reallocarray(NULL, n, sizeof(*tree->first_child));
	tree->next = reallocarray(NULL, n, sizeof(*tree->next));
	tree->thread_total = calloc(profile->threads.n + 1, sizeof(*tree->thread_total));
	tree->thread_waiting = calloc(profile->threads.n + 1, sizeof(*tree->thread_waiting));
	if (!tree->self || !tree->total || !tree->first_child || !tree->next ||
		!tree->thread_total || !tree->thread_waiting)
		return -ENOMEM;
	add_rows(tree);
	add_totals(tree);
	status = link_children(tree);
	if (!status)
		status = add_methods(tree);
	if (!status)
		dnp_tree_sort_by_self(tree);
	return status;
}

void dnp_tree_done(struct dnp_tree *tree)
{
	free(tree->self);
	free(tree->total);
	free(tree->first_child);
	free(tree->next);
	free(tree->thread_total);
	free(tree->thread_waiting);
	dnp_vec_done(&tree->methods);
}

static int by_frame(const struct dnp_method *a, const struct dnp_method *b)
{
	return a->frame < b->frame ? -1 : a->frame > b->frame;
}

static int by_self(const void *left, const void *right)
{
	const struct dnp_method *a = left, *b = right;

	if (a->self != b->self)
		return a->self < b->self ? 1 : -1;
	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	return by_frame(a, b);
}

static int by_total(const void *left, const void *right)
{
	const struct dnp_method *a = left, *b = right;

	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	if (a->self != b->self)
		return a->self < b->self ? 1 : -1;
	return by_frame(a, b);
}

void dnp_tree_sort_by_total(struct dnp_tree *tree)
{
	if (tree->methods.n)
		qsort(tree->methods.p, tree->methods.n, sizeof(*tree->methods.p), by_total);
}

void dnp_tree_sort_by_self(struct dnp_tree *tree)
{
	if (tree->methods.n)
		qsort(tree->methods.p, tree->methods.n, sizeof(*tree->methods.p), by_self);
}

uint32_t dnp_tree_child(const struct dnp_tree *tree, uint32_t node, uint64_t least)
{
	uint32_t child = tree->first_child[node];

	return child != DNP_NONE && tree->total[child] >= least ? child : DNP_NONE;
}

uint32_t dnp_tree_sibling(const struct dnp_tree *tree, uint32_t node, uint64_t least)
{
	uint32_t next = tree->next[node];

	return next != DNP_NONE && tree->total[next] >= least ? next : DNP_NONE;
}

struct dnp_tree_walk dnp_tree_walk(const struct dnp_tree *tree, uint64_t least)
{
	return (struct dnp_tree_walk){.tree = tree, .least = least};
}

bool dnp_tree_walk_next(struct dnp_tree_walk *walk)
{
	const struct dnp_tree *tree = walk->tree;
	uint32_t child;

	walk->left = 0;
	if (!walk->begun)
		return walk->begun = true;
	child = dnp_tree_child(tree, walk->node, walk->least);
	if (child != DNP_NONE) {
		walk->node = child;
		walk->depth++;
		return true;
	}
	for (;; walk->node = tree->profile->nodes.p[walk->node].parent, walk->depth--) {
		uint32_t next;

		walk->left++;
		if (!walk->node)
			return false;
		next = dnp_tree_sibling(tree, walk->node, walk->least);
		if (next != DNP_NONE) {
			walk->node = next;
			return true;
		}
	}
}
