/* SPDX-License-Identifier: MIT */
/*
 * What a page holds beside the slices of threads: what the program said it was doing, and who woke
 * whom. Of either there are so many at most; the first ones of the recording stay.
 */
#ifndef DNP_EXPORT_PAGE_BESIDE_H
#define DNP_EXPORT_PAGE_BESIDE_H

#include "aggregate/profile.h"
#include "export/bytes.h"

#define DNP_PAGE_MARKS ((size_t)128 << 10)
#define DNP_PAGE_WAKES ((size_t)1 << 20)

struct dnp_page_waker {
	uint32_t thread;   /* of the profile; DNP_NONE: it has none there */
	uint32_t pid, tid; /* pid 0: an interrupt */
	uint32_t name;     /* in strings, where it is another process's */
};

/* A point in time, or the begin of a span. */
struct dnp_page_mark {
	uint32_t thread, text; /* text: in strings */
};

struct dnp_page_wake {
	uint32_t thread, by; /* by: place in wakers */
};

struct dnp_page_beside {
	struct dnp_strings strings;
	uint64_t mark_count, wake_count; /* in the profile's time, with those that found no room */
	struct dnp_vec_of(struct dnp_page_mark) marks;
	struct dnp_vec_of(struct dnp_page_waker) wakers;
	struct dnp_vec_of(struct dnp_page_wake) wakes;
	/* Of each: when, in nanoseconds since the profile's start, less that of the one before;
	 * zigzag LEB128. */
	struct dnp_bytes mark_times, wake_times;
	/* Of spans, twice the ns, and 1 where it had not ended; 0: of a point in time. LEB128. */
	struct dnp_bytes mark_lengths;
};

/* 0 or -ENOMEM; to be freed in any case. */
int dnp_page_beside_init(struct dnp_page_beside *beside, const struct dnp_profile *profile,
	const struct dnp_input *input);
void dnp_page_beside_done(struct dnp_page_beside *beside);

#endif
