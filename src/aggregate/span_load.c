/* SPDX-License-Identifier: MIT */
#include "aggregate/span_load.h"

#include <errno.h>

#include "aggregate/join.h"
#include "aggregate/load.h"

#define MARK_EVENT "mark"

/* A request is wanted by what it is, the others by when and where they began. */
static bool is_wanted(const struct dnp_load *load, const struct dnp_raw_span *span)
{
	const struct dnp_rec_span *begin = &span->begin;
	const struct dnp_requests *requests = &load->requests;

	if (requests->chosen && !span->point && requests->defined &&
		begin->event == requests->event)
		return dnp_requests_want_span(requests, begin->id);
	return dnp_load_wants(load, begin->thread, begin->time_ns);
}

static int add(struct dnp_load *load, struct dnp_raw_span span)
{
	span.thread = dnp_load_thread(load, span.begin.thread);
	if (span.thread == DNP_NONE || dnp_vec_push(&load->spans.all, span))
		return -ENOMEM;
	return 0;
}

int dnp_load_point(struct dnp_load *load, const struct dnp_rec_mark *rec)
{
	struct dnp_raw_span span = {
		.begin = {.time_ns = rec->time_ns, .thread = rec->thread, .name = rec->text},
		.point = true,
	};

	return is_wanted(load, &span) ? add(load, span) : 0;
}

/* Ids are the program's own: they differ where the upper bits do as well. */
static uint64_t key_of(uint64_t event, uint64_t id)
{
	return id ^ event << 56;
}

int dnp_load_span(struct dnp_load *load, const struct dnp_rec_span *rec)
{
	struct dnp_raw_span span = {.begin = *rec};

	if (!is_wanted(load, &span))
		return 0;
	if (add(load, span))
		return -ENOMEM;
	return dnp_map_set(
		&load->spans.open, key_of(rec->event, rec->id), (uint32_t)(load->spans.all.n - 1));
}

/* One that began before the recording, or before the time that is shown, is not told. */
int dnp_load_span_end(struct dnp_load *load, const struct dnp_rec_span_end *rec)
{
	uint32_t place = dnp_map_get(&load->spans.open, key_of(rec->event, rec->id));
	struct dnp_raw_span *span;

	if (place == DNP_NONE || load->spans.all.p[place].ended)
		return 0;
	span = &load->spans.all.p[place];
	span->end = *rec;
	span->ended = true;
	span->end_thread = dnp_load_thread(load, rec->thread);
	return span->end_thread == DNP_NONE ? -ENOMEM : 0;
}

void dnp_raw_spans_done(struct dnp_raw_spans *spans)
{
	dnp_vec_done(&spans->all);
	dnp_map_done(&spans->open);
}

/* ---- Into the profile */

static uint64_t since_profile(const struct dnp_load *load, uint64_t time_ns)
{
	return dnp_load_since_start(load, time_ns) + load->start_ns;
}

/* The event of the profile, DNP_NONE: there is none, or its definition was lost. */
static uint32_t event_of(const struct dnp_load *load, const struct dnp_raw_span *span)
{
	uint32_t place = dnp_ids_get(&load->event_ids, span->begin.event);
	struct dnp_str name = dnp_str(MARK_EVENT);

	if (!span->point && place == DNP_NONE)
		return DNP_NONE;
	if (!span->point)
		name = load->events.p[place].rec.name;
	for (uint32_t i = 0; i < load->profile->events.n; i++) {
		const struct dnp_event *event = &load->profile->events.p[i];

		if (event->says &&
			dnp_str_eq(name, dnp_str(dnp_profile_string(load->profile, event->name))))
			return i;
	}
	return DNP_NONE;
}

/* A request whose path was not to be recorded is called as its route, once that is known. */
static struct dnp_str name_of(const struct dnp_raw_span *raw)
{
	struct dnp_str name = raw->begin.name;

	return raw->end.group.n && name.n && !dnp_requests_path(name).p ? raw->end.group : name;
}

static int join_span(struct dnp_join *join, const struct dnp_raw_span *raw)
{
	struct dnp_profile *profile = join->profile;
	struct dnp_span span = {
		.event = event_of(join->load, raw),
		.thread = join->thread_to[raw->thread],
		.end_thread = raw->ended ? join->thread_to[raw->end_thread] : DNP_NONE,
		.begin_ns = since_profile(join->load, raw->begin.time_ns),
		.end_ns = raw->ended
			? since_profile(join->load, raw->end.time_ns)
			: dnp_process_end_ns(&profile->processes.p[join->load->process]),
		.ended = raw->ended,
		.point = raw->point,
	};

	if (span.thread == DNP_NONE)
		return 0;
	if (dnp_strings_add(&profile->strings, name_of(raw), &span.name) ||
		dnp_strings_add(&profile->strings, raw->begin.trace, &span.trace) ||
		dnp_strings_add(&profile->strings, raw->end.result, &span.result) ||
		dnp_strings_add(&profile->strings,
			raw->end.group.n ? raw->end.group : raw->begin.name, &span.group) ||
		dnp_vec_push(&profile->spans, span))
		return -ENOMEM;
	if (span.event != DNP_NONE)
		profile->events.p[span.event].samples++;
	return 0;
}

bool dnp_event_says(struct dnp_str name)
{
	return dnp_str_eq(name, dnp_str(MARK_EVENT)) ||
		dnp_str_eq(name, dnp_str(DNP_REQUEST_EVENT));
}

int dnp_join_spans(struct dnp_join *join)
{
	const struct dnp_load *load = join->load;

	for (size_t i = 0; i < load->spans.all.n; i++)
		if (join_span(join, &load->spans.all.p[i]))
			return -ENOMEM;
	return 0;
}
