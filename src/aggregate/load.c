/* SPDX-License-Identifier: MIT */
#include "aggregate/load.h"

#include <inttypes.h>
#include <stdio.h>

#include "aggregate/code.h"
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

static int add_thread(struct dnp_load *load, struct dnp_raw_thread thread)
{
	if (dnp_vec_push(&load->threads, thread))
		return -ENOMEM;
	return dnp_ids_set(&load->thread_ids, thread.rec.index, (uint32_t)(load->threads.n - 1));
}

static int on_thread(void *arg, const struct dnp_rec_thread *rec, uint64_t time_ns)
{
	struct dnp_load *load = arg;
	uint32_t place = dnp_ids_get(&load->thread_ids, rec->index);

	(void)time_ns;
	saw(load, rec->start_ns);
	if (place == DNP_NONE)
		return add_thread(load, (struct dnp_raw_thread){.rec = *rec});
	if (load->threads.p[place].promised) {
		load->threads.p[place].rec = *rec;
		load->threads.p[place].promised = false;
	}
	return 0;
}

uint32_t dnp_load_thread(struct dnp_load *load, uint64_t index)
{
	uint32_t place = dnp_ids_get(&load->thread_ids, index);
	struct dnp_raw_thread promised = {
		.rec = {.index = index, .name = dnp_str("[lost]")}, .promised = true};

	if (place != DNP_NONE)
		return place;
	return add_thread(load, promised) ? DNP_NONE : (uint32_t)(load->threads.n - 1);
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
	if (place != DNP_LOST)
		load->threads.p[place].end_ns = rec->time_ns;
	return 0;
}

static bool is_samples(struct dnp_str unit)
{
	return !unit.n || (unit.n == 7 && !memcmp(unit.p, "samples", 7));
}

static bool is_exceptions(struct dnp_str unit)
{
	return dnp_str_eq(unit, dnp_str("exceptions"));
}

static int add_event(struct dnp_load *load, struct dnp_rec_event rec)
{
	struct dnp_raw_event event = {
		.rec = rec,
		.asked_lot = rec.lot,
		.weighed = is_samples(rec.unit),
		.numbered = is_exceptions(rec.unit),
	};

	dnp_rows_init(&event.rows, load->profile->detail, DNP_ROWS_LIMIT);
	dnp_rows_init(&event.sums, load->profile->detail, DNP_ROWS_LIMIT);
	if (dnp_vec_push(&load->events, event))
		return -ENOMEM;
	return dnp_ids_set(&load->event_ids, rec.index, (uint32_t)(load->events.n - 1));
}

static int on_event(void *arg, const struct dnp_rec_event *rec, uint64_t time_ns)
{
	struct dnp_load *load = arg;
	uint32_t place = dnp_ids_get(&load->event_ids, rec->index);

	(void)time_ns;
	if (place == DNP_NONE)
		return load->events.n < DNP_EVENTS_APART ? add_event(load, *rec) : 0;
	if (load->events.p[place].promised) {
		load->events.p[place].rec = *rec;
		load->events.p[place].asked_lot = rec->lot;
		load->events.p[place].weighed = is_samples(rec->unit);
		load->events.p[place].numbered = is_exceptions(rec->unit);
		load->events.p[place].promised = false;
	} else {
		load->events.p[place].rec.source = rec->source;
		load->events.p[place].rec.note = rec->note;
		load->events.p[place].rec.lot = rec->lot;
	}
	return 0;
}

/* NULL: no memory. One whose definition is lost is made up, so that its samples count. */
static struct dnp_raw_event *event_at(struct dnp_load *load, uint64_t index)
{
	uint32_t place = dnp_ids_get(&load->event_ids, index);

