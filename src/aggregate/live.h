/* SPDX-License-Identifier: MIT */
/*
 * Objects that were allocated while recorded and are still there, by the places where they were
 * made, and what tells a leak from a cache: of a leak as many are left from each part of the time.
 */
#ifndef DNP_AGGREGATE_LIVE_H
#define DNP_AGGREGATE_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregate/labels.h"
#include "aggregate/sites.h"
#include "base/vec.h"
#include "format/rec.h"

#define DNP_LIVE_PARTS 8 /* of the time, in which objects were made */

struct dnp_alive {
	uint32_t process, thread, node; /* node 0: no collection has seen it */
	uint64_t born_ns;               /* since the profile's start */
	uint64_t weight, bytes;         /* what it stands for, and its size */
	uint64_t collections, full;     /* that it has come through; full: of generation 2 */
};

struct dnp_objects dnp_vec_of(struct dnp_alive);

/* Of one process. */
struct dnp_watch {
	uint32_t process;
	/* Since the profile's start: when watching began, when the last collection began that had
	 * an end (`seen_ns` not after begin_ns: there was none), and when all ended. */
	uint64_t begin_ns, seen_ns, end_ns;
	uint64_t collections, full, mean_bytes, asked_bytes, watched, most;
};

struct dnp_live_site {
	struct dnp_site at;
	uint64_t median_ns, oldest_ns;   /* ages */
	uint64_t median_full, most_full; /* collections of generation 2 that they came through */
	uint64_t parts[DNP_LIVE_PARTS]; /* bytes, by when they were made; the first is the oldest */
	double even;                    /* 0: made at one time; 1: in each quarter as much */
};

struct dnp_live {
	struct dnp_vec_of(struct dnp_live_site) sites; /* what looks most like a leak first */
	struct dnp_label_sum unseen;                   /* by no collection: not in sites */
	/* Of all processes: sums; the greatest of `most`, and of `mean_bytes` with what was asked
	 * for there. */
	uint64_t collections, full, mean_bytes, asked_bytes, watched, most;
};

struct dnp_event;
struct dnp_profile;
struct dnp_load;
struct dnp_join;

/* While a recording is read, and into the profile. 0 or -ENOMEM, as all here. */
int dnp_load_live(struct dnp_load *load, const struct dnp_rec_live *rec);
int dnp_join_live(struct dnp_join *join);

/* To be freed in any case. */
int dnp_live_init(struct dnp_live *live, const struct dnp_profile *profile);
void dnp_live_done(struct dnp_live *live);

/*
 * Of the event of objects that stay: bytes that were allocated, by what is known of allocations.
 * What it has lost is a part of these, for nobody knows whether it would have stayed. 0: of another
 * event, or not known for the part that a filter leaves.
 */
uint64_t dnp_live_allocated(const struct dnp_profile *profile, const struct dnp_event *event);

/*
 * How even four parts of a whole are: 1 if they are equal, 0 if all is one of them. By their
 * entropy, as the number of equal parts that would have the same.
 */
double dnp_live_even(const double quarters[4]);

#endif
