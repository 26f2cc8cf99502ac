/* SPDX-License-Identifier: MIT */
/*
 * From a recording's own indices to places in an array.
 *
 * Indices normally count up without a hole, and places with them: that run needs no table. Behind
 * the first hole they are looked up in an array; an index far beyond what was seen (of a damaged or
 * hostile file) goes to a hash map: memory is bounded by the number of definitions, whatever the
 * indices are. All-zero is empty.
 */
#ifndef DNP_AGGREGATE_IDS_H
#define DNP_AGGREGATE_IDS_H

#include "base/vec.h"

struct dnp_ids {
	uint64_t first, run;               /* indices first … first + run - 1 have the places */
	uint32_t first_place;              /* first_place, first_place + 1 … */
	struct dnp_vec_of(uint32_t) dense; /* of others; DNP_NONE: not here */
	struct dnp_map sparse;
	size_t n; /* definitions */
};

/* Sets the place of `index`, which has none yet. 0 or -ENOMEM. */
int dnp_ids_set(struct dnp_ids *ids, uint64_t index, uint32_t place);
void dnp_ids_done(struct dnp_ids *ids);

/* DNP_NONE where the index is not defined. */
static inline uint32_t dnp_ids_get(const struct dnp_ids *ids, uint64_t index)
{
	if (index - ids->first < ids->run)
		return ids->first_place + (uint32_t)(index - ids->first);
	if (index < ids->dense.n && ids->dense.p[index] != DNP_NONE)
		return ids->dense.p[index];
	return dnp_map_get(&ids->sparse, index);
}

#endif
