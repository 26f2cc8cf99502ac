/* SPDX-License-Identifier: MIT */
/*
 * What a page holds of an event that counts calls: no more rows than a page can take, weights that
 * fit into its columns, and single calls, packed.
 */
#ifndef DNP_EXPORT_PAGE_CALLS_H
#define DNP_EXPORT_PAGE_CALLS_H

#include "export/bytes.h"
#include "export/lanes.h"

#define DNP_PAGE_ROWS ((size_t)384 << 10)

struct dnp_page_calls {
	bool single;                         /* calls were recorded one by one */
	struct dnp_lanes lanes;              /* else only its time and counts, of the profile */
	unsigned weight_shift;               /* a weight of 1 in time is 2^weight_shift ns */
	struct dnp_vec_of(uint32_t) threads; /* pairs: thread, number of its slices */
	/* Slices of thread after thread, LEB128: nanoseconds since the end of the one before (the
	 * first: since the start), length in nanoseconds, node less that of the one before
	 * (zigzag), calls times 2 plus 1 if of several methods. */
	struct dnp_bytes end, length, node, calls;
};

/* `input` NULL: without single calls. 0 or -ENOMEM; to be freed in any case. */
int dnp_page_calls_init(struct dnp_page_calls *calls, const struct dnp_profile *profile,
	uint32_t event, const struct dnp_input *input);
void dnp_page_calls_done(struct dnp_page_calls *calls);

/* So that all weights, divided by 2 to that power, fit into a column. */
unsigned dnp_page_weight_shift(const struct dnp_rows *rows);

/* Width of the widest bins of time and of calls: it is not known more exactly when they were. */
uint64_t dnp_page_calls_step_ns(const struct dnp_page_calls *calls);

/* Width of the bins of time that rows stand for; 0: they stand at the end of some time. */
uint64_t dnp_page_calls_bin_ns(const struct dnp_page_calls *calls);

#endif
