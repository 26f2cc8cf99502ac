/* SPDX-License-Identifier: MIT */
#include "aggregate/tree.h"

#include "base/clean.h"

/* Adds up rows by node and by thread; `waiting` may be NULL. */
static void add_up(
	const struct dnp_row *rows, size_t n, uint64_t *nodes, uint64_t *threads, uint64_t *waiting)
{
	for (size_t i = 0; i < n; i++) {
		if (rows[i].node != DNP_NONE)
			nodes[rows[i].node] += rows[i].weight;
		if (rows[i].thread != DNP_NONE)
			threads[rows[i].thread] += rows[i].weight;
		if (rows[i].waiting && waiting)
			waiting[rows[i].thread] += rows[i].weight;
	}
}

static void add_rows(struct dnp_tree *tree)
{
	const struct dnp_rows *rows = &tree->event->rows;

	add_up(rows->slots, rows->n, tree->self, tree->thread_total, tree->thread_waiting);
	add_up(rows->threads.p, rows->threads.n, tree->self, tree->thread_total,
		tree->thread_waiting);
}

static void add_calls(struct dnp_tree *tree)
{
	const struct dnp_rows *counts = &tree->event->calls->counts;

	add_up(counts->slots, counts->n, tree->calls, tree->thread_calls, NULL);
	add_up(counts->threads.p, counts->threads.n, tree->calls, tree->thread_calls, NULL);
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
	uint64_t total, calls;
	uint32_t node;
};

static uint64_t calls_of(const struct dnp_tree *tree, uint32_t node)
{
	return tree->calls ? tree->calls[node] : 0;
}

static int by_rank(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	if (a->calls != b->calls)
		return a->calls < b->calls ? 1 : -1;
	return a->node < b->node ? -1 : 1;
}

struct siblings dnp_vec_of(struct ranked);

/* Puts a node's children in order; most nodes have one. */
static int sort_children(struct dnp_tree *tree, uint32_t node, struct siblings *siblings)
{
	siblings->n = 0;
	for (uint32_t i = tree->first_child[node]; i != DNP_NONE; i = tree->next[i])
		if (dnp_vec_push(siblings, (struct ranked){tree->total[i], calls_of(tree, i), i}))
			return -ENOMEM;
	qsort(siblings->p, siblings->n, sizeof(*siblings->p), by_rank);
	tree->first_child[node] = DNP_NONE;
	for (size_t i = siblings->n; i-- > 0;) {
		tree->next[siblings->p[i].node] = tree->first_child[node];
		tree->first_child[node] = siblings->p[i].node;
	}
	return 0;
}

/* Calls may take no time that was seen: theirs, or that of a call of theirs. */
static bool is_there(const struct dnp_tree *tree, uint32_t node)
{
	return tree->total[node] || calls_of(tree, node) || tree->first_child[node] != DNP_NONE;
}

/* Links each node's children, the first first. What this event knows nothing of stays out. */
void dnp_tree_sort_nodes_by_first(struct dnp_tree *tree)
{
	const struct dnp_node *nodes = tree->profile->nodes.p;
	size_t n = tree->profile->nodes.n;

	memset(tree->first_child, 0xff, n * sizeof(*tree->first_child));
	memset(tree->next, 0xff, n * sizeof(*tree->next));
	for (uint32_t i = (uint32_t)n; i-- > 1;)
		if (is_there(tree, i)) {
			tree->next[i] = tree->first_child[nodes[i].parent];
			tree->first_child[nodes[i].parent] = i;
		}
}

/* The same, the greatest first. */
static int link_children(struct dnp_tree *tree)
{
	struct siblings siblings = {0};
	int status = 0;

	dnp_tree_sort_nodes_by_first(tree);
	for (uint32_t i = 0; i < tree->profile->nodes.n && !status; i++)
		if (tree->first_child[i] != DNP_NONE &&
			tree->next[tree->first_child[i]] != DNP_NONE)
			status = sort_children(tree, i, &siblings);
	dnp_vec_done(&siblings);
	return status;
}

/* What is known of a frame while the tree is walked. */
struct open_frame {
	uint64_t self, total, calls, sum;
	struct dnp_call_span span;
	uint32_t open; /* how often it is on the stack that the walk is at */
};

static void enter(const struct dnp_tree *tree, struct open_frame *frames, uint32_t node)
{
	struct open_frame *frame = &frames[tree->profile->nodes.p[node].frame];

	frame->self += tree->self[node];
	if (!frame->open++)
		frame->total += tree->total[node];
	if (!tree->calls)
		return;
	frame->calls += tree->calls[node];
	frame->sum += tree->total[node];
	frame->span = dnp_call_span_join(frame->span, dnp_calls_span(tree->event->calls, node));
}

static int gather_methods(struct dnp_tree *tree, const struct open_frame *frames)
{
	for (uint32_t i = 1; i < tree->profile->frames.n; i++) {
		const struct open_frame *from = &frames[i];
		struct dnp_method method = {.frame = i,
			.self = from->self,
			.total = from->total,
			.calls = from->calls,
			.sum = from->sum,
			.span = from->span};

		if ((from->total || from->calls) && dnp_vec_push(&tree->methods, method))
			return -ENOMEM;
	}
	return 0;
}

static int add_methods(struct dnp_tree *tree)
{
	size_t n = tree->profile->frames.n;
	auto_free struct open_frame *frames = calloc(n, sizeof(*frames));
	struct dnp_tree_walk walk = dnp_tree_walk(tree, 0);
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

static int init_calls(struct dnp_tree *tree)
{
	tree->calls = calloc(tree->profile->nodes.n, sizeof(*tree->calls));
	tree->thread_calls = calloc(tree->profile->threads.n + 1, sizeof(*tree->thread_calls));
	if (!tree->calls || !tree->thread_calls)
		return -ENOMEM;
	add_calls(tree);
	return 0;
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
		!tree->thread_total || !tree->thread_waiting ||
		(tree->event->calls && init_calls(tree)))
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
	free(tree->calls);
	free(tree->thread_calls);
	dnp_vec_done(&tree->methods);
}

static int by_calls(const struct dnp_method *a, const struct dnp_method *b)
{
	if (a->calls != b->calls)
		return a->calls < b->calls ? 1 : -1;
	return a->frame < b->frame ? -1 : a->frame > b->frame;
}

static int by_self(const void *left, const void *right)
{
	const struct dnp_method *a = left, *b = right;

	if (a->self != b->self)
		return a->self < b->self ? 1 : -1;
	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	return by_calls(a, b);
}

static int by_total(const void *left, const void *right)
{
	const struct dnp_method *a = left, *b = right;

	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	if (a->self != b->self)
		return a->self < b->self ? 1 : -1;
	return by_calls(a, b);
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
