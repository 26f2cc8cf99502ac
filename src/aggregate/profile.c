/* SPDX-License-Identifier: MIT */
#include "aggregate/profile.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/clean.h"
#include "base/pattern.h"

#define DEVIATIONS 1.96 /* within which 95 of 100 are, of a normal distribution */

double dnp_event_equal_looks(const struct dnp_event *event)
{
	double all = (double)event->samples;

	return event->squares > 0 ? all * all / event->squares : 0;
}

double dnp_event_error(const struct dnp_event *event, double share)
{
	double looks = dnp_event_equal_looks(event);

	if (looks <= 0 || share <= 0 || share >= 1)
		return 0;
	return DEVIATIONS * sqrt(share * (1 - share) / looks);
}

bool dnp_names_thread(const char *word, uint64_t tid, struct dnp_str name)
{
	char id[24];

	snprintf(id, sizeof(id), "%" PRIu64, tid);
	return !strcmp(word, id) || dnp_pattern_match(dnp_str(word), name);
}

/* Whether stacks or threads are left out: then it matters which belong together. */
static bool is_choosy(const struct dnp_filter *filter)
{
	return filter->thread_count || filter->include_count || filter->exclude_count ||
		filter->native != DNP_NATIVE_ALL;
}

int dnp_profile_init(
	struct dnp_profile *profile, enum dnp_detail detail, const struct dnp_filter *filter)
{
	struct dnp_frame all = {.code = DNP_CODE_OTHER};
	uint32_t root;

	*profile = (struct dnp_profile){
		.detail = detail, .filter = filter ? *filter : (struct dnp_filter){0}};
	if (detail == DNP_SUMS && is_choosy(&profile->filter))
		profile->detail = DNP_BY_THREAD;
	if (dnp_strings_init(&profile->strings) ||
		dnp_strings_add(&profile->strings, dnp_str("all"), &all.name) ||
		dnp_profile_frame(profile, all, &root) ||
		dnp_vec_push(&profile->first_child, DNP_NONE))
		return -ENOMEM;
	return dnp_vec_push(&profile->nodes, (struct dnp_node){0, root});
}

static void free_event(struct dnp_event *event)
{
	dnp_vec_done(&event->failures);
	for (size_t i = 0; i < event->labels.n; i++)
		dnp_thrown_free(event->labels.p[i].thrown);
	dnp_vec_done(&event->labels);
	dnp_vec_done(&event->made);
	dnp_rows_done(&event->rows);
	if (event->calls)
		dnp_calls_done(event->calls);
	free(event->calls);
}

void dnp_profile_done(struct dnp_profile *profile)
{
	for (size_t i = 0; i < profile->processes.n; i++) {
		dnp_vec_done(&profile->processes.p[i].command);
		dnp_vec_done(&profile->processes.p[i].traced);
		dnp_map_done(&profile->processes.p[i].thread_of);
	}
	for (size_t i = 0; i < profile->events.n; i++)
		free_event(&profile->events.p[i]);
	dnp_strings_done(&profile->strings);
	dnp_vec_done(&profile->wakes);
	dnp_vec_done(&profile->frames);
	dnp_vec_done(&profile->nodes);
	dnp_vec_done(&profile->processes);
	dnp_vec_done(&profile->threads);
	dnp_vec_done(&profile->events);
	dnp_vec_done(&profile->problems);
	dnp_vec_done(&profile->waits);
	dnp_vec_done(&profile->spans);
	dnp_vec_done(&profile->requests.names);
	dnp_vec_done(&profile->requests.left_out);
	dnp_vec_done(&profile->requests.matched);
	dnp_vec_done(&profile->met_threads);
	dnp_vec_done(&profile->collections);
	dnp_vec_done(&profile->objects);
	dnp_vec_done(&profile->watches);
	dnp_map_done(&profile->frame_map);
	dnp_vec_done(&profile->first_child);
	dnp_map_done(&profile->other_children);
}

int dnp_profile_frame(struct dnp_profile *profile, struct dnp_frame frame, uint32_t *index)
{
	/* Strings are far fewer than 2^30: the three numbers fit without collision. */
	uint64_t key = (uint64_t)frame.name << 33 | (uint64_t)frame.module << 3 | frame.code;

	*index = dnp_map_get(&profile->frame_map, key);
	if (*index != DNP_NONE)
		return 0;
	*index = (uint32_t)profile->frames.n;
	if (dnp_vec_push(&profile->frames, frame))
		return -ENOMEM;
	return dnp_map_set(&profile->frame_map, key, *index);
}

int dnp_profile_reserve_nodes(struct dnp_profile *profile, size_t more)
{
	size_t want = profile->nodes.n + more;

	return dnp_vec_reserve(&profile->nodes, want) ||
			dnp_vec_reserve(&profile->first_child, want)
		? -ENOMEM
		: 0;
}

/* Most nodes have one child at most: only others need a table. */
static bool find_node(
	const struct dnp_profile *profile, uint32_t parent, uint32_t frame, uint32_t *node)
{
	*node = profile->first_child.p[parent];
	if (*node != DNP_NONE && profile->nodes.p[*node].frame != frame)
		*node = dnp_map_get(&profile->other_children, (uint64_t)parent << 32 | frame);
	return *node != DNP_NONE;
}

