/* SPDX-License-Identifier: MIT */
/*
 * What became of the exceptions of a type: what they said, who caught them, and how long the
 * runtime looked for who does.
 */
#ifndef DNP_AGGREGATE_THROWN_H
#define DNP_AGGREGATE_THROWN_H

#include <stdint.h>

#include "aggregate/ids.h"
#include "base/vec.h"
#include "format/rec.h"

struct dnp_tally {
	uint32_t name; /* string */
	uint64_t count;
};

struct dnp_tallies dnp_vec_of(struct dnp_tally);

struct dnp_thrown {
	uint64_t known;                        /* exceptions of which the rest is told */
	uint64_t ended[DNP_EXCEPTION_ENDS];    /* of them, by enum dnp_exception_end */
	struct dnp_tallies messages, catchers; /* most frequent first */
	uint64_t search_ns, longest_search_ns, unwind_ns, longest_unwind_ns;
};

void dnp_thrown_free(struct dnp_thrown *thrown);

struct dnp_load;
struct dnp_raw_event;
struct dnp_row;
struct dnp_join;
struct dnp_event;

/* While a recording is read: the samples of exceptions, by their numbers, and what became of them.
 */
struct dnp_raw_thrown_sample {
	uint32_t thread, node; /* places */
};

struct dnp_raw_thrown {
	struct dnp_ids numbers; /* → place in samples */
	struct dnp_vec_of(struct dnp_raw_thrown_sample) samples;
	struct dnp_vec_of(
		struct dnp_rec_exception) ends; /* message, catcher: places of frames, 0: none */
};

/* A sample of that number; 0 or -ENOMEM, as all here. */
int dnp_raw_thrown_sample(struct dnp_raw_event *event, const struct dnp_row *row, uint64_t number);
int dnp_raw_thrown_end(
	struct dnp_load *load, struct dnp_raw_event *event, const struct dnp_rec_exception *rec);
void dnp_raw_thrown_done(struct dnp_raw_thrown *thrown);

/* Adds them to the event's labels, which are there. */
int dnp_join_thrown(struct dnp_join *join, struct dnp_raw_event *raw, struct dnp_event *event);

/* No recording comes any more. */
void dnp_thrown_sort(struct dnp_event *event);

#endif