	if (place == DNP_NONE && load->events.n >= DNP_EVENTS_APART) {
		index = UINT64_MAX;
		place = dnp_ids_get(&load->event_ids, index);
	}
	if (place == DNP_NONE) {
		struct dnp_rec_event lost = {
			.index = index, .name = dnp_str("[lost]"), .unit = dnp_str("samples")};

		if (add_event(load, lost))
			return NULL;
		place = (uint32_t)(load->events.n - 1);
		load->events.p[place].promised = true;
	}
	return &load->events.p[place];
}

/* The node that was made last. */
static int mark_labelled(struct dnp_load *load)
{
	size_t before = load->labelled.n, n = load->nodes.n;

	if (dnp_vec_reserve(&load->labelled, n))
		return -ENOMEM;
	memset(load->labelled.p + before, 0, (n - before) * sizeof(*load->labelled.p));
	load->labelled.p[n - 1] = true;
	load->labelled.n = n;
	return 0;
}

static const struct dnp_rec_module *module_of(
	const struct dnp_load *load, const struct dnp_rec_frame *frame)
{
	static const struct dnp_rec_module nowhere;

	return frame->module == DNP_NONE ? &nowhere : &load->modules.p[frame->module];
}

/*
 * A label stands on what it is about, not on what told of that, nor on the native frames by which
 * managed code that told was called.
 */
static uint32_t below_telling(const struct dnp_load *load, uint32_t node)
{
	bool called = false;

	for (; node > DNP_ROOT; node = load->nodes.p[node].parent) {
		const struct dnp_rec_frame *frame = &load->frames.p[load->nodes.p[node].frame];
		const struct dnp_rec_module *module = module_of(load, frame);
		bool managed = dnp_code_is_managed(frame, dnp_code_of(frame, module));

		if (dnp_code_tells(frame, module))
			called |= managed;
		else if (managed || !called)
			break;
	}
	return node;
}

