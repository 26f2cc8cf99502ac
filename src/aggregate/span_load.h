/* SPDX-License-Identifier: MIT */
/* What a recording says of marks and spans, while it is read, and on its way into the profile. */
#ifndef DNP_AGGREGATE_SPAN_LOAD_H
#define DNP_AGGREGATE_SPAN_LOAD_H

#include <stdbool.h>

#include "base/vec.h"
#include "format/rec.h"

struct dnp_load;
struct dnp_join;

struct dnp_raw_span {
	struct dnp_rec_span begin; /* of a point: name, thread and time */
	struct dnp_rec_span_end end;
	uint32_t thread, end_thread; /* places */
	bool ended, point;
};

struct dnp_raw_spans {
	struct dnp_vec_of(struct dnp_raw_span) all;
	struct dnp_map open; /* event and id → place in all */
};

/* 0 or -ENOMEM. */
int dnp_load_point(struct dnp_load *load, const struct dnp_rec_mark *rec);
int dnp_load_span(struct dnp_load *load, const struct dnp_rec_span *rec);
int dnp_load_span_end(struct dnp_load *load, const struct dnp_rec_span_end *rec);
void dnp_raw_spans_done(struct dnp_raw_spans *spans);

/* Whether an event of that name has spans and points, and nothing else. */
bool dnp_event_says(struct dnp_str name);

/* Those in the filter's time and on its threads go to the profile; its events are there. */
int dnp_join_spans(struct dnp_join *join);

#endif
