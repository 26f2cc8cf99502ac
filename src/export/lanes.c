/* SPDX-License-Identifier: MIT */
#include "export/lanes.h"

#include "base/pattern.h"
#include "export/since.h"
#include "read/calls.h"

#define ROOT 0u
#define BINS 1024u

/* What the filter's patterns say of a method, and of a call by those that it is within. */
struct judgement {
	bool included, excluded;
};

/* A call that has not ended. One whose method is left out is counted to its caller. */
struct open_call {
	uint64_t begin_ns;
	uint32_t node;
	bool shown; /* it has a node of its own */
	bool wanted;
	bool around; /* others that the filter wants are within it */
	struct judgement judged;
};

/* What was added up for a node in the bin of time. */
struct tally {
	uint64_t self_ns, calls;
	uint32_t node;
};

struct follower {
	struct dnp_lanes *lanes;
	const struct dnp_profile *profile;
	const struct dnp_process *process;
	const struct dnp_recording *recording;
	struct dnp_map children; /* of the profile's nodes: parent and frame → node */
	struct dnp_map frames;   /* of the recording: method number → frame */
	struct dnp_vec_of(struct open_call) open;
	struct dnp_vec_of(struct tally) tallies;
	struct judgement
		*judged;    /* owned, of each frame of the profile; NULL: there are no patterns */
	uint32_t *tally_of; /* owned, of each node of the profile: in tallies; DNP_NONE: none */
	uint64_t bin_ns, at_ns; /* how wide bins are; the time that was come to */
	uint32_t depth;         /* open calls that are shown */
	uint32_t thread;
};

unsigned dnp_duration_bucket(uint64_t ns)
{
	unsigned power;

	if (ns < 2)
		return (unsigned)ns;
	power = 63u - (unsigned)__builtin_clzll(ns);
	return 2 * power + (unsigned)(ns >> (power - 1) & 1);
}

static uint64_t key_of(uint32_t parent, uint32_t frame)
{
	return (uint64_t)parent << 32 | frame;
}

static uint32_t caller_of(const void *arg, uint32_t node)
{
	const struct dnp_profile *profile = arg;

	return profile->nodes.p[node].parent;
}

static int find_children(struct follower *follower)
{
	const struct dnp_profile *profile = follower->profile;
	int status = 0;

	for (uint32_t i = 1; i < profile->nodes.n && !status; i++)
		status = dnp_map_set(&follower->children,
			key_of(profile->nodes.p[i].parent, profile->nodes.p[i].frame), i);
	return status;
}

static int find_frames(struct follower *follower)
{
	const struct dnp_process *process = follower->process;
	int status = 0;

	dnp_map_done(&follower->frames);
	for (size_t i = 0; i < process->traced.n && !status; i++)
		status = dnp_map_set(
			&follower->frames, process->traced.p[i].number, process->traced.p[i].frame);
	return status;
}

static uint64_t since_start(const struct follower *follower, uint64_t time_ns)
{
	return dnp_since(follower->recording, follower->process, time_ns);
}

/* The part that is in the time which the profile is about. */
static bool clip(const struct dnp_filter *filter, uint64_t *from_ns, uint64_t *to_ns)
{
	if (filter->to_ns && *to_ns > filter->to_ns)
		*to_ns = filter->to_ns;
	if (*from_ns < filter->from_ns)
		*from_ns = filter->from_ns;
	return *from_ns < *to_ns;
}

static struct tally *tally_of(struct follower *follower, uint32_t node)
{
	uint32_t *at = &follower->tally_of[node];

	if (*at == DNP_NONE) {
		if (dnp_vec_push(&follower->tallies, (struct tally){.node = node}))
			return NULL;
		*at = (uint32_t)(follower->tallies.n - 1);
	}
	return &follower->tallies.p[*at];
}

