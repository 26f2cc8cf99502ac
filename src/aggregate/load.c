/* SPDX-License-Identifier: MIT */
#include "aggregate/load.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clean.h"
#include "format/varint.h"
#include "read/visit.h"

static void saw(struct dnp_load *load, uint64_t time_ns)
{
	if (time_ns > load->newest_ns)
		load->newest_ns = time_ns;
}

static int on_module(void *arg, const struct dnp_rec_module *rec, uint64_t time_ns)
{
	struct dnp_load *load = arg;

	(void)time_ns;
	if (dnp_ids_get(&load->module_ids, rec->index) != DNP_NONE)
		return 0;
	if (dnp_vec_push(&load->modules, *rec))
		return -ENOMEM;
	return dnp_ids_set(&load->module_ids, rec->index, (uint32_t)(load->modules.n - 1));
}

static int on_frame(void *arg, const struct dnp_rec_frame *rec, uint64_t time_ns)
{
	struct dnp_load *load = arg;

	(void)time_ns;
	if (dnp_ids_get(&load->frame_ids, rec->index) != DNP_NONE)
		return 0;
	if (dnp_vec_push(&load->frames, *rec))
		return -ENOMEM;
	load->frames.p[load->frames.n - 1].module = dnp_ids_get(&load->module_ids, rec->module);
	return dnp_ids_set(&load->frame_ids, rec->index, (uint32_t)(load->frames.n - 1));
}

static int on_thread(void *arg, const struct dnp_rec_thread *rec, uint64_t time_ns)
{
	struct dnp_load *load = arg;

	(void)time_ns;
	if (dnp_ids_get(&load->thread_ids, rec->index) != DNP_NONE)
		return 0;
	saw(load, rec->start_ns);
	if (dnp_vec_push(&load->threads, (struct dnp_raw_thread){.rec = *rec}))
		return -ENOMEM;
	return dnp_ids_set(&load->thread_ids, rec->index, (uint32_t)(load->threads.n - 1));
}

static uint32_t thread_at(const struct dnp_load *load, uint64_t index)
{
	uint32_t place = dnp_ids_get(&load->thread_ids, index);

	return place == DNP_NONE ? DNP_LOST : place;
}

static int on_thread_name(void *arg, const struct dnp_rec_thread_name *rec, uint64_t time_ns)
{
	struct dnp_load *load = arg;
	uint32_t place = thread_at(load, rec->thread);

	(void)time_ns;
	if (place != DNP_LOST)
		load->threads.p[place].rec.name = rec->name;
	return 0;
}

static int on_thread_end(void *arg, const struct dnp_rec_thread_end *rec, uint64_t time_ns)
{
	struct dnp_load *load = arg;
	uint32_t place = thread_at(load, rec->thread);

	(void)time_ns;
	saw(load, rec->time_ns);
	if (place != DNP_LOST)
		load->threads.p[place].end_cpu_ns = rec->cpu_ns;
	return 0;
}

static bool is_samples(struct dnp_str unit)
{
	return !unit.n || (unit.n == 7 && !memcmp(unit.p, "samples", 7));
}

static int add_event(struct dnp_load *load, struct dnp_rec_event rec)
{
	struct dnp_raw_event event = {.rec = rec, .weighed = is_samples(rec.unit)};

	dnp_rows_init(&event.rows, load->profile->timed, DNP_ROWS_LIMIT);
	if (dnp_vec_push(&load->events, event))
		return -ENOMEM;
	return dnp_ids_set(&load->event_ids, rec.index, (uint32_t)(load->events.n - 1));
}

static int on_event(void *arg, const struct dnp_rec_event *rec, uint64_t time_ns)
{
	struct dnp_load *load = arg;

	(void)time_ns;
	return dnp_ids_get(&load->event_ids, rec->index) == DNP_NONE ? add_event(load, *rec) : 0;
}

/* NULL: no memory. One whose definition is lost is made up, so that its samples count. */
static struct dnp_raw_event *event_at(struct dnp_load *load, uint64_t index)
{
	uint32_t place = dnp_ids_get(&load->event_ids, index);

	if (place == DNP_NONE) {
		struct dnp_rec_event lost = {
			.index = index, .name = dnp_str("[lost]"), .unit = dnp_str("samples")};

		if (add_event(load, lost))
			return NULL;
		place = (uint32_t)(load->events.n - 1);
	}
	return &load->events.p[place];
}

