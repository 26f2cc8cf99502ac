/* SPDX-License-Identifier: MIT */
/*
 * Single calls over time, as many as there is room for.
 *
 * Calls are added thread by thread, each when it ends, so that a call follows those that it made.
 * Where there are more than `limit`, calls shorter than `merged_below_ns` become coarser: what such
 * a call called is dropped, and neighbours of one caller, with less than that time between them,
 * are one slice. That time doubles until there is room again, so memory is bounded and what is
 * longest is kept whole.
 */
#ifndef DNP_EXPORT_SLICES_H
#define DNP_EXPORT_SLICES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

#define DNP_SLICES_LIMIT ((size_t)2 << 20)

struct dnp_slice {
	uint64_t start_ns, end_ns; /* since the recording's start */
	uint32_t node;             /* of the profile; of a mixed one: the caller */
	uint32_t calls;            /* how many it stands for */
	uint32_t depth;            /* calls around it */
	bool mixed;                /* of several methods */
};

/* A thread's slices: list[first] up to those of the next thread. */
struct dnp_slice_thread {
	uint32_t thread;
	size_t first;
};

struct dnp_slices {
	struct dnp_vec_of(struct dnp_slice) list;
	struct dnp_vec_of(struct dnp_slice_thread) threads;
	size_t limit;
	uint64_t merged_below_ns; /* 0: all calls are there */
	uint32_t (*caller)(const void *arg, uint32_t node);
	const void *arg;
};

/* `caller` tells the node that calls a node. */
void dnp_slices_init(struct dnp_slices *slices, size_t limit,
	uint32_t (*caller)(const void *arg, uint32_t node), const void *arg);
void dnp_slices_done(struct dnp_slices *slices);

/* What is added from here on is of this thread. 0 or -ENOMEM, as below. */
int dnp_slices_thread(struct dnp_slices *slices, uint32_t thread);
/* A call that ended. */
int dnp_slices_add(struct dnp_slices *slices, struct dnp_slice slice);

/* How many slices thread i of the list has. */
size_t dnp_slices_count(const struct dnp_slices *slices, size_t i);

#endif