/* Makes rows of what was added up in the bin before `end_ns`. */
static int settle(struct follower *follower, uint64_t end_ns)
{
	struct dnp_lanes *lanes = follower->lanes;
	uint64_t time_us = (end_ns - 1) / 1000;

	for (size_t i = 0; i < follower->tallies.n; i++) {
		struct tally tally = follower->tallies.p[i];
		struct dnp_row row = {.thread = follower->thread, .node = tally.node};

		follower->tally_of[tally.node] = DNP_NONE;
		row.weight = tally.self_ns;
		if (dnp_rows_add(&lanes->time, time_us, row))
			return -ENOMEM;
		row.weight = tally.calls;
		if (dnp_rows_add(&lanes->counts, time_us, row))
			return -ENOMEM;
	}
	follower->tallies.n = 0;
	return 0;
}

static struct open_call *innermost(const struct follower *follower)
{
	return follower->open.n ? &follower->open.p[follower->open.n - 1] : NULL;
}

/* Charges the time until then to the innermost call, if that is wanted. */
static int charge(struct follower *follower, uint64_t until_ns)
{
	const struct open_call *call = innermost(follower);
	uint64_t from_ns = follower->at_ns, to_ns = until_ns;
	struct tally *tally;

	if (!call || call->node == ROOT || !call->wanted ||
		!clip(&follower->profile->filter, &from_ns, &to_ns))
		return 0;
	tally = tally_of(follower, call->node);
	if (!tally)
		return -ENOMEM;
	tally->self_ns += to_ns - from_ns;
	return 0;
}

static int go_on(struct follower *follower, uint64_t until_ns)
{
	/* A damaged file may tell of any time: what is so long is in one bin. */
	if (until_ns > follower->at_ns + 4 * BINS * follower->bin_ns) {
		if (settle(follower, follower->at_ns + 1) || charge(follower, until_ns))
			return -ENOMEM;
		follower->at_ns = until_ns;
	}
	while (until_ns > follower->at_ns) {
		uint64_t end_ns = (follower->at_ns / follower->bin_ns + 1) * follower->bin_ns;
		bool crosses = until_ns >= end_ns;

		if (charge(follower, crosses ? end_ns : until_ns) ||
			(crosses && settle(follower, end_ns)))
			return -ENOMEM;
		follower->at_ns = crosses ? end_ns : until_ns;
	}
	return 0;
}

static int count_call(struct follower *follower, uint32_t node)
{
	struct tally *tally;

	if (!dnp_filter_has_time(&follower->profile->filter, follower->at_ns))
		return 0;
	tally = tally_of(follower, node);
	if (!tally)
		return -ENOMEM;
	tally->calls++;
	return 0;
}

static struct judgement judge(
	const struct follower *follower, const struct open_call *caller, uint32_t frame)
{
	struct judgement judged = {.included = !follower->profile->filter.include_count};

	if (caller)
		judged = caller->judged;
	if (!follower->judged || frame == DNP_NONE)
		return judged;
	judged.included |= follower->judged[frame].included;
	judged.excluded |= follower->judged[frame].excluded;
	return judged;
}

/* Of a method that is not known, the beginning of whose call was lost, say, that of what is lost.
 */
static uint32_t frame_of(const struct follower *follower, uint32_t method)
{
	uint32_t frame = dnp_map_get(&follower->frames, method);

	return frame == DNP_NONE ? follower->process->lost_frame : frame;
}

static int begin(struct follower *follower, const struct dnp_call_event *event)
{
	const struct open_call *caller = innermost(follower);
	uint32_t above = caller ? caller->node : ROOT;
	uint32_t frame = frame_of(follower, event->method), node = DNP_NONE;
	struct open_call call = {.begin_ns = since_start(follower, event->time_ns),
		.judged = judge(follower, caller, frame)};

	call.wanted = call.judged.included && !call.judged.excluded;
	if (frame != DNP_NONE)
		node = dnp_map_get(&follower->children, key_of(above, frame));
	call.shown = node != DNP_NONE;
	call.node = call.shown ? node : above;
	follower->depth += call.shown;
	/* The beginning of one that is not known was lost. */
	if (call.shown && call.wanted && event->method && count_call(follower, node))
		return -ENOMEM;
	return dnp_vec_push(&follower->open, call);
}

