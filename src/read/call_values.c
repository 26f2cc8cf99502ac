/* SPDX-License-Identifier: MIT */
/*
 * Each thread has a place in its records, which goes forward with the events that are asked for.
 * An event and its values have the same time, to the unit: both are of the eight bytes that a hook
 * stored.
 */
#include "read/call_values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64map.h"
#include "base/vec.h"
#include "format/values.h"
#include "format/varint.h"
#include "read/input.h"
#include "read/visit.h"

struct record {
	struct dnp_str values; /* borrowed from the chunk */
	size_t order;          /* in the recording */
	uint32_t thread;
};

/* Where a thread is. */
struct place {
	size_t next, end;         /* records still to be opened */
	const uint8_t *p, *p_end; /* what is left of the one that is open */
	bool has;                 /* the next values are known: */
	uint64_t time;            /* theirs, and of those before: in units */
	uint64_t what;            /* method times 4 plus kind */
	struct dnp_str values;
};

struct dnp_call_values {
	struct dnp_vec_of(struct record) records; /* by thread */
	struct dnp_vec_of(struct place) places;
	struct dnp_u64map threads; /* thread index → place */
	struct dnp_vec_of(struct dnp_str) names;
	struct dnp_u64map types; /* number of a type → name */
};

struct indexing {
	struct dnp_call_values *values;
	uint64_t event;
};

static int add_type(void *arg, const struct dnp_rec_call_type *rec, uint64_t time_ns)
{
	struct indexing *indexing = arg;
	struct dnp_call_values *values = indexing->values;

	(void)time_ns;
	if (rec->event != indexing->event)
		return 0;
	if (dnp_vec_push(&values->names, rec->name))
		return -ENOMEM;
	return dnp_u64map_put(&values->types, rec->type, (uint32_t)values->names.n - 1);
}

static int add_record(void *arg, const struct dnp_rec_call_values *rec, uint64_t time_ns)
{
	struct indexing *indexing = arg;
	struct dnp_call_values *values = indexing->values;

	(void)time_ns;
	if (rec->event != indexing->event || rec->thread >= UINT32_MAX)
		return 0;
	return dnp_vec_push(&values->records,
		(struct record){.values = rec->values,
			.order = values->records.n,
			.thread = (uint32_t)rec->thread});
}

/* By thread; those of one stay in their order. */
static int by_thread(const void *left, const void *right)
{
	const struct record *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static int find_places(struct dnp_call_values *values)
{
	struct record *records = values->records.p;
	size_t n = values->records.n;

	if (n)
		qsort(records, n, sizeof(*records), by_thread);
	for (size_t i = 0; i < n;) {
		size_t end = i;

		while (end < n && records[end].thread == records[i].thread)
			end++;
		if (dnp_vec_push(&values->places, (struct place){.next = i, .end = end}) ||
			dnp_u64map_put(&values->threads, records[i].thread,
				(uint32_t)values->places.n - 1))
			return -ENOMEM;
		i = end;
	}
	return 0;
}

int dnp_call_values_new(
	const struct dnp_recording *recording, uint64_t event, struct dnp_call_values **values)
{
	static const struct dnp_visitor visitor = {
		.call_type = add_type, .call_values = add_record};
	struct dnp_call_values *made = calloc(1, sizeof(*made));
	struct indexing indexing = {made, event};
	uint64_t damaged = 0; /* counted where all of the recording is read */
	int status;

	if (!made)
		return -ENOMEM;
	status = dnp_recording_visit(recording, &visitor, &indexing, &damaged);
	if (!status)
		status = find_places(made);
	if (status)
		dnp_call_values_free(made);
	else
		*values = made;
	return status;
}

void dnp_call_values_free(struct dnp_call_values *values)
{
	if (!values)
		return;
	dnp_vec_done(&values->records);
	dnp_vec_done(&values->places);
	dnp_vec_done(&values->names);
	dnp_u64map_done(&values->threads);
	dnp_u64map_done(&values->types);
	free(values);
}

bool dnp_call_values_any(const struct dnp_call_values *values)
{
	return values->records.n;
}

/* The next values of the record that is open; false: there are none, or it is damaged. */
static bool read_next(struct place *place)
{
	uint64_t delta = 0, n = 0;
	const uint8_t *p = dnp_varint_get(place->p, place->p_end, &delta);

	p = p ? dnp_varint_get(p, place->p_end, &place->what) : NULL;
	p = p ? dnp_varint_get(p, place->p_end, &n) : NULL;
	if (!p || n > (size_t)(place->p_end - p)) {
		place->p = place->p_end;
		return false;
	}
	place->time = (place->time + delta) & DNP_CALL_TIME_MASK;
	place->values = (struct dnp_str){(const char *)p, (size_t)n};
	place->p = p + n;
	return true;
}

/* Sees to it that the next values are known; false: there are no more. */
static bool look(const struct dnp_call_values *values, struct place *place)
{
	while (!place->has) {
		if (place->p == place->p_end) {
			struct dnp_str record;

			if (place->next == place->end)
				return false;
			record = values->records.p[place->next++].values;
			place->p = (const uint8_t *)record.p;
			place->p_end = place->p + record.n;
			place->time = 0;
		}
		place->has = read_next(place);
	}
	return true;
}

/* Whether `a` is earlier, as times go round every few hours. */
static bool is_before(uint64_t a, uint64_t b)
{
	return a != b && ((b - a) & DNP_CALL_TIME_MASK) <= DNP_CALL_TIME_MASK / 2;
}

static struct dnp_str type_name(void *context, uint32_t type)
{
	const struct dnp_call_values *values = context;
	const uint32_t *index = dnp_u64map_get(&values->types, type);

	return index ? values->names.p[*index] : (struct dnp_str){"", 0};
}

bool dnp_call_values_text(
	struct dnp_call_values *values, const struct dnp_call_event *event, struct dnp_text *text)
{
	const uint32_t *index = dnp_u64map_get(&values->threads, event->thread);
	struct place *place;

	if (!index || !event->units)
		return false;
	place = &values->places.p[*index];
	/* Those of events that are missing. */
	while (look(values, place) && is_before(place->time, event->units))
		place->has = false;
	if (!place->has || place->time != event->units ||
		place->what != ((uint64_t)event->method << 2 | event->kind))
		return false;
	place->has = false;
	dnp_values_text((const uint8_t *)place->values.p, place->values.n, type_name, values, text);
	return true;
}
