/* SPDX-License-Identifier: MIT */
/* What the parts of joining (join.c, join_calls.c) share: from places to what is in the profile. */
#ifndef DNP_AGGREGATE_JOIN_H
#define DNP_AGGREGATE_JOIN_H

#include "aggregate/load.h"
#include "base/sink.h"

/*
 * Bits of a node: the first two are handed on towards the leaf, the others towards the root;
 * DNP_ENDED, with samples that stand there or that reach it by native frames alone, not beyond a
 * managed frame. DNP_PLACED: it has a node of its own in the profile.
 */
enum { DNP_INCLUDED = 1, DNP_EXCLUDED = 2, DNP_USED = 4, DNP_ENDED = 8, DNP_PLACED = 16 };

struct dnp_join {
	struct dnp_load *load;
	struct dnp_profile *profile;
	struct dnp_sink_memory name; /* the name in the making */
	uint32_t *frame_to;   /* owned: place → frame of the profile, DNP_NONE: not named yet */
	uint32_t *node_to;    /* owned: place → node of the profile, of those used */
	uint32_t *managed_to; /* owned: the same without native frames; NULL: these are shown */
	uint32_t *thread_to;  /* owned: place → thread of the profile, DNP_NONE: not wanted */
	uint32_t native;      /* node of the profile: [native] */
	uint8_t *marks;       /* owned: of each node */
};

/* Gives the frame in a place its name, and a frame of the profile. 0 or -ENOMEM, as all here. */
int dnp_join_frame(struct dnp_join *join, uint32_t place);

/* Whether the filter wants a row of places. */
bool dnp_join_wants(const struct dnp_join *join, const struct dnp_row *row);

/* The node of the profile for that in a place, which rows that the filter wants stand on. */
uint32_t dnp_join_node(const struct dnp_join *join, uint32_t place);

/* The event of that name in the profile, NULL: there is none. */
struct dnp_event *dnp_join_find_event(struct dnp_profile *profile, uint32_t name);

/* join_calls.c: another name for an event whose times are not of the kind of those before. */
int dnp_join_name_calls(
	struct dnp_join *join, const struct dnp_raw_event *raw, struct dnp_event *made);

/* join_calls.c: the calls of an event whose nodes have been placed, and the methods traced. */
int dnp_join_calls(struct dnp_join *join, const struct dnp_raw_event *raw, struct dnp_event *event);
int dnp_join_traced(struct dnp_join *join);

#endif
