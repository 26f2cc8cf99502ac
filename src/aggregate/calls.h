/* SPDX-License-Identifier: MIT */
/*
 * Events that count calls (trace): what a profile knows of them beyond time.
 *
 * Such an event has the rows of any other: the weight of a row is time in nanoseconds that a thread
 * spent in a node itself. Which time that is (CPU or the clock) and how it was measured is the
 * event's source. Calls are rows of their own, of the same threads and nodes. A node may have calls
 * and no time, or (calls that began before) time and no calls.
 *
 * dnp_tree_init adds them up: time as self and total, calls beside them.
 */
#ifndef DNP_AGGREGATE_CALLS_H
#define DNP_AGGREGATE_CALLS_H

#include "aggregate/rows.h"
#include "base/vec.h"

/* The shortest and the longest call from its begin to its end; max_ns 0: not measured. */
struct dnp_call_span {
	uint64_t min_ns, max_ns;
};

/* What was recorded of each call. */
enum dnp_call_depth {
	DNP_CALL_TREE,   /* that it was; time comes from samples of the node a thread is in */
	DNP_CALL_TIME,   /* its time, added up */
	DNP_CALL_EVENTS, /* when it began and ended (read/calls.h tells each) */
};

struct dnp_calls {
	enum dnp_call_depth depth; /* the deepest of what was recorded */
	uint64_t calls;            /* in the rows; or, where they are left to others, enters */
	/* As the agents counted them, all processes together, whatever the filter leaves out. */
	uint64_t enters, leaves, tailcalls, unwinds, open, waits;
	uint64_t methods, left_out;
	bool sampled; /* times are not of a clock that timed each call */
	bool summed;  /* they were counted without their order */
	bool counted; /* there are such counters */
	struct dnp_rows
		counts; /* weight: calls that began; in the detail of the event's other rows */
	struct dnp_vec_of(
		struct dnp_call_span) spans; /* of node i; there may be fewer than nodes */
};

/* A method whose calls were recorded, of one process. */
struct dnp_traced {
	uint32_t number; /* in call_events, and in struct dnp_call_event */
	uint32_t frame;  /* of the profile */
	uint64_t function_id;
};

void dnp_calls_init(struct dnp_calls *calls, enum dnp_detail detail);
void dnp_calls_done(struct dnp_calls *calls);

/* The span of a node; all-zero where none is known. */
static inline struct dnp_call_span dnp_calls_span(const struct dnp_calls *calls, uint32_t node)
{
	return node < calls->spans.n ? calls->spans.p[node] : (struct dnp_call_span){0};
}

/* What both spans reach over. */
struct dnp_call_span dnp_call_span_join(struct dnp_call_span a, struct dnp_call_span b);

#endif
