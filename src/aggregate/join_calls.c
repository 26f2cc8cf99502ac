/* SPDX-License-Identifier: MIT */
#include "aggregate/join.h"

#include <stdio.h>

#include "base/clean.h"

/* Of sums, whose nodes are all placed. */
static int join_thread_counts(
	struct dnp_join *join, const struct dnp_rows *rows, struct dnp_calls *calls)
{
	for (size_t i = 0; i < rows->threads.n; i++) {
		struct dnp_row row = rows->threads.p[i];

		if (!row.weight)
			continue;
		row.thread = join->thread_to[row.thread];
		if (dnp_rows_add(&calls->counts, 0, row))
			return -ENOMEM;
	}
	return 0;
}

/* The time of a node that is not shown goes to its caller; its calls are not the caller's. */
static int join_counts(struct dnp_join *join, const struct dnp_rows *rows, struct dnp_calls *calls)
{
	dnp_rows_widen(&calls->counts, rows);
	for (size_t i = 0; i < rows->capacity; i++) {
		struct dnp_row row = rows->slots[i];
		uint64_t time_us = dnp_rows_time_us(rows, &row) + join->load->start_ns / 1000;

		if (!row.weight || !(join->marks[row.node] & DNP_PLACED))
			continue;
		if (row.thread != DNP_NONE)
			row.thread = join->thread_to[row.thread];
		row.node = join->node_to[row.node];
		calls->calls += row.weight;
		if (dnp_rows_add(&calls->counts, time_us, row))
			return -ENOMEM;
	}
	return join_thread_counts(join, rows, calls);
}

static int join_spans(
	struct dnp_join *join, const struct dnp_raw_calls *raw, struct dnp_calls *calls)
{
	size_t n = join->profile->nodes.n;

	if (dnp_vec_reserve(&calls->spans, n))
		return -ENOMEM;
	memset(calls->spans.p + calls->spans.n, 0, (n - calls->spans.n) * sizeof(*calls->spans.p));
	calls->spans.n = n;
	/* They are of all threads and all the time: nothing is known of those of a part. */
	if (join->profile->filter.thread_count || dnp_filter_cuts(&join->profile->filter))
		return 0;
	for (size_t i = 0; i < raw->nodes.n; i++) {
		const struct dnp_raw_call_node *node = &raw->nodes.p[i];
		struct dnp_call_span *span;

		if (!(join->marks[node->place] & DNP_PLACED))
			continue;
		span = &calls->spans.p[join->node_to[node->place]];
		*span = dnp_call_span_join(*span, node->span);
	}
	return 0;
}

/* Losses are told in several ways, of which none knows all: those that `loss` does not tell. */
static uint64_t lost_calls(const struct dnp_raw_event *raw)
{
	uint64_t lost = raw->calls->lost > raw->calls->stats.lost ? raw->calls->lost
								  : raw->calls->stats.lost;

	for (size_t i = 0; i < DNP_LOSS_REASONS; i++)
		lost -= raw->lost_by[i] < lost ? raw->lost_by[i] : lost;
	return lost;
}

/* What the agents counted. */
static void join_call_stats(const struct dnp_raw_event *raw, struct dnp_calls *calls)
{
	const struct dnp_rec_call_stats *stats = &raw->calls->stats;

	if (raw->calls->depth > calls->depth)
		calls->depth = raw->calls->depth;
	calls->counted |= raw->calls->counted;
	calls->sampled |= raw->calls->sampled;
	calls->summed |= raw->calls->summed;
	calls->enters += stats->enters;
	calls->leaves += stats->leaves;
	calls->tailcalls += stats->tailcalls;
	calls->unwinds += stats->unwinds;
	calls->open += stats->open;
	calls->waits += stats->waits;
	calls->methods += stats->methods;
	calls->left_out += stats->left_out;
}

/* What is known of calls, and by what. */
enum known { NOTHING, SAMPLED_TIMES, CLOCK_TIMES, EACH_CALL };

