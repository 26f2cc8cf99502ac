/* SPDX-License-Identifier: MIT */
#include "aggregate/thrown.h"

#include "aggregate/join.h"

void dnp_thrown_free(struct dnp_thrown *thrown)
{
	if (!thrown)
		return;
	dnp_vec_done(&thrown->messages);
	dnp_vec_done(&thrown->catchers);
	free(thrown);
}

/* ---- While a recording is read */

int dnp_raw_thrown_sample(struct dnp_raw_event *event, const struct dnp_row *row, uint64_t number)
{
	struct dnp_raw_thrown *thrown = &event->thrown;
	uint32_t place = (uint32_t)thrown->samples.n;

	if (dnp_ids_get(&thrown->numbers, number) != DNP_NONE)
		return 0;
	if (dnp_vec_push(&thrown->samples, (struct dnp_raw_thrown_sample){row->thread, row->node}))
		return -ENOMEM;
	return dnp_ids_set(&thrown->numbers, number, place);
}

static uint64_t frame_place(const struct dnp_load *load, uint64_t frame)
{
	uint32_t place = frame ? dnp_ids_get(&load->frame_ids, frame) : DNP_NONE;

	return place == DNP_NONE ? DNP_LOST : place;
}

int dnp_raw_thrown_end(
	struct dnp_load *load, struct dnp_raw_event *event, const struct dnp_rec_exception *rec)
{
	struct dnp_rec_exception end = *rec;

	end.message = frame_place(load, rec->message);
	end.catcher = frame_place(load, rec->catcher);
	end.end = rec->end < DNP_EXCEPTION_ENDS ? rec->end : DNP_EXCEPTION_NOT_CAUGHT;
	return dnp_vec_push(&event->thrown.ends, end);
}

void dnp_raw_thrown_done(struct dnp_raw_thrown *thrown)
{
	dnp_ids_done(&thrown->numbers);
	dnp_vec_done(&thrown->samples);
	dnp_vec_done(&thrown->ends);
}

/* ---- Into the profile */

/* Where the tallies of an event are: by type, string, and which of the two it is. */
struct places {
	struct dnp_map labels; /* string → place in the event's labels */
	struct dnp_map messages, catchers;
};

static int tally(struct dnp_tallies *tallies, struct dnp_map *places, uint32_t label, uint32_t name)
{
	uint64_t key = (uint64_t)label << 32 | name;
	uint32_t place = dnp_map_get(places, key);

	if (place == DNP_NONE) {
		place = (uint32_t)tallies->n;
		if (dnp_vec_push(tallies, (struct dnp_tally){.name = name}) ||
			dnp_map_set(places, key, place))
			return -ENOMEM;
	}
	tallies->p[place].count++;
	return 0;
}

/* As it was said: no name of code that could be made nicer. */
static int tally_message(struct dnp_join *join, uint64_t frame, struct dnp_thrown *thrown,
	struct places *places, uint32_t label)
{
	uint32_t name;

	if (frame == DNP_LOST)
		return 0;
	if (dnp_strings_add(&join->profile->strings, join->load->frames.p[frame].name, &name))
		return -ENOMEM;
	return tally(&thrown->messages, &places->messages, label, name);
}

static int tally_catcher(struct dnp_join *join, uint64_t frame, struct dnp_thrown *thrown,
	struct places *places, uint32_t label)
{
	if (frame == DNP_LOST)
		return 0;
	if (dnp_join_frame(join, (uint32_t)frame))
		return -ENOMEM;
	return tally(&thrown->catchers, &places->catchers, label,
		join->profile->frames.p[join->frame_to[frame]].name);
}

static void add_time(uint64_t ns, uint64_t *sum, uint64_t *longest)
{
	*sum += ns;
	*longest = ns > *longest ? ns : *longest;
}

static int add_end(struct dnp_join *join, const struct dnp_rec_exception *rec,
	struct dnp_event *event, uint32_t label, struct places *places)
{
	struct dnp_thrown *thrown = event->labels.p[label].thrown;