static int add_duration(struct follower *follower, uint32_t node, uint64_t end_ns, uint64_t took_ns)
{
	uint32_t frame = follower->profile->nodes.p[node].frame;
	struct dnp_row row = {.weight = 1,
		.thread = follower->thread,
		.node = frame * DNP_DURATION_BUCKETS + dnp_duration_bucket(took_ns)};

	return dnp_rows_add(&follower->lanes->durations, end_ns / 1000, row);
}

/* The innermost call ended; `took`: its duration is known. */
static int end(struct follower *follower, uint64_t end_ns, bool took)
{
	struct open_call call = follower->open.p[--follower->open.n];
	struct dnp_slice slice = {
		.start_ns = call.begin_ns, .end_ns = end_ns, .node = call.node, .calls = 1};
	int status = 0;

	if (follower->open.n)
		innermost(follower)->around |= call.around || (call.shown && call.wanted);
	if (!call.shown)
		return 0;
	slice.depth = --follower->depth;
	if (!call.wanted && !call.around)
		return 0;
	if (clip(&follower->profile->filter, &slice.start_ns, &slice.end_ns) ||
		(call.begin_ns == end_ns &&
			dnp_filter_has_time(&follower->profile->filter, end_ns)))
		status = dnp_slices_add(&follower->lanes->slices, slice);
	if (!status && took && call.wanted &&
		dnp_filter_has_time(&follower->profile->filter, end_ns))
		status = add_duration(follower, call.node, end_ns, end_ns - call.begin_ns);
	return status;
}

/* What came before lost events stays in its bin; nobody is charged with the time until they end. */
static int skip(struct follower *follower, uint64_t until_ns)
{
	int status = settle(follower, follower->at_ns + 1);

	follower->at_ns = until_ns;
	return status;
}

static int on_event(struct follower *follower, const struct dnp_call_event *event)
{
	if (event->kind == DNP_CALL_LOST)
		return skip(follower, since_start(follower, event->time_ns));
	if (go_on(follower, since_start(follower, event->time_ns)))
		return -ENOMEM;
	if (event->kind == DNP_CALL_ENTER)
		return begin(follower, event);
	if (!follower->open.n)
		return 0;
	return end(follower, since_start(follower, event->time_ns),
		event->kind != DNP_CALL_CUT && event->begin_ns);
}

/* Of the thread that is followed, or of the recording. */
static uint64_t end_of(const struct follower *follower)
{
	uint64_t end_ns = follower->profile->threads.p[follower->thread].end_ns;

	return end_ns ? end_ns : dnp_process_end_ns(follower->process);
}

static int follow_thread(struct follower *follower, struct dnp_call_log *log, uint32_t thread)
{
	struct dnp_call_cursor *cursor;
	struct dnp_call_event event;
	int status, more;

	follower->thread = dnp_map_get(&follower->process->thread_of, thread);
	if (follower->thread == DNP_NONE)
		return 0;
	status = dnp_slices_thread(&follower->lanes->slices, follower->thread);
	follower->at_ns = 0;
	if (!status)
		status = dnp_call_cursor_new(log, thread, &cursor);
	if (status)
		return status;
	while (!status && (more = dnp_call_cursor_next(cursor, &event)))
		status = more < 0 ? more : on_event(follower, &event);
	/* What goes on after the last event does so until the end, unless that is missing. */
	if (!status && follower->open.n && follower->process->ended &&
		end_of(follower) > follower->at_ns)
		status = go_on(follower, end_of(follower));
	while (!status && follower->open.n)
		status = end(follower, follower->at_ns, false);
	dnp_call_cursor_free(cursor);
	return status ? status : settle(follower, follower->at_ns + 1);
}

