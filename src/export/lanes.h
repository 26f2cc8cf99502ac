/* SPDX-License-Identifier: MIT */
/*
 * What a page draws of an event whose calls were recorded one by one: slices of each thread over
 * time, the time of each node spread over bins, and how long calls of each method took.
 */
#ifndef DNP_EXPORT_LANES_H
#define DNP_EXPORT_LANES_H

#include "aggregate/profile.h"
#include "export/slices.h"

/* Durations fall into buckets that begin at 0, 1, 2, 3, 4, 6, 8, 12, 16, 24 … nanoseconds. */
#define DNP_DURATION_BUCKETS 128u

struct dnp_lanes {
	struct dnp_slices slices;
	struct dnp_rows time;   /* weight: ns of a node's own in a bin */
	struct dnp_rows counts; /* weight: calls that began in it */
	/* Timed by their end; node: frame * DNP_DURATION_BUCKETS + bucket, weight: calls. */
	struct dnp_rows durations;
};

unsigned dnp_duration_bucket(uint64_t ns);

/*
 * Follows the calls of all recordings of an input, of which the profile was made, for one of its
 * events: at most `slices` of them, and some `rows` rows of each kind. 0 or -ENOMEM; to be freed in
 * any case.
 */
int dnp_lanes_init(struct dnp_lanes *lanes, const struct dnp_profile *profile, uint32_t event,
	const struct dnp_input *input, size_t slices, size_t rows);
void dnp_lanes_done(struct dnp_lanes *lanes);

#endif
