/* SPDX-License-Identifier: MIT */
/*
 * One event of a profile as a call tree and as a list of methods.
 *
 * self counts what has the node or method as its leaf, total what has it anywhere on the stack;
 * a method that is on one stack several times (recursion) counts once for it.
 */
#ifndef DNP_AGGREGATE_TREE_H
#define DNP_AGGREGATE_TREE_H

#include "aggregate/profile.h"

struct dnp_method {
	uint32_t frame; /* of the profile */
	uint64_t self, total;
	/* Where the event counts calls: */
	uint64_t calls;
	uint64_t sum; /* of the totals of all its nodes: over `calls` the mean time of a call */
	struct dnp_call_span span;
};

struct dnp_tree {
	const struct dnp_profile *profile; /* borrowed */
	const struct dnp_event *event;     /* borrowed */
	uint64_t *self, *total;            /* owned, of each node */
	uint32_t *first_child, *next;      /* owned, of each node; the greatest total comes first;
					      DNP_NONE: none */
	struct dnp_vec_of(
		struct dnp_method) methods; /* greatest self first, then total, then calls */
	uint64_t *thread_total;             /* owned, of each thread of the profile */
	uint64_t *thread_waiting;           /* owned: of that, what did not run */
	/* Owned, of each node and each thread; NULL where the event does not count calls. */
	uint64_t *calls, *thread_calls;
};

int dnp_tree_init(struct dnp_tree *tree, const struct dnp_profile *profile, uint32_t event);
void dnp_tree_done(struct dnp_tree *tree);

/* What a frame is called. */
static inline const char *dnp_tree_name(const struct dnp_tree *tree, uint32_t frame)
{
	return dnp_profile_string(tree->profile, tree->profile->frames.p[frame].name);
}

/* Sorts the methods by total instead, or by self again. */
void dnp_tree_sort_by_total(struct dnp_tree *tree);
void dnp_tree_sort_by_self(struct dnp_tree *tree);

/* Puts siblings in the order in which they were first seen. */
void dnp_tree_sort_nodes_by_first(struct dnp_tree *tree);

/*
 * Walks nodes with at least `least` in total from the root, parents first, without recursion:
 *   struct dnp_tree_walk walk = dnp_tree_walk(tree, least);
 *   while (dnp_tree_walk_next(&walk)) … walk.node …
 */
struct dnp_tree_walk {
	const struct dnp_tree *tree;
	uint64_t least;
	uint32_t node, depth;
	uint32_t left; /* how many nodes were left behind on the way here: closing brackets */
	bool begun;
};

struct dnp_tree_walk dnp_tree_walk(const struct dnp_tree *tree, uint64_t least);
bool dnp_tree_walk_next(struct dnp_tree_walk *walk);

/* The first child of at least that total, and the next sibling; DNP_NONE: none. */
uint32_t dnp_tree_child(const struct dnp_tree *tree, uint32_t node, uint64_t least);
uint32_t dnp_tree_sibling(const struct dnp_tree *tree, uint32_t node, uint64_t least);

#endif