/* A node on top of *parent, which it then is. */
static int add_node(struct dnp_load *load, uint64_t index, uint32_t *parent, uint64_t frame)
{
	uint32_t place = dnp_ids_get(&load->frame_ids, frame);
	struct dnp_raw_node node = {*parent, place == DNP_NONE ? DNP_LOST : place};

	if (load->nodes.n >= DNP_NONE - 1 || dnp_vec_push(&load->nodes, node))
		return -ENOMEM;
	*parent = (uint32_t)(load->nodes.n - 1);
	if (dnp_ids_get(&load->node_ids, index) != DNP_NONE)
		return 0;
	return dnp_ids_set(&load->node_ids, index, *parent);
}

static int on_stack(void *arg, const struct dnp_rec_stack *rec, uint64_t time_ns)
{
	struct dnp_load *load = arg;
	uint32_t parent = rec->parent ? dnp_ids_get(&load->node_ids, rec->parent) : DNP_ROOT;
	const uint8_t *in = (const uint8_t *)rec->frames.p;
	size_t left = rec->frames.n;
	uint64_t frame;

	(void)time_ns;
	if (parent == DNP_NONE)
		parent = DNP_LOST;
	for (uint64_t index = rec->first; left; index++) {
		const uint8_t *next = dnp_varint_get(in, in + left, &frame);

		if (!next)
			return 0;
		if (add_node(load, index, &parent, frame))
			return -ENOMEM;
		left -= (size_t)(next - in);
		in = next;
	}
	return 0;
}

/* Nanoseconds since the recording's start. */
static uint64_t since_start(const struct dnp_load *load, uint64_t time_ns)
{
	uint64_t start = load->recording->process.start_ns;

	return time_ns > start ? time_ns - start : 0;
}

static bool state_wanted(enum dnp_state state, bool waiting)
{
	return state == DNP_STATE_ANY || (state == DNP_STATE_WAITING) == waiting;
}

static int on_sample(void *arg, const struct dnp_rec_sample *rec, uint64_t time_ns)
{
	struct dnp_load *load = arg;
	const struct dnp_filter *filter = &load->profile->filter;
	uint64_t at_ns = since_start(load, time_ns);
	struct dnp_raw_event *event = event_at(load, rec->event);
	uint32_t node = rec->node ? dnp_ids_get(&load->node_ids, rec->node) : DNP_ROOT;
	bool waiting = rec->flags & DNP_SAMPLE_WAITING;
	struct dnp_row row = {.weight = rec->weight,
		.thread = thread_at(load, rec->thread),
		.node = node == DNP_NONE ? DNP_LOST : node,
		.waiting = waiting};

	if (!event)
		return -ENOMEM;
	saw(load, time_ns);
	if (at_ns < filter->from_ns || (filter->to_ns && at_ns >= filter->to_ns) ||
		!state_wanted(filter->state, waiting))
		return 0;
	event->samples += event->weighed ? rec->weight : 1;
	event->truncated += rec->flags & DNP_SAMPLE_TRUNCATED ? 1 : 0;
	event->incomplete += rec->flags & DNP_SAMPLE_INCOMPLETE ? 1 : 0;
	return dnp_rows_add(&event->rows, at_ns / 1000, row);
}

static int on_loss(void *arg, const struct dnp_rec_loss *rec, uint64_t time_ns)
{
	struct dnp_raw_event *event = event_at(arg, rec->event);

	(void)time_ns;
	if (!event)
		return -ENOMEM;
	event->lost_by[rec->reason < DNP_LOSS_REASONS ? rec->reason : 0] += rec->count;
	return 0;
}

static int on_stats(void *arg, const struct dnp_rec_stats *rec, uint64_t time_ns)
{
	struct dnp_raw_event *event = event_at(arg, rec->event);

	(void)time_ns;
	if (!event)
		return -ENOMEM;
	saw(arg, rec->time_ns);
	event->stats = *rec;
	return 0;
}

static int on_failure(void *arg, const struct dnp_rec_failure *rec, uint64_t time_ns)
{
	struct dnp_raw_event *event = event_at(arg, rec->event);

	(void)time_ns;
	if (!event)
		return -ENOMEM;
	for (size_t i = 0; i < event->failures.n; i++)
		if (dnp_str_eq(event->failures.p[i].reason, rec->reason)) {
			event->failures.p[i] = *rec;
			return 0;
		}
	return event->failures.n < DNP_FAILURE_REASONS ? dnp_vec_push(&event->failures, *rec) : 0;
}