int dnp_profile_node(struct dnp_profile *profile, uint32_t parent, uint32_t frame, uint32_t *node)
{
	if (find_node(profile, parent, frame, node))
		return 0;
	*node = (uint32_t)profile->nodes.n;
	if (dnp_vec_push(&profile->nodes, (struct dnp_node){parent, frame}) ||
		dnp_vec_push(&profile->first_child, DNP_NONE))
		return -ENOMEM;
	if (profile->first_child.p[parent] != DNP_NONE)
		return dnp_map_set(&profile->other_children, (uint64_t)parent << 32 | frame, *node);
	profile->first_child.p[parent] = *node;
	return 0;
}

int dnp_profile_problem(struct dnp_profile *profile, const char *text)
{
	uint32_t number;

	if (dnp_strings_add(&profile->strings, dnp_str(text), &number))
		return -ENOMEM;
	for (size_t i = 0; i < profile->problems.n; i++)
		if (profile->problems.p[i] == number)
			return 0;
	return dnp_vec_push(&profile->problems, number);
}

int dnp_profile_missing(struct dnp_profile *profile, const char *text)
{
	if (!profile->incomplete &&
		dnp_strings_add(&profile->strings, dnp_str(text), &profile->missing))
		return -ENOMEM;
	profile->incomplete = true;
	return dnp_profile_problem(profile, text);
}

static uint64_t earliest_start(const struct dnp_input *input)
{
	uint64_t earliest = UINT64_MAX;

	for (size_t i = 0; i < input->recordings.n; i++) {
		const struct dnp_recording *recording = &input->recordings.p[i];

		if (recording->has_process && recording->process.start_unix_ns < earliest)
			earliest = recording->process.start_unix_ns;
	}
	return earliest == UINT64_MAX ? 0 : earliest;
}

static int add_one(struct dnp_profile *profile, const struct dnp_recording *recording)
{
	uint64_t start_ns = 0;

	if (recording->has_process)
		start_ns = recording->process.start_unix_ns - profile->start_unix_ns;
	for (size_t i = 0; i < recording->problems.n; i++)
		if (dnp_profile_missing(profile, recording->problems.p[i]))
			return -ENOMEM;
	return dnp_profile_load(profile, recording, start_ns);
}

/* What is counted in some recordings alone is told, for the sums do not show it. */
static int tell_uncounted(struct dnp_profile *profile, const struct dnp_event *event)
{
	auto_free char *text = NULL;

	if (!event->counted_in || !event->uncounted_in)
		return 0;
	if (asprintf(&text,
		    "%s: %" PRIu32 " of %" PRIu32
		    " recordings ended before calls were counted: what samples stand for is added "
		    "to what was counted in the others, so that sums are estimates",
		    dnp_profile_string(profile, event->name), event->uncounted_in,
		    event->counted_in + event->uncounted_in) < 0) {
		text = NULL;
		return -ENOMEM;
	}
	return dnp_profile_problem(profile, text);
}

static int add_all(struct dnp_profile *profile, const struct dnp_input *input)
{
	for (size_t i = 0; i < input->recordings.n; i++)
		if (add_one(profile, &input->recordings.p[i]))
			return -ENOMEM;
	for (size_t i = 0; i < profile->events.n; i++)
		if (tell_uncounted(profile, &profile->events.p[i]))
			return -ENOMEM;
	return 0;
}

int dnp_profile_add(struct dnp_profile *profile, const struct dnp_input *input, struct dnp_err *err)
{
	profile->start_unix_ns = earliest_start(input);
	if (add_all(profile, input))
		return dnp_err(err, -ENOMEM,
			"cannot read the recording: out of memory; read fewer files at "
			"once, or part of the time");
	return 0;
}

static int by_begin(const void *a, const void *b)
{
	const struct dnp_span *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

void dnp_profile_finish(struct dnp_profile *profile)
{
	if (profile->spans.n)
		qsort(profile->spans.p, profile->spans.n, sizeof(*profile->spans.p), by_begin);
	for (size_t i = 0; i < profile->events.n; i++) {
		dnp_rows_finish(&profile->events.p[i].rows);
		dnp_labels_sort(&profile->events.p[i]);
		dnp_thrown_sort(&profile->events.p[i]);
		if (profile->events.p[i].calls)
			dnp_rows_finish(&profile->events.p[i].calls->counts);
	}
}

void dnp_profile_keep_stacks(struct dnp_profile *profile)
{
	size_t kept = 0;

	for (size_t i = 0; i < profile->events.n; i++) {
		if (profile->events.p[i].switches || profile->events.p[i].says)
			free_event(&profile->events.p[i]);
		else
			profile->events.p[kept++] = profile->events.p[i];
	}
	profile->events.n = kept;
}

bool dnp_profile_switches(const struct dnp_profile *profile, uint32_t *event)
{
	for (uint32_t i = 0; i < profile->events.n; i++)
		if (profile->events.p[i].switches) {
			*event = i;
			return true;
		}
	return false;
}

uint32_t dnp_profile_event(const struct dnp_profile *profile, const char *name)
{
	for (uint32_t i = 0; i < profile->events.n; i++)
		if (!strcmp(dnp_profile_string(profile, profile->events.p[i].name), name))
			return i;
	return DNP_NONE;
}
