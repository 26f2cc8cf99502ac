/* SPDX-License-Identifier: MIT */
/*
 * The threads of a profile as a list, where many that are alike, as those of a pool, can be one
 * row: threads of one process whose names differ in numbers at most.
 */
#ifndef DNP_AGGREGATE_THREADS_H
#define DNP_AGGREGATE_THREADS_H

#include "aggregate/tree.h"

struct dnp_thread_row {
	uint32_t thread;  /* of the profile; the first of them */
	uint32_t count;   /* how many threads this is */
	uint32_t pattern; /* string of the list: their name, with * for each number */
	uint64_t total, waiting, cpu_ns, calls;
};

struct dnp_thread_list {
	struct dnp_strings patterns;
	struct dnp_vec_of(struct dnp_thread_row) rows; /* those that ran most first */
};

/* `alike`: from how many on they are one row; 0: never. 0 or -ENOMEM; dnp_thread_list_done then,
 * too. */
int dnp_thread_list_init(struct dnp_thread_list *list, const struct dnp_tree *tree, uint32_t alike);
void dnp_thread_list_done(struct dnp_thread_list *list);

#endif
