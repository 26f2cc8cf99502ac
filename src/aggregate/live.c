/* SPDX-License-Identifier: MIT */
#include "aggregate/live.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/join.h"

/* ---- From the recording */

int dnp_load_live(struct dnp_load *load, const struct dnp_rec_live *rec)
{
	if (!dnp_load_wants(load, rec->thread, rec->time_ns))
		return 0;
	return dnp_vec_push(&load->live, *rec);
}

static uint64_t since_profile(const struct dnp_load *load, uint64_t time_ns)
{
	return dnp_load_since_start(load, time_ns) + load->start_ns;
}

/* One that no collection has seen is no sample, so that its stack need not be there. */
static int join_object(struct dnp_join *join, const struct dnp_rec_live *rec)
{
	struct dnp_row row = {.weight = rec->weight};
	struct dnp_alive object = {
		.process = join->load->process,
		.born_ns = since_profile(join->load, rec->time_ns),
		.weight = rec->weight,
		.bytes = rec->bytes,
		.collections = rec->collections,
		.full = rec->full,
	};

	dnp_load_places(join->load, rec->thread, rec->node, &row);
	if (!dnp_join_wants(join, &row))
		return 0;
	object.thread = join->thread_to[row.thread];
	if (object.collections)
		object.node = dnp_join_node(join, row.node);
	return dnp_vec_push(&join->profile->objects, object);
}

static int join_watch(struct dnp_join *join)
{
	const struct dnp_load *load = join->load;
	const struct dnp_rec_live_stats *rec = &load->live_stats;
	struct dnp_watch watch = {
		.process = load->process,
		.begin_ns = load->start_ns,
		.seen_ns = rec->seen_ns ? since_profile(load, rec->seen_ns) : load->start_ns,
		.end_ns = since_profile(load, load->newest_ns),
		.collections = rec->collections,
		.full = rec->full,
		.mean_bytes = rec->mean_bytes,
		.asked_bytes = rec->asked_bytes ? rec->asked_bytes : rec->mean_bytes,
		.watched = rec->watched,
		.most = rec->most,
	};

	return rec->mean_bytes ? dnp_vec_push(&join->profile->watches, watch) : 0;
}

int dnp_join_live(struct dnp_join *join)
{
	for (size_t i = 0; i < join->load->live.n; i++)
		if (join_object(join, &join->load->live.p[i]))
			return -ENOMEM;
	return join_watch(join);
}

/* ---- What there was */

uint64_t dnp_live_allocated(const struct dnp_profile *profile, const struct dnp_event *event)
{
	uint64_t bytes = 0;

	if (strcmp(dnp_profile_string(profile, event->name), "live") ||
		dnp_filter_cuts(&profile->filter) || profile->filter.thread_count)
		return 0;
	for (size_t i = 0; i < profile->events.n; i++) {
		const struct dnp_event *all = &profile->events.p[i];

		if (all == event || !all->in_bytes || all->summed)
			continue;
		bytes += all->lost;
		for (size_t k = 0; k < all->labels.n; k++)
			bytes += all->labels.p[k].sum.weight;
	}
	return bytes;
}

/* ---- Sites */

double dnp_live_even(const double quarters[4])
{
	double whole = quarters[0] + quarters[1] + quarters[2] + quarters[3], entropy = 0;

	for (unsigned i = 0; i < 4; i++)
		if (quarters[i] > 0)
			entropy -= quarters[i] / whole * log(quarters[i] / whole);
	return (exp(entropy) - 1) / 3;
}

/* An object, where it was made, and for how long ago. */
struct placed {
	uint32_t site;
	uint64_t age_ns;
	const struct dnp_alive *object;
};

/* What sites are found with. */
struct finding {
	struct dnp_live *live;
	const struct dnp_profile *profile;
	struct dnp_sites sites; /* as those of live */
	struct dnp_vec_of(struct placed) all;
};

static const struct dnp_watch *watch_of(const struct dnp_profile *profile, uint32_t process)
{
	for (size_t i = 0; i < profile->watches.n; i++)
		if (profile->watches.p[i].process == process)
			return &profile->watches.p[i];
	return NULL;
}

/* In which part of the time that collections have seen it was made. */
static unsigned part_of(const struct dnp_watch *watch, uint64_t born_ns)
{
	double whole = (double)watch->seen_ns - (double)watch->begin_ns;
	double at = (double)born_ns - (double)watch->begin_ns;
	double part = whole > 0 && at > 0 ? at / whole * DNP_LIVE_PARTS : 0;

	return part < DNP_LIVE_PARTS ? (unsigned)part : DNP_LIVE_PARTS - 1;
}