/* A node on top of *parent, which it then is. */
static int add_node(struct dnp_load *load, uint64_t index, uint32_t *parent, uint64_t frame)
{
	uint32_t place = dnp_ids_get(&load->frame_ids, frame);
	struct dnp_raw_node node = {*parent, place == DNP_NONE ? DNP_LOST : place};
	bool labelled = load->frames.p[node.frame].kind == DNP_FRAME_LABEL;

	if (labelled)
		node.parent = below_telling(load, node.parent);
	if (load->nodes.n >= DNP_NONE - 1 || dnp_vec_push(&load->nodes, node))
		return -ENOMEM;
	*parent = (uint32_t)(load->nodes.n - 1);
	if (labelled && mark_labelled(load))
		return -ENOMEM;
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

uint64_t dnp_load_since_start(const struct dnp_load *load, uint64_t time_ns)
{
	uint64_t start = load->recording->process.start_ns;

	return time_ns > start ? time_ns - start : 0;
}

bool dnp_load_wants(const struct dnp_load *load, uint64_t thread, uint64_t time_ns)
{
	return dnp_filter_has_time(&load->profile->filter, dnp_load_since_start(load, time_ns)) &&
		dnp_requests_want(&load->requests, thread, time_ns);
}

static bool state_wanted(enum dnp_state state, bool waiting)
{
	return state == DNP_STATE_ANY || (state == DNP_STATE_WAITING) == waiting;
}

static uint32_t node_at(const struct dnp_load *load, uint64_t index)
{
	uint32_t node = index ? dnp_ids_get(&load->node_ids, index) : DNP_ROOT;

	return node == DNP_NONE ? DNP_LOST : node;
}

void dnp_load_places(
	const struct dnp_load *load, uint64_t thread, uint64_t node, struct dnp_row *row)
{
	row->thread = thread_at(load, thread);
	row->node = node_at(load, node);
}

static int on_sample(void *arg, const struct dnp_rec_sample *rec, uint64_t time_ns)
{
	struct dnp_load *load = arg;
	const struct dnp_filter *filter = &load->profile->filter;
	uint64_t at_ns = dnp_load_since_start(load, time_ns);
	struct dnp_raw_event *event = event_at(load, rec->event);
	bool waiting = rec->flags & DNP_SAMPLE_WAITING;
	struct dnp_row row = {.weight = rec->weight,
		.squares = (double)rec->weight * (double)rec->weight,
		.thread = thread_at(load, rec->thread),
		.node = node_at(load, rec->node),
		.waiting = waiting,
		.looks = 1};

	if (!event)
		return -ENOMEM;
	saw(load, time_ns);
	event->summed |= rec->count != 0;
	event->by_lot |= !rec->count && rec->value;
	if (!rec->count && rec->value && rec->value < rec->weight &&
		(!event->least || rec->weight < event->least))
		event->least = rec->weight;
	event->taken += event->weighed ? rec->weight : rec->count ? rec->count : 1;
	event->waited |= waiting;
	if (!dnp_load_wants(load, rec->thread, time_ns) || !state_wanted(filter->state, waiting))
		return 0;
	if (load->requests.chosen && rec->value &&
		dnp_map_set(&load->requests.collections,
			dnp_requests_collection(rec->event, rec->value), 1))
		return -ENOMEM;
	event->samples += event->weighed ? rec->weight : rec->count ? rec->count : 1;
	event->truncated += rec->flags & DNP_SAMPLE_TRUNCATED ? 1 : 0;
	event->incomplete += rec->flags & DNP_SAMPLE_INCOMPLETE ? 1 : 0;
	if (dnp_raw_labels_add(load, event, &row, rec))
		return -ENOMEM;
	if (event->numbered && rec->value && dnp_raw_thrown_sample(event, &row, rec->value))
		return -ENOMEM;
	if (dnp_rows_add(&event->rows, at_ns / 1000, row))
		return -ENOMEM;
	if (event->weighed || rec->count <= 1)
		return 0;
	row.weight = rec->count - 1;
	return dnp_rows_add(&event->sums, at_ns / 1000, row);
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

/* What follows the number that a text begins with; the whole where there is none. */
static struct dnp_str after_number(struct dnp_str text)
{
	while (text.n && *text.p >= '0' && *text.p <= '9') {
		text.p++;
		text.n--;
	}
	return text;
}

#define PROBLEMS_LOOKED_AT 16u /* of the newest: the recorder knows fewer kinds */

/* The place of an earlier one that says the same of fewer, or a new one; NULL: no memory. */
static uint32_t *place_of_problem(struct dnp_load *load, struct dnp_str text)
{
	struct dnp_profile *profile = load->profile;
	size_t n = profile->problems.n, oldest = load->problems_before;

	if (n - oldest > PROBLEMS_LOOKED_AT)
		oldest = n - PROBLEMS_LOOKED_AT;
	for (size_t i = oldest; i < n; i++) {
		const char *told = dnp_profile_string(profile, profile->problems.p[i]);

		if (dnp_str_eq(after_number(dnp_str(told)), after_number(text)))
			return &profile->problems.p[i];
	}
	if (dnp_vec_push(&profile->problems, 0))
		return NULL;
	return &profile->problems.p[n];
}

static int on_problem(void *arg, const struct dnp_rec_problem *rec, uint64_t time_ns)
{
	struct dnp_load *load = arg;
	uint32_t *place = place_of_problem(load, rec->text);

	(void)time_ns;
	if (!place || dnp_strings_add(&load->profile->strings, rec->text, place))
		return -ENOMEM;
	return 0;
}

static int on_end(void *arg, const struct dnp_rec_end *rec, uint64_t time_ns)
{
	struct dnp_load *load = arg;

	(void)time_ns;
	load->ended = true;
	load->is_copy = rec->reason == DNP_END_DUMP;
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

static int on_traced(void *arg, const struct dnp_rec_traced *rec, uint64_t time_ns)
{
	struct dnp_load *load = arg;

	(void)time_ns;
	if (dnp_ids_get(&load->traced_ids, rec->method) != DNP_NONE)
		return 0;
	if (dnp_vec_push(&load->traced, *rec))
		return -ENOMEM;
	return dnp_ids_set(&load->traced_ids, rec->method, (uint32_t)(load->traced.n - 1));
}

/* The event, that counts calls, and the place of the thread. 0 or -ENOMEM. */
static int need_calls(struct dnp_load *load, uint64_t index, uint64_t thread,
	struct dnp_raw_event **event, uint32_t *place)
{
	*event = event_at(load, index);
	*place = dnp_load_thread(load, thread);
	return !*event || *place == DNP_NONE ? -ENOMEM : dnp_raw_calls_need(load, *event);
}

static int on_call_nodes(void *arg, const struct dnp_rec_call_nodes *rec, uint64_t time_ns)
{
	struct dnp_load *load = arg;
	struct dnp_raw_event *event;
	uint32_t thread;

	(void)time_ns;
	if (need_calls(load, rec->event, rec->thread, &event, &thread))
		return -ENOMEM;
	return load->profile->calls_summed ? 0 : dnp_raw_calls_nodes(load, event, thread, rec);
}

static int on_call_counts(void *arg, const struct dnp_rec_call_counts *rec, uint64_t time_ns)
{
	struct dnp_load *load = arg;
	struct dnp_raw_event *event;
	uint32_t thread;

	(void)time_ns;
	if (need_calls(load, rec->event, rec->thread, &event, &thread))
		return -ENOMEM;
	saw(load, rec->time_ns);
	if (load->profile->calls_summed ||
		!dnp_filter_has_time(
			&load->profile->filter, dnp_load_since_start(load, rec->time_ns)))
		return 0;
	return dnp_raw_calls_counts(load, event, thread, rec);
}

/* They are followed, thread by thread, when all records were visited. */
static int on_call_events(void *arg, const struct dnp_rec_call_events *rec, uint64_t time_ns)
{
	struct dnp_raw_event *event;
	uint32_t thread;

	(void)time_ns;
	if (need_calls(arg, rec->event, rec->thread, &event, &thread))
		return -ENOMEM;
	saw(arg, rec->time_ns);
	event->calls->depth = DNP_CALL_EVENTS;
	event->calls->lost += rec->lost;
	return 0;
}

static int on_call_stats(void *arg, const struct dnp_rec_call_stats *rec, uint64_t time_ns)
{
	struct dnp_load *load = arg;
	struct dnp_raw_event *event = event_at(load, rec->event);

	(void)time_ns;
	if (!event || dnp_raw_calls_need(load, event))
		return -ENOMEM;
	saw(load, rec->time_ns);
	event->calls->stats = *rec;
	event->calls->counted = true;
	return 0;
}

static int on_slices(void *arg, const struct dnp_rec_slices *rec, uint64_t time_ns)
{
	struct dnp_load *load = arg;
	uint32_t place = dnp_load_thread(load, rec->thread);
	uint64_t until_ns;

	(void)time_ns;
	if (place == DNP_NONE)
		return -ENOMEM;
	load->switches = true;
	if (!dnp_run_times_slices(&load->threads.p[place].run, rec, &until_ns))
		load->damaged += rec->slices.n;
	saw(load, until_ns);
	return 0;
}

static int on_thread_clock(void *arg, const struct dnp_rec_thread_clock *rec, uint64_t time_ns)
{
	struct dnp_load *load = arg;
	uint32_t place = dnp_load_thread(load, rec->thread);

	(void)time_ns;
	if (place == DNP_NONE)
		return -ENOMEM;
	dnp_run_times_clock(&load->threads.p[place].run, rec);
	saw(load, rec->time_ns);
	return 0;
}

static int on_switch_loss(void *arg, const struct dnp_rec_switch_loss *rec, uint64_t time_ns)
{
	struct dnp_load *load = arg;

	(void)time_ns;
	load->switches = true;
	load->lost_switches += rec->count;
	return 0;
}

static int on_wait(void *arg, const struct dnp_rec_wait *rec, uint64_t time_ns)
{
	struct dnp_load *load = arg;
	uint32_t place = dnp_load_thread(load, rec->thread);

	(void)time_ns;
	if (place == DNP_NONE)
		return -ENOMEM;
	dnp_run_times_wait(&load->threads.p[place].run, rec);
	saw(load, rec->until_ns);
	if (load->profile->detail != DNP_BY_TIME ||
		!dnp_requests_want(&load->requests, rec->thread, rec->since_ns))
		return 0;
	return dnp_vec_push(
		&load->waits, (struct dnp_raw_wait){place, node_at(load, rec->node), *rec});
}

/* One for each pair that there is. */
static struct dnp_raw_wake *wake_of(struct dnp_load *load, const struct dnp_rec_wakeup *rec)
{
	uint32_t thread = dnp_load_thread(load, rec->thread);
	uint32_t by = rec->by ? dnp_load_thread(load, rec->by - 1) : DNP_NONE;
	uint64_t key = (uint64_t)thread << 32 |
		(rec->by ? by | UINT32_C(1) << 31 : (uint32_t)(rec->by_pid & INT32_MAX));
	uint32_t place = dnp_map_get(&load->wake_of, key);

	if (thread == DNP_NONE || (rec->by && by == DNP_NONE))
		return NULL;
	if (place != DNP_NONE)
		return &load->wakes.p[place];
	if (dnp_vec_push(&load->wakes,
		    ((struct dnp_raw_wake){
			    .thread = thread,
			    .by = by,
			    .by_pid = rec->by_pid,
			    .name = rec->by_name,
		    })) ||
		dnp_map_set(&load->wake_of, key, (uint32_t)(load->wakes.n - 1)))
		return NULL;
	return &load->wakes.p[load->wakes.n - 1];
}

static int on_wakeup(void *arg, const struct dnp_rec_wakeup *rec, uint64_t time_ns)
{
	struct dnp_raw_wake *wake = wake_of(arg, rec);

	(void)time_ns;
	if (!wake)
		return -ENOMEM;
	wake->count++;
	if (rec->run_ns >= rec->time_ns)
		dnp_wait_sum_add(&wake->run, rec->run_ns - rec->time_ns);
	return 0;
}

static int on_wait_stats(void *arg, const struct dnp_rec_wait_stats *rec, uint64_t time_ns)
{
	struct dnp_raw_event *event = event_at(arg, rec->event);

	(void)time_ns;
	if (!event)
		return -ENOMEM;
	event->waits = *rec;
	return 0;
}

static int on_mark(void *arg, const struct dnp_rec_mark *rec, uint64_t time_ns)
{
	(void)time_ns;
	saw(arg, rec->time_ns);
	return dnp_load_point(arg, rec);
}

static int on_span(void *arg, const struct dnp_rec_span *rec, uint64_t time_ns)
{
	(void)time_ns;
	saw(arg, rec->time_ns);
	return dnp_load_span(arg, rec);
}

static int on_span_end(void *arg, const struct dnp_rec_span_end *rec, uint64_t time_ns)
{
	(void)time_ns;
	saw(arg, rec->time_ns);
	return dnp_load_span_end(arg, rec);
}

static int on_exception(void *arg, const struct dnp_rec_exception *rec, uint64_t time_ns)
{
	struct dnp_raw_event *event = event_at(arg, rec->event);

	(void)time_ns;
	return event ? dnp_raw_thrown_end(arg, event, rec) : -ENOMEM;
}

static uint32_t frame_at(const struct dnp_load *load, uint64_t index)
{
	uint32_t frame = dnp_ids_get(&load->frame_ids, index);

	return frame == DNP_NONE ? DNP_LOST : frame;
}

static int on_transitions(void *arg, const struct dnp_rec_transitions *rec, uint64_t time_ns)
{
	struct dnp_load *load = arg;
	struct dnp_raw_event *event = event_at(load, rec->event);
	struct dnp_raw_counted counted = {
		.thread = thread_at(load, rec->thread),
		.frame = frame_at(load, rec->frame),
		.number = (uint32_t)rec->number,
		.sum =
			{
				.weight = rec->total_ns,
				.count = (double)rec->calls,
				.seen = (double)rec->total_ns,
				.greatest = rec->longest_ns,
				.unfinished = rec->unfinished,
			},
	};

	(void)time_ns;
	saw(load, rec->time_ns);
	return event ? dnp_raw_counts_set(&event->counts, &counted) : -ENOMEM;
}

static int on_collection(void *arg, const struct dnp_rec_collection *rec, uint64_t time_ns)
{
	(void)time_ns;
	saw(arg, rec->end_ns ? rec->end_ns : rec->begin_ns);
	return dnp_load_collection(arg, rec);
}

static int on_live(void *arg, const struct dnp_rec_live *rec, uint64_t time_ns)
{
	(void)time_ns;
	saw(arg, rec->time_ns);
	return dnp_load_live(arg, rec);
}

static int on_live_stats(void *arg, const struct dnp_rec_live_stats *rec, uint64_t time_ns)
{
	struct dnp_load *load = arg;

	(void)time_ns;
	load->live_stats = *rec;
	return 0;
}

static int on_agent(void *arg, const struct dnp_rec_agent *rec, uint64_t time_ns)
{
	struct dnp_load *load = arg;

	(void)time_ns;
	saw(load, rec->time_ns);
	load->agent = *rec;
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
	.agent = on_agent,
	.failure = on_failure,
	.problem = on_problem,
	.end = on_end,
	.exit = on_exit_record,
	.exception = on_exception,
	.collection = on_collection,
	.live = on_live,
	.live_stats = on_live_stats,
	.transitions = on_transitions,
	.symbol = on_symbol,
	.traced = on_traced,
	.call_nodes = on_call_nodes,
	.call_counts = on_call_counts,
	.call_events = on_call_events,
	.call_stats = on_call_stats,
	.slices = on_slices,
	.thread_clock = on_thread_clock,
	.switch_loss = on_switch_loss,
	.wait = on_wait,
	.wait_stats = on_wait_stats,
	.wakeup = on_wakeup,
	.mark = on_mark,
	.span = on_span,
	.span_end = on_span_end,
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

static int finish_calls(struct dnp_load *load, struct dnp_raw_event *event, uint64_t *bytes)
{
	const struct dnp_profile *profile = load->profile;

	if (event->calls->depth == DNP_CALL_EVENTS && !profile->calls_later &&
		!profile->calls_summed && dnp_load_follow(load, event, bytes))
		return -ENOMEM;
	dnp_raw_calls_resolve(load, event->calls);
	return 0;
}

static bool is_switch(const struct dnp_raw_event *event)
{
	return dnp_str_eq(event->rec.name, dnp_str(DNP_SWITCH_EVENT));
}

/* Slices are of one event, which may have been lost itself. */
static int need_switches(struct dnp_load *load)
{
	struct dnp_rec_event lost = {
		.index = UINT64_MAX, .name = dnp_str(DNP_SWITCH_EVENT), .unit = dnp_str("ns")};

	for (size_t i = 0; i < load->events.n; i++)
		if (is_switch(&load->events.p[i])) {
			load->events.p[i].lost_switches = load->lost_switches;
			load->events.p[i].switches = true;
			return 0;
		}
	if (!load->switches)
		return 0;
	if (add_event(load, lost))
		return -ENOMEM;
	load->events.p[load->events.n - 1].lost_switches = load->lost_switches;
	load->events.p[load->events.n - 1].switches = true;
	return 0;
}

static int tell_early_end(const struct dnp_load *load)
{
	char text[128];

	if (!load->exited)
		return dnp_profile_missing(load->profile,
			"the recording ends early: the program was killed, or is still being "
			"recorded; what was written until then is here");
	if (!load->exit.signal)
		return dnp_profile_missing(load->profile,
			"the recording ends early: the program ended amid it, or there was no "
			"room for more; what was written until then is here");
	snprintf(text, sizeof(text),
		"the recording ends early: signal %" PRIu64
		" ended the program; what was written until then is here",
		load->exit.signal);
	return dnp_profile_missing(load->profile, text);
}

/* What cannot be there of one that ended early, or is a copy of one that goes on. */
static int tell_not_told(struct dnp_load *load)
{
	int status = load->ended ? 0 : tell_early_end(load);

	for (size_t i = 0; i < load->events.n && !status; i++)
		if (!load->events.p[i].taken &&
			dnp_str_eq(load->events.p[i].rec.name, dnp_str("live")))
			status = dnp_profile_missing(load->profile,
				"which objects were still there is told at a recording's end: of "
				"'live' is nothing here");
	return status;
}

static int read_all(struct dnp_load *load)
{
	uint64_t bytes = 0;
	int status = dnp_recording_visit(load->recording, &visitor, load, &bytes);

	for (size_t i = 0; i < load->threads.n; i++)
		dnp_run_times_end(&load->threads.p[i].run, load->newest_ns);
	for (size_t i = 0; i < load->events.n && !status; i++)
		if (load->events.p[i].calls)
			status = finish_calls(load, &load->events.p[i], &bytes);
	bytes += load->damaged;
	if (!status && bytes)
		status = damaged(load, bytes);
	if (!status)
		status = need_switches(load);
	for (size_t i = 0; i < load->events.n && load->requests.chosen; i++)
		load->events.p[i].left_out = load->events.p[i].calls ||
			load->events.p[i].switches || load->events.p[i].summed;
	if (!status && (!load->ended || load->is_copy))
		status = tell_not_told(load);
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
		dnp_raw_labels_done(&load->events.p[i].labels);
		dnp_raw_counts_done(&load->events.p[i].counts);
		dnp_raw_thrown_done(&load->events.p[i].thrown);
		dnp_rows_done(&load->events.p[i].rows);
		dnp_rows_done(&load->events.p[i].sums);
		dnp_raw_calls_free(load->events.p[i].calls);
	}
	dnp_ids_done(&load->module_ids);
	dnp_ids_done(&load->frame_ids);
	dnp_ids_done(&load->thread_ids);
	dnp_ids_done(&load->node_ids);
	dnp_ids_done(&load->event_ids);
	dnp_ids_done(&load->traced_ids);
	dnp_vec_done(&load->wakes);
	dnp_map_done(&load->wake_of);
	dnp_raw_spans_done(&load->spans);
	dnp_requests_done(&load->requests);
	dnp_vec_done(&load->collections);
	dnp_vec_done(&load->live);
	dnp_vec_done(&load->modules);
	dnp_vec_done(&load->frames);
	dnp_vec_done(&load->threads);
	dnp_vec_done(&load->events);
	dnp_vec_done(&load->nodes);
	dnp_vec_done(&load->labelled);
	dnp_vec_done(&load->symbols);
	dnp_vec_done(&load->traced);
	dnp_vec_done(&load->waits);
}

int dnp_profile_load(
	struct dnp_profile *profile, const struct dnp_recording *recording, uint64_t start_ns)
{
	struct dnp_load load = {.profile = profile,
		.recording = recording,
		.start_ns = start_ns,
		.problems_before = profile->problems.n,
		.newest_ns = recording->process.start_ns};
	int status = make_places(&load);

	if (!status)
		status = dnp_requests_init(&load.requests, recording, &profile->filter);
	if (!status)
		status = read_all(&load);
	if (!status)
		status = dnp_load_join(&load);
	load_done(&load);
	return status;
}
