/* SPDX-License-Identifier: MIT */
#include "aggregate/labels.h"

#include <math.h>

#include "aggregate/join.h"
#include "base/clean.h"

/* 95 % of a normal distribution lie within so many standard deviations. */
#define DEVIATIONS 1.959964

void dnp_label_sum_add(struct dnp_label_sum *to, const struct dnp_label_sum *more)
{
	to->samples += more->samples;
	to->weight += more->weight;
	to->count += more->count;
	to->variance += more->variance;
	to->rare += more->rare;
	to->rare_variance += more->rare_variance;
	if (more->rare_most > to->rare_most)
		to->rare_most = more->rare_most;
	to->seen += more->seen;
	to->unfinished += more->unfinished;
	if (more->greatest > to->greatest)
		to->greatest = more->greatest;
}

void dnp_label_sum_sample(struct dnp_label_sum *to, uint64_t weight, uint64_t value)
{
	double w = (double)weight, v = value && value < weight ? (double)value : w;
	bool rare = v * 2 <= w;

	dnp_label_sum_add(to,
		&(struct dnp_label_sum){
			.samples = 1,
			.weight = weight,
			.count = v > 0 ? w / v : 1,
			.variance = w * (w - v),
			.rare = rare ? w : 0,
			.rare_variance = rare ? w * (w - v) : 0,
			.rare_most = rare ? w : 0,
			.seen = v,
			.greatest = (uint64_t)v,
		});
}

void dnp_label_sum_exact(struct dnp_label_sum *to, uint64_t weight, uint64_t count)
{
	dnp_label_sum_add(to,
		&(struct dnp_label_sum){
			.samples = 1,
			.weight = weight,
			.count = (double)count,
			.seen = (double)weight,
			.greatest = weight,
		});
}

static double cubed(double a)
{
	return a * a * a;
}

static double squared(double a)
{
	return a * a;
}

/*
 * As for numbers of rare, independent happenings (Poisson) of several weights, of which none weighs
 * more than `most`: by a gamma distribution that has their mean and variance (Fay and Feuer 1997),
 * and is nearly normal by its cube root (Wilson and Hilferty 1931). Above, it is as if one more of
 * the greatest weight had been there, since those are the ones of which too few may have come by
 * chance, and then the variance tells nothing of them. A few samples so have honest bounds, too,
 * and so has none at all. Where all weigh the same, these are the exact ones (Garwood 1936).
 */
static struct dnp_range poisson_range(double weight, double variance, double most)
{
	double z = DEVIATIONS / 3, n, more;

	if (variance + most <= 0)
		return (struct dnp_range){weight, weight};
	n = variance > 0 ? squared(weight) / variance : 0;
	more = squared(weight + most) / (variance + squared(most));
	return (struct dnp_range){
		n > 0 ? weight * cubed(1 - 1 / (9 * n) - z / sqrt(n)) : weight,
		(weight + most) * cubed(1 - 1 / (9 * more) + z / sqrt(more)),
	};
}

/*
 * Large objects are nearly all seen, and say nothing of small ones at the same place, of which none
 * may have been: so both have a range, and their distances from the sums are added up as those of
 * independent sums are (MOVER, Zou and Donner 2008).
 */
struct dnp_range dnp_label_range(const struct dnp_label_sum *sum, uint64_t lot)
{
	double weight = (double)sum->weight, often = weight - sum->rare;
	double variance = sum->variance - sum->rare_variance;
	struct dnp_range of_rare = poisson_range(sum->rare, sum->rare_variance,
		sum->rare_most > (double)lot ? sum->rare_most : (double)lot);
	struct dnp_range of_often =
		poisson_range(often, variance, often > 0 ? variance / often : 0);
	double low =
		weight - sqrt(squared(sum->rare - of_rare.low) + squared(often - of_often.low));
	double high =
		weight + sqrt(squared(of_rare.high - sum->rare) + squared(of_often.high - often));

	return (struct dnp_range){low > sum->seen ? low : sum->seen, high};
}

static bool is_labelled(const struct dnp_load *load, uint32_t node)
{
	return node < load->labelled.n && load->labelled.p[node];
}

static struct dnp_raw_label *label_at(struct dnp_raw_labels *labels, const struct dnp_row *row)
{
	uint64_t key = (uint64_t)row->thread << 32 | row->node;
	uint32_t place = dnp_map_get(&labels->place_of, key);

	if (place == DNP_NONE) {
		struct dnp_raw_label made = {.thread = row->thread, .node = row->node};

		place = (uint32_t)labels->all.n;
		if (dnp_vec_push(&labels->all, made) || dnp_map_set(&labels->place_of, key, place))
			return NULL;
	}
	return &labels->all.p[place];
}

/* Whether a sample's value is what it was chosen for; else each stands for itself. */
static bool is_chosen(const struct dnp_raw_event *event)
{
	return dnp_str_eq(event->rec.unit, dnp_str("bytes")) ||
		dnp_str_eq(event->rec.name, dnp_str("transition")) ||
		dnp_str_eq(event->rec.name, dnp_str("transition-in"));
}

int dnp_raw_counts_set(struct dnp_raw_counts *counts, const struct dnp_raw_counted *counted)
{
	uint64_t key = (uint64_t)counted->thread << 32 | counted->number;
	uint32_t place = dnp_map_get(&counts->place_of, key);

	if (place != DNP_NONE) {
		counts->all.p[place] = *counted;
		return 0;
	}
	place = (uint32_t)counts->all.n;
	return dnp_vec_push(&counts->all, *counted) ? -ENOMEM
						    : dnp_map_set(&counts->place_of, key, place);
}