static int place(struct finding *finding, const struct dnp_alive *object)
{
	const struct dnp_watch *watch = watch_of(finding->profile, object->process);
	struct dnp_live *live = finding->live;
	struct placed placed = {.object = object};
	struct dnp_label_sum sum = {0};

	dnp_label_sum_sample(&sum, object->weight, object->bytes);
	if (dnp_sites_add(&finding->sites, finding->profile, object->node, &sum, &placed.site))
		return -ENOMEM;
	if (placed.site == live->sites.n && dnp_vec_push(&live->sites, (struct dnp_live_site){0}))
		return -ENOMEM;
	if (watch) {
		live->sites.p[placed.site].parts[part_of(watch, object->born_ns)] += object->weight;
		placed.age_ns =
			watch->end_ns > object->born_ns ? watch->end_ns - object->born_ns : 0;
	}
	return dnp_vec_push(&finding->all, placed);
}

static int by_site_and_age(const void *left, const void *right)
{
	const struct placed *a = left, *b = right;

	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	return a->age_ns < b->age_ns ? 1 : -(a->age_ns > b->age_ns);
}

/* Of one site, the oldest first: the age that half of its bytes have reached. */
static void add_ages(struct dnp_live_site *site, const struct placed *placed, size_t n)
{
	uint64_t sum = 0;

	site->oldest_ns = placed[0].age_ns;
	site->most_full = placed[0].object->full;
	for (size_t i = 0; i < n && sum * 2 < site->at.sum.weight; i++) {
		sum += placed[i].object->weight;
		site->median_ns = placed[i].age_ns;
		site->median_full = placed[i].object->full;
	}
}

static void judge(struct dnp_live_site *site)
{
	double quarters[4] = {0};

	for (unsigned i = 0; i < DNP_LIVE_PARTS; i++)
		quarters[i * 4 / DNP_LIVE_PARTS] += (double)site->parts[i];
	site->even = dnp_live_even(quarters);
}

static double like_a_leak(const struct dnp_live_site *site)
{
	return (double)site->at.sum.weight * site->even;
}

static int by_leak(const void *left, const void *right)
{
	const struct dnp_live_site *a = left, *b = right;
	double x = like_a_leak(a), y = like_a_leak(b);

	if (x != y)
		return x < y ? 1 : -1;
	if (a->at.sum.weight != b->at.sum.weight)
		return a->at.sum.weight < b->at.sum.weight ? 1 : -1;
	return a->at.type < b->at.type ? -1 : a->at.type > b->at.type;
}

static void finish(struct finding *finding)
{
	struct dnp_live *live = finding->live;
	size_t n = finding->all.n;

	if (!n)
		return;
	for (size_t i = 0; i < live->sites.n; i++)
		live->sites.p[i].at = finding->sites.all.p[i];
	qsort(finding->all.p, n, sizeof(*finding->all.p), by_site_and_age);
	for (size_t from = 0, to; from < n; from = to) {
		uint32_t site = finding->all.p[from].site;

		for (to = from; to < n && finding->all.p[to].site == site; to++)
			;
		add_ages(&live->sites.p[site], finding->all.p + from, to - from);
	}
	for (size_t i = 0; i < live->sites.n; i++)
		judge(&live->sites.p[i]);
	qsort(live->sites.p, live->sites.n, sizeof(*live->sites.p), by_leak);
}

static void add_watch(struct dnp_live *live, const struct dnp_watch *watch)
{
	live->collections += watch->collections;
	live->full += watch->full;
	live->watched += watch->watched;
	if (live->mean_bytes < watch->mean_bytes) {
		live->mean_bytes = watch->mean_bytes;
		live->asked_bytes = watch->asked_bytes;
	}
	live->most = live->most > watch->most ? live->most : watch->most;
}

int dnp_live_init(struct dnp_live *live, const struct dnp_profile *profile)
{
	struct finding finding = {.live = live, .profile = profile};
	int status = 0;

	*live = (struct dnp_live){0};
	for (size_t i = 0; i < profile->watches.n; i++)
		add_watch(live, &profile->watches.p[i]);
	for (size_t i = 0; i < profile->objects.n && !status; i++) {
		const struct dnp_alive *object = &profile->objects.p[i];

		if (object->collections)
			status = place(&finding, object);
		else
			dnp_label_sum_sample(&live->unseen, object->weight, object->bytes);
	}
	if (!status)
		finish(&finding);
	dnp_sites_done(&finding.sites);
	dnp_vec_done(&finding.all);
	return status;
}

void dnp_live_done(struct dnp_live *live)
{
	dnp_vec_done(&live->sites);
}
