/* SPDX-License-Identifier: MIT */
/* Names that may have been meant by a pattern that matches none. */
#ifndef DNP_BASE_NEAR_H
#define DNP_BASE_NEAR_H

#include <limits.h>

#include "base/str.h"
#include "base/text.h"

#define DNP_NEAR_NOT UINT_MAX

/*
 * How far a pattern is from matching a name: 0 where it does, DNP_NEAR_NOT where it is not near at
 * all. A wrong letter costs more than one of the wrong case; to forget the namespace, or the
 * method, costs as much as a letter.
 */
unsigned dnp_near(struct dnp_str pattern, struct dnp_str name);

#define DNP_NEAREST 3

/* The nearest of the names that were offered. All-zero: none. */
struct dnp_nearest {
	struct {
		const char *name; /* borrowed */
		unsigned cost;
	} list[DNP_NEAREST];
	size_t n;
};

/* A name that is that far away; one that is there already, or is not near at all, is not taken. */
void dnp_nearest_offer(struct dnp_nearest *nearest, unsigned cost, const char *name);

/* The names, with commas between them. */
void dnp_nearest_put(const struct dnp_nearest *nearest, struct dnp_text *out);

#endif