static int follow(struct follower *follower)
{
	struct dnp_call_log *log;
	const struct dnp_call_thread *threads;
	uint64_t damaged = 0; /* the profile tells of that */
	size_t n;
	int status = find_frames(follower);

	if (!status)
		status = dnp_call_log_new(
			follower->recording, follower->process->calls_event, &log, &damaged);
	if (status)
		return status;
	threads = dnp_call_log_threads(log, &n);
	for (size_t i = 0; i < n && !status; i++)
		status = follow_thread(follower, log, threads[i].thread);
	dnp_call_log_free(log);
	return status;
}

static int follow_all(struct follower *follower, const struct dnp_input *input, uint32_t event)
{
	const struct dnp_profile *profile = follower->profile;
	size_t n = input->recordings.n;
	int status = 0;

	for (size_t i = 0; i < n && i < profile->processes.n && !status; i++) {
		follower->recording = &input->recordings.p[i];
		follower->process = &profile->processes.p[i];
		if (follower->process->calls_in == event)
			status = follow(follower);
	}
	return status;
}

/* So wide that there are BINS of them, as rows have them. */
static unsigned bin_shift(const struct dnp_profile *profile)
{
	unsigned shift = 0;

	while (profile->duration_ns / 1000 >> shift > BINS)
		shift++;
	return shift;
}

static int judge_frames(struct follower *follower)
{
	const struct dnp_profile *profile = follower->profile;
	const struct dnp_filter *filter = &profile->filter;

	if (!filter->include_count && !filter->exclude_count)
		return 0;
	follower->judged = reallocarray(NULL, profile->frames.n, sizeof(*follower->judged));
	if (!follower->judged)
		return -ENOMEM;
	for (size_t i = 0; i < profile->frames.n; i++) {
		struct dnp_str name =
			dnp_str(dnp_profile_string(profile, profile->frames.p[i].name));

		follower->judged[i] = (struct judgement){
			dnp_pattern_any(filter->include, filter->include_count, name),
			dnp_pattern_any(filter->exclude, filter->exclude_count, name)};
	}
	return 0;
}

static int init_follower(struct follower *follower, unsigned shift)
{
	size_t n = follower->profile->nodes.n;

	if (judge_frames(follower))
		return -ENOMEM;
	follower->bin_ns = UINT64_C(1000) << shift;
	follower->tally_of = reallocarray(NULL, n + 1, sizeof(*follower->tally_of));
	if (!follower->tally_of)
		return -ENOMEM;
	memset(follower->tally_of, 0xff, n * sizeof(*follower->tally_of));
	return find_children(follower);
}

int dnp_lanes_init(struct dnp_lanes *lanes, const struct dnp_profile *profile, uint32_t event,
	const struct dnp_input *input, size_t slices, size_t rows)
{
	struct follower follower = {.lanes = lanes, .profile = profile};
	struct dnp_rows *each[] = {&lanes->time, &lanes->counts, &lanes->durations};
	unsigned shift = bin_shift(profile);
	int status;

	dnp_slices_init(&lanes->slices, slices, caller_of, profile);
	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		dnp_rows_init(each[i], profile->detail, rows);
		each[i]->shift = shift;
	}
	status = init_follower(&follower, shift);
	if (!status)
		status = follow_all(&follower, input, event);
	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++)
		dnp_rows_finish(each[i]);
	dnp_map_done(&follower.children);
	dnp_map_done(&follower.frames);
	dnp_vec_done(&follower.open);
	dnp_vec_done(&follower.tallies);
	free(follower.judged);
	free(follower.tally_of);
	return status;
}

void dnp_lanes_done(struct dnp_lanes *lanes)
{
	dnp_slices_done(&lanes->slices);
	dnp_rows_done(&lanes->time);
	dnp_rows_done(&lanes->counts);
	dnp_rows_done(&lanes->durations);
}
