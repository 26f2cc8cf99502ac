/* SPDX-License-Identifier: MIT */
/* Who calls methods, and whom they call: the edges of a call tree, all of them in one walk. */
#ifndef DNP_AGGREGATE_NEIGHBOURS_H
#define DNP_AGGREGATE_NEIGHBOURS_H

#include "aggregate/tree.h"

/*
 * An edge between a method and another. Callers: of the method when called from there. Callees: of
 * the other when called from the method. What is called inside of itself again (recursion) counts
 * once in total.
 */
struct dnp_edge {
	uint32_t of;    /* the method, a frame of the profile */
	uint32_t frame; /* the other; 0: the root of stacks, called by nobody */
	uint64_t total, self, calls;
};

struct dnp_edges dnp_vec_of(struct dnp_edge);

/* Of all methods; those of one stand together, the greatest total first, then calls. */
struct dnp_neighbours {
	struct dnp_edges callers, callees;
};

/* 0 or -ENOMEM; dnp_neighbours_done then, too. */
int dnp_neighbours_init(struct dnp_neighbours *neighbours, const struct dnp_tree *tree);
void dnp_neighbours_done(struct dnp_neighbours *neighbours);

/* Those of one method, of either; returns how many. */
size_t dnp_edges_of(const struct dnp_edges *edges, uint32_t method, const struct dnp_edge **first);

#endif
