/* SPDX-License-Identifier: MIT */
#include "aggregate/sites.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregate/profile.h"

static const struct dnp_frame *frame_at(const struct dnp_profile *profile, uint32_t node)
{
	return &profile->frames.p[profile->nodes.p[node].frame];
}

/* The node of the method that made it, for the program: its own nearest one, else any nearest. */
static uint32_t maker_of(const struct dnp_profile *profile, uint32_t node)
{
	uint32_t first = profile->nodes.p[node].parent;

	for (uint32_t at = first; at; at = profile->nodes.p[at].parent)
		if (frame_at(profile, at)->code == DNP_CODE_USER)
			return at;
	return first ? first : node;
}

static uint32_t site_at(
	struct dnp_sites *sites, const struct dnp_profile *profile, uint32_t type, uint32_t maker)
{
	uint32_t method = profile->nodes.p[maker].frame;
	uint64_t key = (uint64_t)type << 32 | method;
	uint32_t place = dnp_map_get(&sites->site_of, key);
	struct dnp_site site = {.type = type, .method = method, .node = maker};

	if (place != DNP_NONE)
		return place;
	place = (uint32_t)sites->all.n;
	if (dnp_vec_push(&sites->all, site) || dnp_map_set(&sites->site_of, key, place))
		return DNP_NONE;
	return place;
}

/* By which way most of a site comes. */
static int add_way(struct dnp_sites *sites, uint32_t site, uint32_t maker, uint64_t weight)
{
	uint64_t key = (uint64_t)site << 32 | maker;
	uint32_t place = dnp_map_get(&sites->way_of, key);
	uint32_t best;

	if (place == DNP_NONE) {
		place = (uint32_t)sites->ways.n;
		if (dnp_vec_push(&sites->ways, UINT64_C(0)) ||
			dnp_map_set(&sites->way_of, key, place))
			return -ENOMEM;
	}
	sites->ways.p[place] += weight;
	best = dnp_map_get(&sites->way_of, (uint64_t)site << 32 | sites->all.p[site].node);
	if (sites->ways.p[place] > sites->ways.p[best])
		sites->all.p[site].node = maker;
	return 0;
}

int dnp_sites_add(struct dnp_sites *sites, const struct dnp_profile *profile, uint32_t node,
	const struct dnp_label_sum *sum, uint32_t *place)
{
	uint32_t maker = maker_of(profile, node);

	*place = site_at(sites, profile, profile->nodes.p[node].frame, maker);
	if (*place == DNP_NONE || add_way(sites, *place, maker, sum->weight))
		return -ENOMEM;
	dnp_label_sum_add(&sites->all.p[*place].sum, sum);
	return 0;
}

void dnp_sites_done(struct dnp_sites *sites)
{
	dnp_vec_done(&sites->all);
	dnp_map_done(&sites->site_of);
	dnp_vec_done(&sites->ways);
	dnp_map_done(&sites->way_of);
}

static int by_weight(const void *left, const void *right)
{
	const struct dnp_site *a = left, *b = right;

	if (a->sum.weight != b->sum.weight)
		return a->sum.weight < b->sum.weight ? 1 : -1;
	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	return a->method < b->method ? -1 : a->method > b->method;
}

int dnp_sites_of_event(
	struct dnp_sites *sites, const struct dnp_profile *profile, const struct dnp_event *event)
{
	uint32_t place;

	*sites = (struct dnp_sites){0};
	for (size_t i = 0; i < event->made.n; i++)
		if (dnp_sites_add(
			    sites, profile, event->made.p[i].node, &event->made.p[i].sum, &place))
			return -ENOMEM;
	if (sites->all.n)
		qsort(sites->all.p, sites->all.n, sizeof(*sites->all.p), by_weight);
	return 0;
}