void dnp_raw_counts_done(struct dnp_raw_counts *counts)
{
	dnp_vec_done(&counts->all);
	dnp_map_done(&counts->place_of);
}

int dnp_raw_labels_add(struct dnp_load *load, struct dnp_raw_event *event,
	const struct dnp_row *row, const struct dnp_rec_sample *rec)
{
	struct dnp_raw_label *label;

	if (!is_labelled(load, row->node))
		return 0;
	label = label_at(&event->labels, row);
	if (!label)
		return -ENOMEM;
	if (rec->count)
		dnp_label_sum_exact(&label->sum, row->weight, rec->count);
	else
		dnp_label_sum_sample(&label->sum, row->weight, is_chosen(event) ? rec->value : 0);
	return 0;
}

void dnp_raw_labels_done(struct dnp_raw_labels *labels)
{
	dnp_vec_done(&labels->all);
	dnp_map_done(&labels->place_of);
}

static int join_label(struct dnp_join *join, uint32_t frame, const struct dnp_label_sum *sum,
	struct dnp_event *event, struct dnp_map *place_of)
{
	struct dnp_label label = {
		.name = join->profile->frames.p[join->frame_to[frame]].name, .sum = *sum};
	uint32_t place = dnp_map_get(place_of, label.name);

	if (place != DNP_NONE) {
		dnp_label_sum_add(&event->labels.p[place].sum, sum);
		return 0;
	}
	place = (uint32_t)event->labels.n;
	return dnp_vec_push(&event->labels, label) ? -ENOMEM
						   : dnp_map_set(place_of, label.name, place);
}

/*
 * Of those that are counted, samples tell only how many they are themselves. Where all of a stack
 * weigh nothing, nobody else has named its frames.
 */
static int join_sampled(struct dnp_join *join, const struct dnp_raw_label *raw, bool counted,
	struct dnp_event *event, struct dnp_map *place_of)
{
	struct dnp_label_sum sum = {.samples = raw->sum.samples};
	uint32_t frame = join->load->nodes.p[raw->node].frame;

	if (dnp_join_frame(join, frame))
		return -ENOMEM;
	return join_label(join, frame, counted ? &sum : &raw->sum, event, place_of);
}

/* Whether there is a place in the program that makes what its samples are about. */
static bool has_sites(const struct dnp_raw_event *raw)
{
	static const char *const names[] = {"exception", "lock", "lock-owner", "waithandle"};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(names); i++)
		if (dnp_str_eq(raw->rec.name, dnp_str(names[i])))
			return true;
	return dnp_str_eq(raw->rec.unit, dnp_str("bytes"));
}

/* Where all of a stack weigh nothing and nobody else needs it, it has no node. */
static int join_made(
	struct dnp_join *join, const struct dnp_raw_label *raw, struct dnp_event *event)
{
	struct dnp_made made = {.sum = raw->sum};

	if (!(join->marks[raw->node] & DNP_USED))
		return 0;
	made.node = dnp_join_node(join, raw->node);
	return made.node ? dnp_vec_push(&event->made, made) : 0;
}

static int join_counts(struct dnp_join *join, const struct dnp_raw_counts *counts,
	struct dnp_event *event, struct dnp_map *place_of)
{
	for (size_t i = 0; i < counts->all.n; i++) {
		const struct dnp_raw_counted *one = &counts->all.p[i];
		struct dnp_row row = {.weight = 1, .thread = one->thread, .node = DNP_NONE};

		if (!dnp_join_wants(join, &row))
			continue;
		if (dnp_join_frame(join, one->frame) ||
			join_label(join, one->frame, &one->sum, event, place_of))
			return -ENOMEM;
	}
	return 0;
}

bool dnp_join_counts(const struct dnp_join *join, const struct dnp_raw_event *raw)
{
	return raw->counts.all.n && !dnp_filter_cuts(&join->profile->filter);
}

static int join_labels(struct dnp_join *join, const struct dnp_raw_event *raw,
	struct dnp_event *event, struct dnp_map *place_of)
{
	bool counted = dnp_join_counts(join, raw), sited = has_sites(raw);

	event->counted |= counted;
	for (size_t i = 0; i < event->labels.n; i++) /* of recordings before */
		if (dnp_map_set(place_of, event->labels.p[i].name, (uint32_t)i))
			return -ENOMEM;
	for (size_t i = 0; i < raw->labels.all.n; i++) {
		const struct dnp_raw_label *label = &raw->labels.all.p[i];
		struct dnp_row row = {.weight = 1, .thread = label->thread, .node = label->node};

		if (dnp_join_wants(join, &row) &&
			(join_sampled(join, label, counted, event, place_of) ||
				(sited && join_made(join, label, event))))
			return -ENOMEM;
	}
	return counted ? join_counts(join, &raw->counts, event, place_of) : 0;
}

int dnp_join_labels(struct dnp_join *join, const struct dnp_raw_event *raw, struct dnp_event *event)
{
	struct dnp_map place_of = {0};
	int status = 0;

	if (raw->labels.all.n || raw->counts.all.n)
		status = join_labels(join, raw, event, &place_of);

	dnp_map_done(&place_of);
	return status;
}

static int by_weight(const void *left, const void *right)
{
	const struct dnp_label *a = left, *b = right;

	if (a->sum.weight != b->sum.weight)
		return a->sum.weight < b->sum.weight ? 1 : -1;
	return a->name < b->name ? -1 : a->name > b->name;
}

void dnp_labels_sort(struct dnp_event *event)
{
	if (event->labels.n)
		qsort(event->labels.p, event->labels.n, sizeof(*event->labels.p), by_weight);
}