static int on_problem(void *arg, const struct dnp_rec_problem *rec, uint64_t time_ns)
{
	struct dnp_load *load = arg;
	uint32_t number;

	(void)time_ns;
	if (dnp_strings_add(&load->profile->strings, rec->text, &number))
		return -ENOMEM;
	return dnp_vec_push(&load->profile->problems, number);
}

static int on_end(void *arg, const struct dnp_rec_end *rec, uint64_t time_ns)
{
	struct dnp_load *load = arg;

	(void)time_ns;
	load->ended = true;
	saw(load, rec->time_ns);
	return 0;
}

static int on_exit_record(void *arg, const struct dnp_rec_exit *rec, uint64_t time_ns)
{
	struct dnp_load *load = arg;

	(void)time_ns;
	load->exited = true;
	load->exit = *rec;
	return 0;
}

static int on_symbol(void *arg, const struct dnp_rec_symbol *rec, uint64_t time_ns)
{
	struct dnp_load *load = arg;

	(void)time_ns;
	if (dnp_vec_push(&load->symbols, *rec))
		return -ENOMEM;
	load->symbols.p[load->symbols.n - 1].module = dnp_ids_get(&load->module_ids, rec->module);
	return 0;
}

static const struct dnp_visitor visitor = {
	.module = on_module,
	.frame = on_frame,
	.thread = on_thread,
	.thread_name = on_thread_name,
	.thread_end = on_thread_end,
	.event = on_event,
	.stack = on_stack,
	.sample = on_sample,
	.loss = on_loss,
	.stats = on_stats,
	.failure = on_failure,
	.problem = on_problem,
	.end = on_end,
	.exit = on_exit_record,
	.symbol = on_symbol,
};

static int damaged(struct dnp_load *load, uint64_t bytes)
{
	auto_free char *text = NULL;

	if (asprintf(&text, "%" PRIu64 " bytes of records could not be understood and were skipped",
		    bytes) < 0) {
		text = NULL;
		return -ENOMEM;
	}
	return dnp_profile_missing(load->profile, text);
}

static int read_all(struct dnp_load *load)
{
	uint64_t bytes = 0;
	int status = dnp_recording_visit(load->recording, &visitor, load, &bytes);

	if (!status && bytes)
		status = damaged(load, bytes);
	if (!status && !load->ended)
		status = dnp_profile_missing(load->profile,
			"the recording ends early: the program was killed, or is still being "
			"recorded; what was written until then is here");
	return status;
}

static int make_places(struct dnp_load *load)
{
	struct dnp_rec_frame lost = {
		.kind = DNP_FRAME_OTHER, .name = dnp_str("[lost]"), .module = DNP_NONE};

	if (dnp_vec_push(&load->frames, lost) ||
		dnp_vec_push(
			&load->threads, (struct dnp_raw_thread){.rec.name = dnp_str("[lost]")}) ||
		dnp_vec_push(&load->nodes, (struct dnp_raw_node){DNP_ROOT, DNP_LOST}))
		return -ENOMEM;
	return dnp_vec_push(&load->nodes, (struct dnp_raw_node){DNP_ROOT, DNP_LOST});
}

static void load_done(struct dnp_load *load)
{
	for (size_t i = 0; i < load->events.n; i++) {
		dnp_vec_done(&load->events.p[i].failures);
		dnp_rows_done(&load->events.p[i].rows);
	}
	dnp_ids_done(&load->module_ids);
	dnp_ids_done(&load->frame_ids);
	dnp_ids_done(&load->thread_ids);
	dnp_ids_done(&load->node_ids);
	dnp_ids_done(&load->event_ids);
	dnp_vec_done(&load->modules);
	dnp_vec_done(&load->frames);
	dnp_vec_done(&load->threads);
	dnp_vec_done(&load->events);
	dnp_vec_done(&load->nodes);
	dnp_vec_done(&load->symbols);
}

int dnp_profile_load(
	struct dnp_profile *profile, const struct dnp_recording *recording, uint64_t start_ns)
{
	struct dnp_load load = {.profile = profile,
		.recording = recording,
		.start_ns = start_ns,
		.newest_ns = recording->process.start_ns};
	int status = make_places(&load);

	if (!status)
		status = read_all(&load);
	if (!status)
		status = dnp_load_join(&load);
	load_done(&load);
	return status;
}
