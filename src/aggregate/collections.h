/* SPDX-License-Identifier: MIT */
/* Collections of garbage: for how long the program stood still, and what they did to the heap. */
#ifndef DNP_AGGREGATE_COLLECTIONS_H
#define DNP_AGGREGATE_COLLECTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "format/rec.h"

#define DNP_GENERATIONS 3
/* And large and pinned objects. */
#define DNP_HEAP_PARTS 5

struct dnp_heap_part {
	uint64_t before, after, survived; /* bytes */
};

struct dnp_collection {
	uint32_t process;
	uint64_t number;
	uint64_t generation, reason, kind; /* kind: enum dnp_collection_kind, or a later one */
	bool compacting;
	bool ended, sized;         /* the last two are known */
	uint64_t begin_ns, end_ns; /* since the profile's start */
	uint64_t pauses, suspend_ns, pause_ns, longest_ns;
	struct dnp_heap_part heap[DNP_HEAP_PARTS];
};

struct dnp_collections dnp_vec_of(struct dnp_collection);

/* Of those whose oldest generation is one of them, or of all. */
struct dnp_collection_sum {
	uint64_t count, background, pauses;
	uint64_t suspend_ns, pause_ns;
	uint64_t median_ns, p99_ns, longest_ns; /* of the longest pause of each */
	uint64_t survived;                      /* bytes */
};

struct dnp_collection_sums {
	struct dnp_collection_sum generations[DNP_GENERATIONS], all;
	/* Borrowed: those with the longest pauses first. */
	struct dnp_vec_of(const struct dnp_collection *) longest;
	/* Of each process that has a collection that tells of the heap, after the last such one. */
	uint64_t heaps_after[DNP_HEAP_PARTS]; /* bytes, all together */
	size_t heaps;
};

struct dnp_profile;
struct dnp_load;
struct dnp_join;

/* While a recording is read, and into the profile. 0 or -ENOMEM, as all here. */
int dnp_load_collection(struct dnp_load *load, const struct dnp_rec_collection *rec);
int dnp_join_collections(struct dnp_join *join);

/* To be freed in any case. */
int dnp_collection_sums_init(
	struct dnp_collection_sums *sums, const struct dnp_collections *collections);
void dnp_collection_sums_done(struct dnp_collection_sums *sums);

/* A word for enum dnp_collection_kind. */
const char *dnp_collection_kind_name(uint64_t kind);

/* In its generations and parts, before and after; bytes. */
uint64_t dnp_collection_before(const struct dnp_collection *collection);
uint64_t dnp_collection_after(const struct dnp_collection *collection);

#endif