	if (!thrown)
		thrown = event->labels.p[label].thrown = calloc(1, sizeof(*thrown));
	if (!thrown)
		return -ENOMEM;
	thrown->known++;
	thrown->ended[rec->end]++;
	add_time(rec->search_ns, &thrown->search_ns, &thrown->longest_search_ns);
	add_time(rec->unwind_ns, &thrown->unwind_ns, &thrown->longest_unwind_ns);
	if (tally_message(join, rec->message, thrown, places, label))
		return -ENOMEM;
	return tally_catcher(join, rec->catcher, thrown, places, label);
}

/* The label of its sample; DNP_NONE: that is lost, or not wanted. */
static uint32_t label_of(struct dnp_join *join, const struct dnp_raw_thrown *thrown,
	uint64_t number, const struct places *places)
{
	uint32_t place = dnp_ids_get(&thrown->numbers, number), frame;
	struct dnp_row row = {.weight = 1};

	if (place == DNP_NONE)
		return DNP_NONE;
	row.thread = thrown->samples.p[place].thread;
	row.node = thrown->samples.p[place].node;
	if (!dnp_join_wants(join, &row))
		return DNP_NONE;
	frame = join->frame_to[join->load->nodes.p[row.node].frame];
	if (frame ==
		DNP_NONE) /* no label either: a damaged recording, of samples that weigh nothing */
		return DNP_NONE;
	return dnp_map_get(&places->labels, join->profile->frames.p[frame].name);
}

/* What was there before, of other recordings. */
static int find_places(const struct dnp_event *event, struct places *places)
{
	int failed = 0;

	for (uint32_t i = 0; i < event->labels.n; i++) {
		const struct dnp_label *label = &event->labels.p[i];
		const struct dnp_thrown *thrown = label->thrown;

		failed |= dnp_map_set(&places->labels, label->name, i);
		for (uint32_t k = 0; thrown && k < thrown->messages.n; k++)
			failed |= dnp_map_set(&places->messages,
				(uint64_t)i << 32 | thrown->messages.p[k].name, k);
		for (uint32_t k = 0; thrown && k < thrown->catchers.n; k++)
			failed |= dnp_map_set(&places->catchers,
				(uint64_t)i << 32 | thrown->catchers.p[k].name, k);
	}
	return failed ? -ENOMEM : 0;
}

static int join_ends(struct dnp_join *join, const struct dnp_raw_thrown *thrown,
	struct dnp_event *event, struct places *places)
{
	if (find_places(event, places))
		return -ENOMEM;
	for (size_t i = 0; i < thrown->ends.n; i++) {
		const struct dnp_rec_exception *rec = &thrown->ends.p[i];
		uint32_t label = label_of(join, thrown, rec->number, places);

		if (label != DNP_NONE && add_end(join, rec, event, label, places))
			return -ENOMEM;
	}
	return 0;
}

int dnp_join_thrown(struct dnp_join *join, struct dnp_raw_event *raw, struct dnp_event *event)
{
	struct places places = {0};
	int status = raw->thrown.ends.n ? join_ends(join, &raw->thrown, event, &places) : 0;

	dnp_map_done(&places.labels);
	dnp_map_done(&places.messages);
	dnp_map_done(&places.catchers);
	return status;
}

static int by_count(const void *left, const void *right)
{
	const struct dnp_tally *a = left, *b = right;

	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	return a->name < b->name ? -1 : a->name > b->name;
}

static void sort(struct dnp_tallies *tallies)
{
	if (tallies->n)
		qsort(tallies->p, tallies->n, sizeof(*tallies->p), by_count);
}

void dnp_thrown_sort(struct dnp_event *event)
{
	for (size_t i = 0; i < event->labels.n; i++)
		if (event->labels.p[i].thrown) {
			sort(&event->labels.p[i].thrown->messages);
			sort(&event->labels.p[i].thrown->catchers);
		}
}
