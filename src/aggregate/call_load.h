/* SPDX-License-Identifier: MIT */
/*
 * Calls of one event of a recording while it is read: each thread's tree of calls, put together.
 *
 * Equal paths of all threads are one node. A node has a place among the recording's nodes at once,
 * but its frame only in the end: methods may be defined after their first use.
 */
#ifndef DNP_AGGREGATE_CALL_LOAD_H
#define DNP_AGGREGATE_CALL_LOAD_H

#include "aggregate/calls.h"
#include "aggregate/ids.h"
#include "format/rec.h"

struct dnp_load;
struct dnp_raw_event;

struct dnp_raw_call_node {
	uint32_t parent; /* index of another, DNP_NONE: the root */
	uint32_t place;  /* among the recording's nodes */
	uint64_t method;
	struct dnp_call_span span;
};

struct dnp_raw_calls {
	struct dnp_vec_of(struct dnp_raw_call_node) nodes;
	uint32_t *slots; /* owned: open addressing by parent and method, DNP_NONE is free */
	size_t capacity; /* of slots, a power of two */
	struct dnp_vec_of(struct dnp_ids) trees; /* a thread's own numbers → nodes */
	struct dnp_ids tree_ids;                 /* place of a thread → its tree, if it has one */
	struct dnp_rows counts;                  /* of places; weight: calls */
	enum dnp_call_depth depth;
	uint64_t lost; /* events of call_events */
	bool counted;
	bool sampled;                    /* times of nodes came of which no call was timed */
	bool summed;                     /* counts of the tree came, which have no order */
	struct dnp_rec_call_stats stats; /* the newest */
};

/* Makes them, if the event has none. 0 or -ENOMEM, as all here. */
int dnp_raw_calls_need(struct dnp_load *load, struct dnp_raw_event *event);
/* Frees them; NULL is allowed. */
void dnp_raw_calls_free(struct dnp_raw_calls *calls);

int dnp_raw_calls_nodes(struct dnp_load *load, struct dnp_raw_event *event, uint32_t thread,
	const struct dnp_rec_call_nodes *rec);
int dnp_raw_calls_counts(struct dnp_load *load, struct dnp_raw_event *event, uint32_t thread,
	const struct dnp_rec_call_counts *rec);

/* The node of a call of `method` by another (DNP_NONE: by nobody), made if it is new. */
int dnp_raw_calls_node(struct dnp_load *load, struct dnp_raw_calls *calls, uint32_t parent,
	uint64_t method, uint32_t *node);

/* Gives all nodes their frames: everything has been read. */
void dnp_raw_calls_resolve(struct dnp_load *load, struct dnp_raw_calls *calls);

#endif
