/* SPDX-License-Identifier: MIT */
/*
 * What a page holds of an event of switches: when each thread had a processor, the kernel's clocks
 * of threads, what was lost, and what is known beside that. Times are nanoseconds since the
 * profile's start, numbers LEB128; the profile's filter says of which part of the time.
 */
#ifndef DNP_EXPORT_PAGE_RUNS_H
#define DNP_EXPORT_PAGE_RUNS_H

#include "aggregate/profile.h"
#include "export/page_beside.h"

/*
 * With more slices the page's text, eight characters or more for each, could be longer than the
 * longest string of V8 (2^29 characters); unpacked they are 1.4 GB.
 */
#define DNP_PAGE_RUNS ((size_t)40 << 20)

struct dnp_page_runs {
	/* Of each thread with slices: itself, their number, how the slice before the first ended
	 * (enum dnp_slice_end). */
	struct dnp_vec_of(uint32_t) threads;
	/* Thread after thread: when it was seen first; of each slice the time since the end of the
	 * one before, its length, and processor * 8 + how it ended; the time after the last. */
	struct dnp_bytes slices;
	struct dnp_vec_of(uint32_t) clock_threads; /* pairs: thread, number of readings */
	/* Of each reading, less those of the one before: when, CPU time, time it could have run. */
	struct dnp_bytes clocks;
	struct dnp_bytes losses; /* processor, when, how long, how many */
	/* Of each wait: since when, less that of the one before (zigzag); how long, 0: not known.
	 */
	struct dnp_bytes wait_times;
	struct dnp_page_beside beside;
};

/* 0, -ENOMEM, -E2BIG: more than `max` slices; to be freed in any case. */
int dnp_page_runs_init(struct dnp_page_runs *runs, const struct dnp_profile *profile,
	const struct dnp_input *input, size_t max);
void dnp_page_runs_done(struct dnp_page_runs *runs);

#endif
