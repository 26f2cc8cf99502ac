/* SPDX-License-Identifier: MIT */
/*
 * Call events, thread by thread, into the tree of calls: the time between two events of a thread
 * is that of the call which was innermost.
 */
#include "aggregate/load.h"
#include "read/calls.h"

#define SLICE_NS 1000000u /* what is added up before it becomes rows, where time is kept */

struct tally {
	uint64_t self_ns, calls;
	bool touched;
};

struct follow {
	struct dnp_load *load;
	struct dnp_raw_event *event;
	struct dnp_vec_of(uint32_t) open;      /* nodes of the calls that go on */
	struct dnp_vec_of(struct tally) tally; /* of each node, since the last rows */
	struct dnp_vec_of(uint32_t) touched;   /* nodes that have one */
	uint64_t last_ns;                      /* of the event before, since the start */
	uint64_t slice_ns;                     /* since the start: when the next rows are due */
	uint32_t thread;                       /* its place */
};

/* Makes rows of what was added up. */
static int settle(struct follow *follow)
{
	uint64_t time_us = follow->last_ns / 1000;

	for (size_t i = 0; i < follow->touched.n; i++) {
		uint32_t node = follow->touched.p[i];
		struct tally *tally = &follow->tally.p[node];
		struct dnp_row row = {.thread = follow->thread,
			.node = follow->event->calls->nodes.p[node].place,
			.weight = tally->self_ns};

		if (dnp_rows_add(&follow->event->rows, time_us, row))
			return -ENOMEM;
		row.weight = tally->calls;
		if (dnp_rows_add(&follow->event->calls->counts, time_us, row))
			return -ENOMEM;
		*tally = (struct tally){0};
	}
	follow->touched.n = 0;
	return 0;
}

/* NULL: no memory. */
static struct tally *tally_of(struct follow *follow, uint32_t node)
{
	while (follow->tally.n <= node)
		if (dnp_vec_push(&follow->tally, (struct tally){0}))
			return NULL;
	if (!follow->tally.p[node].touched) {
		if (dnp_vec_push(&follow->touched, node))
			return NULL;
		follow->tally.p[node].touched = true;
	}
	return &follow->tally.p[node];
}

/* The time since the event before is the innermost call's, as far as the filter wants it. */
static int charge(struct follow *follow, uint64_t at_ns)
{
	const struct dnp_filter *filter = &follow->load->profile->filter;
	uint64_t from_ns = follow->last_ns;
	struct tally *tally;

	from_ns = from_ns > filter->from_ns ? from_ns : filter->from_ns;
	at_ns = filter->to_ns && at_ns > filter->to_ns ? filter->to_ns : at_ns;
	if (!follow->open.n || at_ns <= from_ns)
		return 0;
	tally = tally_of(follow, follow->open.p[follow->open.n - 1]);
	if (!tally)
		return -ENOMEM;
	tally->self_ns += at_ns - from_ns;
	return 0;
}

static int enter(struct follow *follow, uint64_t method, bool wanted)
{
	uint32_t parent = follow->open.n ? follow->open.p[follow->open.n - 1] : DNP_NONE, node;
	struct tally *tally;

	if (dnp_raw_calls_node(follow->load, follow->event->calls, parent, method, &node) ||
		dnp_vec_push(&follow->open, node))
		return -ENOMEM;
	if (!wanted || !method) /* the beginning of one that is not known was lost */
		return 0;
	tally = tally_of(follow, node);
	if (!tally)
		return -ENOMEM;
	tally->calls++;
	return 0;
}

static void leave(struct follow *follow, const struct dnp_call_event *event, bool wanted)
{
	struct dnp_raw_call_node *node;
	uint64_t ns = event->time_ns - event->begin_ns;

	if (!follow->open.n)
		return;
	node = &follow->event->calls->nodes.p[follow->open.p[--follow->open.n]];
	if (!wanted || !event->begin_ns || event->kind == DNP_CALL_CUT)
		return;
	/* Shorter than the clock can tell: only the longest must not be 0. */
	node->span = dnp_call_span_join(node->span, (struct dnp_call_span){ns, ns ? ns : 1});
}

static int follow_event(struct follow *follow, const struct dnp_call_event *event)
{
	uint64_t at_ns = dnp_load_since_start(follow->load, event->time_ns);
	bool wanted = dnp_filter_has_time(&follow->load->profile->filter, at_ns);
	int status = 0;

	if (follow->load->profile->detail == DNP_BY_TIME && at_ns >= follow->slice_ns) {
		if (settle(follow))
			return -ENOMEM;
		follow->slice_ns = at_ns + SLICE_NS;
	}
	if (event->kind != DNP_CALL_LOST)
		status = charge(follow, at_ns);
	follow->last_ns = at_ns;
	if (status)
		return status;
	if (event->kind == DNP_CALL_ENTER)
		return enter(follow, event->method, wanted);
	if (event->kind != DNP_CALL_LOST)
		leave(follow, event, wanted);
	return 0;
}

/*
 * What goes on after a thread's last event does so until its end or the recording's; if that is
 * missing, later events may be, too.
 */
static int follow_to_end(struct follow *follow)
{
	const struct dnp_load *load = follow->load;
	uint64_t end_ns = load->threads.p[follow->thread].end_ns, at_ns;

	if (!load->ended || !follow->open.n)
		return 0;
	at_ns = dnp_load_since_start(load, end_ns ? end_ns : load->newest_ns);
	if (at_ns <= follow->last_ns)
		return 0;
	if (charge(follow, at_ns))
		return -ENOMEM;
	follow->last_ns = at_ns;
	return 0;
}

static int follow_thread(struct follow *follow, struct dnp_call_log *log,
	const struct dnp_call_thread *thread, uint64_t *damaged)
{
	struct dnp_call_cursor *cursor;
	struct dnp_call_event event;
	int status;

	follow->open.n = 0;
	follow->slice_ns = follow->last_ns = 0;
	follow->thread = dnp_load_thread(follow->load, thread->thread);
	if (follow->thread == DNP_NONE || dnp_call_cursor_new(log, thread->thread, &cursor))
		return -ENOMEM;
	while ((status = dnp_call_cursor_next(cursor, &event)) > 0) {
		status = follow_event(follow, &event);
		if (status)
			break;
	}
	if (!status)
		status = follow_to_end(follow);
	if (!status)
		status = settle(follow);
	if (follow->load->recording->process.start_ns + follow->last_ns > follow->load->newest_ns)
		follow->load->newest_ns =
			follow->load->recording->process.start_ns + follow->last_ns;
	*damaged += dnp_call_cursor_damaged(cursor);
	dnp_call_cursor_free(cursor);
	return status;
}

int dnp_load_follow(struct dnp_load *load, struct dnp_raw_event *event, uint64_t *damaged)
{
	struct follow follow = {.load = load, .event = event};
	const struct dnp_call_thread *threads;
	struct dnp_call_log *log;
	size_t n;
	int status = dnp_call_log_new(load->recording, event->rec.index, &log, damaged);

	if (status)
		return status;
	threads = dnp_call_log_threads(log, &n);
	for (size_t i = 0; i < n && !status; i++)
		status = follow_thread(&follow, log, &threads[i], damaged);
	dnp_vec_done(&follow.open);
	dnp_vec_done(&follow.tally);
	dnp_vec_done(&follow.touched);
	dnp_call_log_free(log);
	return status;
}
