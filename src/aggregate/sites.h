/* SPDX-License-Identifier: MIT */
/* The places where objects are made, exceptions thrown, locks waited for or held: a type, and a
 * method. */
#ifndef DNP_AGGREGATE_SITES_H
#define DNP_AGGREGATE_SITES_H

#include <stddef.h>
#include <stdint.h>

#include "aggregate/labels.h"
#include "base/vec.h"

/* The method is the program's own one that is nearest, where there is one. */
struct dnp_site {
	uint32_t type, method; /* frames */
	uint32_t node;         /* of the stack that most of it comes by: the method's */
	struct dnp_label_sum sum;
};

struct dnp_sites {
	struct dnp_vec_of(struct dnp_site) all;
	struct dnp_map site_of;           /* type and method → place in all */
	struct dnp_vec_of(uint64_t) ways; /* what comes by each stack of a site's method */
	struct dnp_map way_of;            /* site and node → place in ways */
};

struct dnp_profile;
struct dnp_event;

/*
 * What stands on a node of a type (a label), with `*place` where its site is in `all`. 0 or
 * -ENOMEM, as all here; to be freed in any case.
 */
int dnp_sites_add(struct dnp_sites *sites, const struct dnp_profile *profile, uint32_t node,
	const struct dnp_label_sum *sum, uint32_t *place);
void dnp_sites_done(struct dnp_sites *sites);

/* All of an event, the greatest weight first; none of one that has no such places. */
int dnp_sites_of_event(
	struct dnp_sites *sites, const struct dnp_profile *profile, const struct dnp_event *event);

#endif
