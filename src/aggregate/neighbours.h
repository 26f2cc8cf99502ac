/* SPDX-License-Identifier: MIT */
/* Who calls a method, and whom it calls: the edges of a call tree around one method. */
#ifndef DNP_AGGREGATE_NEIGHBOURS_H
#define DNP_AGGREGATE_NEIGHBOURS_H

#include "aggregate/tree.h"

/*
 * An edge between the method and another. Callers: of the method when called from there. Callees:
 * of the other when called from the method. What is called inside of itself again (recursion)
 * counts once in total.
 */
struct dnp_edge {
	uint32_t frame; /* the other, of the profile; 0: the root of stacks, called by nobody */
	uint64_t total, self, calls;
};

struct dnp_neighbours {
	uint32_t frame;                                      /* the method */
	struct dnp_vec_of(struct dnp_edge) callers, callees; /* greatest total first, then calls */
};

/* 0 or -ENOMEM; dnp_neighbours_done then, too. */
int dnp_neighbours_init(
	struct dnp_neighbours *neighbours, const struct dnp_tree *tree, uint32_t frame);
void dnp_neighbours_done(struct dnp_neighbours *neighbours);

#endif