/* Calls that were counted without a clock have no time where no sample fell into one of them. */
static enum known known_of(enum dnp_call_depth depth, bool sampled, bool summed)
{
	if (depth == DNP_CALL_EVENTS)
		return EACH_CALL;
	if (depth == DNP_CALL_TIME)
		return CLOCK_TIMES;
	return sampled || summed ? SAMPLED_TIMES : NOTHING;
}

/*
 * CPU time by samples is not what a clock shows from a call's begin to its end: their sum would be
 * of nothing, and so would what a call takes on average. Single calls stand elsewhere on a page
 * than sums, of which it is not known when each was.
 */
static bool go_together(enum known one, enum known other)
{
	return one == other || !one || !other;
}

int dnp_join_name_calls(
	struct dnp_join *join, const struct dnp_raw_event *raw, struct dnp_event *made)
{
	static const char *const how[] = {
		[SAMPLED_TIMES] = "by samples",
		[CLOCK_TIMES] = "by a clock",
		[EACH_CALL] = "call by call",
	};
	const struct dnp_profile *profile = join->profile;
	const struct dnp_event *first = dnp_join_find_event(join->profile, made->name);
	enum known known, before;
	auto_free char *name = NULL;

	if (!first || !first->calls || !raw->calls || profile->calls_later || profile->calls_summed)
		return 0;
	before = known_of(first->calls->depth, first->calls->sampled, first->calls->summed);
	known = known_of(raw->calls->depth, raw->calls->sampled, raw->calls->summed);
	if (go_together(before, known))
		return 0;
	if (asprintf(&name, "%s %s", dnp_profile_string(profile, made->name), how[known]) < 0) {
		name = NULL;
		return -ENOMEM;
	}
	return dnp_strings_add(&join->profile->strings, dnp_str(name), &made->name);
}

int dnp_join_calls(struct dnp_join *join, const struct dnp_raw_event *raw, struct dnp_event *event)
{
	struct dnp_process *process = &join->profile->processes.p[join->load->process];

	if (!event->calls) {
		event->calls = malloc(sizeof(*event->calls));
		if (!event->calls)
			return -ENOMEM;
		dnp_calls_init(event->calls, join->profile->detail);
	}
	event->lost += lost_calls(raw);
	event->lost_by[DNP_LOSS_RING] += lost_calls(raw);
	process->calls_event = raw->rec.index;
	process->calls_in = (uint32_t)(event - join->profile->events.p);
	process->calls_summed |= raw->calls->summed;
	join_call_stats(raw, event->calls);
	if (join->profile->calls_summed ||
		(join->profile->calls_later && raw->calls->depth == DNP_CALL_EVENTS))
		event->calls->calls += raw->calls->stats.enters;
	if (join_counts(join, &raw->calls->counts, event->calls))
		return -ENOMEM;
	return join_spans(join, raw->calls, event->calls);
}

static int by_number(const void *left, const void *right)
{
	const struct dnp_traced *a = left, *b = right;

	return a->number < b->number ? -1 : a->number > b->number;
}

/* Every method whose calls were recorded is known, called or not. */
int dnp_join_traced(struct dnp_join *join)
{
	const struct dnp_load *load = join->load;
	struct dnp_process *process = &join->profile->processes.p[load->process];

	for (size_t i = 0; i < load->traced.n; i++) {
		const struct dnp_rec_traced *rec = &load->traced.p[i];
		uint32_t place = dnp_ids_get(&load->frame_ids, rec->frame);
		struct dnp_traced traced = {
			.number = (uint32_t)rec->method, .function_id = rec->function_id};

		place = place == DNP_NONE ? DNP_LOST : place;
		if (dnp_join_frame(join, place))
			return -ENOMEM;
		traced.frame = join->frame_to[place];
		if (dnp_vec_push(&process->traced, traced))
			return -ENOMEM;
	}
	process->lost_frame = join->frame_to[DNP_LOST];
	if (process->traced.n)
		qsort(process->traced.p, process->traced.n, sizeof(*process->traced.p), by_number);
	return 0;
}
