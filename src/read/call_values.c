/* SPDX-License-Identifier: MIT */
/*
 * Each thread has a place in its records, which goes forward with the events that are asked for.
 * An event and its values have the same time, to the unit: both are of the eight bytes that a hook
 * stored. These times go round every few hours, and a thread may rest for longer; so it is known
 * besides, to the second, when a record was written.
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

/* Within it times are told apart by their units: less than half of their range on any processor. */
#define NEAR_NS (UINT64_C(3600) * 1000000000)

struct record {
	struct dnp_str values; /* borrowed from the chunk */
	size_t order;          /* in the recording */
	uint64_t written_ns;   /* about; 0: not known */
	uint32_t thread;
};

/* Where a thread is. */
struct place {
	size_t next, end;         /* records still to be opened */
	const uint8_t *p, *p_end; /* what is left of the one that is open */
	uint64_t written_ns;      /* as that has it */
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
	uint64_t now_ns; /* the last time that was told */
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

static int see_events(void *arg, const struct dnp_rec_call_events *rec, uint64_t time_ns)
{
	struct indexing *indexing = arg;

	(void)time_ns;
	if (rec->event == indexing->event)
		indexing->now_ns = rec->time_ns;
	return 0;
}

/* While a recording is made there are some each second, whether anything is called or not. */
static int see_stats(void *arg, const struct dnp_rec_call_stats *rec, uint64_t time_ns)
{
	struct indexing *indexing = arg;

	(void)time_ns;
	if (rec->event == indexing->event)
		indexing->now_ns = rec->time_ns;
	return 0;
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
			.written_ns = indexing->now_ns,
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
		.call_events = see_events,
		.call_stats = see_stats,
		.call_type = add_type,
		.call_values = add_record,
	};
	struct dnp_call_values *made = calloc(1, sizeof(*made));
	struct indexing indexing = {.values = made, .event = event};
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
			const struct record *record;

			if (place->next == place->end)
				return false;
			record = &values->records.p[place->next++];
			place->p = (const uint8_t *)record->values.p;
			place->p_end = place->p + record->values.n;
			place->written_ns = record->written_ns;
			place->time = 0;
		}
		place->has = read_next(place);
	}
	return true;
}

/* Whether the next values are those of an event that came earlier. */
static bool is_before(const struct place *place, const struct dnp_call_event *event)
{
	uint64_t later = (event->units - place->time) & DNP_CALL_TIME_MASK;

	if (place->written_ns && place->written_ns > event->time_ns + NEAR_NS)
		return false;
	if (place->written_ns && place->written_ns + NEAR_NS < event->time_ns)
		return true;
	return later && later <= DNP_CALL_TIME_MASK / 2;
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
	while (look(values, place) && is_before(place, event))
		place->has = false;
	if (!place->has || place->time != event->units ||
		place->what != ((uint64_t)event->method << 2 | event->kind))
		return false;
	place->has = false;
	dnp_values_text((const uint8_t *)place->values.p, place->values.n, type_name, values, text);
	return true;
}
