/* SPDX-License-Identifier: MIT */
/*
 * What the program said it was doing, added up: spans and points of the same group are one row, and
 * the longest spans.
 */
#ifndef DNP_AGGREGATE_SPANS_H
#define DNP_AGGREGATE_SPANS_H

#include "aggregate/profile.h"

struct dnp_span_sum {
	uint32_t name;      /* of the group: string of the profile */
	uint64_t count;     /* that began */
	uint64_t ended;     /* of them; the times are of these */
	uint64_t elsewhere; /* of them those that ended on another thread */
	uint64_t total_ns, median_ns, p99_ns, longest_ns;
};

struct dnp_span_result {
	uint32_t name; /* string of the profile */
	uint64_t count;
};

struct dnp_span_sums {
	struct dnp_vec_of(struct dnp_span_sum) spans;  /* the greatest total first */
	struct dnp_vec_of(struct dnp_span_sum) points; /* the most frequent first; without times */
	/* Borrowed: those that ended, the longest first. */
	struct dnp_vec_of(const struct dnp_span *) longest;
	/* Borrowed: those that did not, the earliest first. */
	struct dnp_vec_of(const struct dnp_span *) open;
	/* What came of those that say so, the most frequent first. */
	struct dnp_vec_of(struct dnp_span_result) results;
};

/* Of one event. 0 or -ENOMEM; to be freed in any case. */
int dnp_span_sums_init(
	struct dnp_span_sums *sums, const struct dnp_profile *profile, uint32_t event);
void dnp_span_sums_done(struct dnp_span_sums *sums);

/* As it is called where its result is not told besides: GET /items/7 → 200. */
struct dnp_span_title {
	char text[1152];
};

struct dnp_span_title dnp_span_title(
	const struct dnp_profile *profile, const struct dnp_span *span);

/*
 * What those are called of which no end is recorded: it may have been among what is lost.
 */
static inline const char *dnp_span_open_title(const struct dnp_event *event)
{
	return event->lost ? "No end recorded" : "Not ended";
}

/* Its length; of one that has not ended up to the recording's end. */
static inline uint64_t dnp_span_ns(const struct dnp_span *span)
{
	return span->end_ns > span->begin_ns ? span->end_ns - span->begin_ns : 0;
}

#endif
