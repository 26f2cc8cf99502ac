/* SPDX-License-Identifier: MIT */
/* The second half of loading: names, filters, and the way into the profile. */
#include "aggregate/load.h"

#include <inttypes.h>
#include <stdio.h>

#include "aggregate/code.h"
#include "aggregate/pattern.h"
#include "base/clean.h"

/*
 * Bits of a node: the first two are handed on towards the leaf, the others towards the root; ENDED,
 * with samples that stand there or that reach it by native frames alone, not beyond a managed
 * frame.
 */
enum { INCLUDED = 1, EXCLUDED = 2, USED = 4, ENDED = 8 };

struct join {
	struct dnp_load *load;
	struct dnp_profile *profile;
	struct dnp_sink_memory name; /* the name in the making */
	uint32_t *frame_to;   /* owned: place → frame of the profile, DNP_NONE: not named yet */
	uint32_t *node_to;    /* owned: place → node of the profile */
	uint32_t *managed_to; /* owned: the same without native frames */
	uint32_t *thread_to;  /* owned: place → thread of the profile, DNP_NONE: not wanted */
	uint32_t native;      /* node of the profile: [native] */
	uint8_t *marks;       /* owned: of each node */
};

static int by_function(const void *left, const void *right)
{
	const struct dnp_rec_symbol *a = left, *b = right;

	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	return a->function < b->function ? -1 : a->function > b->function;
}

static const struct dnp_str *find_symbol(
	const struct dnp_load *load, const struct dnp_rec_frame *frame)
{
	struct dnp_rec_symbol key = {.module = frame->module, .function = frame->function};
	const struct dnp_rec_symbol *found = NULL;

	if (load->symbols.n && frame->module != DNP_NONE)
		found = bsearch(&key, load->symbols.p, load->symbols.n, sizeof(key), by_function);
	return found && found->name.n ? &found->name : NULL;
}

static int intern(struct join *join, struct dnp_str str, uint32_t *number)
{
	return dnp_strings_add(&join->profile->strings, str, number);
}

/* The frame of the profile for a place. */
static int name_frame(struct join *join, uint32_t place)
{
	static const struct dnp_rec_module nowhere;
	const struct dnp_rec_frame *frame = &join->load->frames.p[place];
	const struct dnp_rec_module *module = &nowhere;
	struct dnp_frame named;

	if (join->frame_to[place] != DNP_NONE)
		return 0;
	if (frame->module != DNP_NONE)
		module = &join->load->modules.p[frame->module];
	join->name.bytes.n = 0;
	dnp_code_name(&join->name.sink, frame, module, find_symbol(join->load, frame));
	named.code = dnp_code_of(frame, module);
	named.managed = dnp_code_is_managed(frame, (enum dnp_code)named.code);
	if (join->name.sink.error ||
		intern(join, (struct dnp_str){join->name.bytes.p, join->name.bytes.n},
			&named.name) ||
		intern(join, dnp_code_module(module), &named.module))
		return -ENOMEM;
	return dnp_profile_frame(join->profile, named, &join->frame_to[place]);
}

/* INCLUDED and EXCLUDED of every node; parents come first. */
static int judge_nodes(struct join *join)
{
	const struct dnp_filter *filter = &join->profile->filter;
	const struct dnp_load *load = join->load;

	if (!filter->include_count)
		memset(join->marks, INCLUDED, load->nodes.n);
	if (!filter->include_count && !filter->exclude_count)
		return 0;
	for (size_t i = DNP_ROOT + 1; i < load->nodes.n; i++) {
		const struct dnp_raw_node *node = &load->nodes.p[i];
		struct dnp_str name;

		if (name_frame(join, node->frame))
			return -ENOMEM;
		name = dnp_str(dnp_profile_string(
			join->profile, join->profile->frames.p[join->frame_to[node->frame]].name));
		join->marks[i] |= join->marks[node->parent];
		if (dnp_pattern_any(filter->include, filter->include_count, name))
			join->marks[i] |= INCLUDED;
		if (dnp_pattern_any(filter->exclude, filter->exclude_count, name))
			join->marks[i] |= EXCLUDED;
	}
	return 0;
}

static bool thread_wanted(const struct dnp_filter *filter, const struct dnp_rec_thread *thread)
{
	char tid[24];

	snprintf(tid, sizeof(tid), "%" PRIu64, thread->tid);
	for (size_t i = 0; i < filter->thread_count; i++)
		if (!strcmp(filter->threads[i], tid))
			return true;
	return !filter->thread_count ||
		dnp_pattern_any(filter->threads, filter->thread_count, thread->name);
}

/* Threads of the profiler's own, and the place of lost ones, appear only where samples stand. */
static bool is_shown(const struct join *join, uint32_t place)
{
	return place != DNP_LOST && !(join->load->threads.p[place].rec.flags & DNP_THREAD_OWN);
}

static int add_thread(struct join *join, uint32_t place)
{
	const struct dnp_raw_thread *raw = &join->load->threads.p[place];
	struct dnp_thread thread = {
		.process = join->load->process, .tid = raw->rec.tid, .flags = raw->rec.flags};

	if (raw->end_cpu_ns > raw->rec.cpu_ns)
		thread.cpu_ns = raw->end_cpu_ns - raw->rec.cpu_ns;
	if (intern(join, raw->rec.name, &thread.name) ||
		dnp_vec_push(&join->profile->threads, thread))
		return -ENOMEM;
	join->thread_to[place] = (uint32_t)(join->profile->threads.n - 1);
	return 0;
}

static bool row_wanted(const struct join *join, const struct dnp_row *row)
{
	const struct dnp_filter *filter = &join->profile->filter;

	return row->weight && (join->marks[row->node] & (INCLUDED | EXCLUDED)) == INCLUDED &&
		thread_wanted(filter, &join->load->threads.p[row->thread].rec);
}

/* Leaves only the rows that the filter wants, and marks the nodes and threads that they need. */
static int choose_rows(struct join *join, struct dnp_raw_event *event)
{
	struct dnp_rows *rows = &event->rows;

	dnp_rows_settle(rows);
	for (size_t i = 0; i < rows->capacity; i++) {
		struct dnp_row *row = &rows->slots[i];

		if (!row_wanted(join, row)) {
			if (row->weight && event->weighed)
				event->samples -= row->weight;
			row->weight = 0;
			continue;
		}
		join->marks[row->node] |= USED | ENDED;
		if (join->thread_to[row->thread] == DNP_NONE && add_thread(join, row->thread))
			return -ENOMEM;
	}
	return 0;
}

static int choose(struct join *join)
{
	struct dnp_load *load = join->load;

	for (uint32_t i = 0; i < load->threads.n; i++)
		if (is_shown(join, i) &&
			thread_wanted(&join->profile->filter, &load->threads.p[i].rec) &&
			add_thread(join, i))
			return -ENOMEM;
	for (size_t i = 0; i < load->events.n; i++)
		if (choose_rows(join, &load->events.p[i]))
			return -ENOMEM;
	for (size_t i = load->nodes.n; i-- > 0;)
		if (join->marks[i] & USED)
			join->marks[load->nodes.p[i].parent] |= USED;
	return 0;
}

static bool is_managed(const struct join *join, uint32_t place)
{
	uint32_t frame = join->frame_to[join->load->nodes.p[place].frame];

	return join->profile->frames.p[frame].managed;
}

/* Hands ENDED on to what lies below, through native frames. */
static void mark_ends(struct join *join)
{
	for (size_t i = join->load->nodes.n; i-- > DNP_ROOT + 1;)
		if (join->marks[i] & ENDED && !is_managed(join, (uint32_t)i))
			join->marks[join->load->nodes.p[i].parent] |= ENDED;
}

/* One used node into the trie of the profile. */
static void place_node(struct join *join, uint32_t place)
{
	const struct dnp_raw_node *node = &join->load->nodes.p[place];
	uint32_t frame = join->frame_to[node->frame];
	uint32_t parent = join->node_to[node->parent], managed = join->managed_to[node->parent];
	enum dnp_native native = join->profile->filter.native;

	if (native != DNP_NATIVE_ALL && is_managed(join, place))
		parent = managed = dnp_profile_node(join->profile, managed, frame);
	else if (native == DNP_NATIVE_ALL ||
		(native == DNP_NATIVE_LEAF && join->marks[place] & ENDED))
		parent = dnp_profile_node(join->profile, parent, frame);
	join->node_to[place] = parent;
	join->managed_to[place] = managed;
}

/* Where stacks of native frames alone stand if those are left out. */
static int place_native(struct join *join)
{
	struct dnp_frame frame = {.code = DNP_CODE_NATIVE};
	uint32_t index;

	if (intern(join, dnp_str(DNP_CODE_NATIVE_RUN), &frame.name) ||
		dnp_profile_frame(join->profile, frame, &index))
		return -ENOMEM;
	join->native = dnp_profile_node(join->profile, 0, index);
	return 0;
}

static int name_used(struct join *join, size_t *used)
{
	for (size_t i = 0; i < join->load->nodes.n; i++) {
		if (!(join->marks[i] & USED) || i == DNP_ROOT)
			continue;
		if (name_frame(join, join->load->nodes.p[i].frame))
			return -ENOMEM;
		++*used;
	}
	return 0;
}

static int join_nodes(struct join *join)
{
	enum dnp_native native = join->profile->filter.native;
	size_t used = 1; /* [native] */

	if (name_used(join, &used) || dnp_profile_reserve_nodes(join->profile, used))
		return -ENOMEM;
	if (native == DNP_NATIVE_LEAF)
		mark_ends(join);
	join->node_to[DNP_ROOT] = join->managed_to[DNP_ROOT] = 0;
	for (size_t i = 0; i < join->load->nodes.n; i++)
		if (join->marks[i] & USED && i != DNP_ROOT)
			place_node(join, (uint32_t)i);
	return native == DNP_NATIVE_NONE ? place_native(join) : 0;
}

/* What several recordings say of one event is all said. */
static int add_note(struct join *join, struct dnp_event *event, uint32_t note)
{
	const char *all = dnp_profile_string(join->profile, event->note);
	const char *more = dnp_profile_string(join->profile, note);
	auto_free char *both = NULL;

	if (strstr(all, more))
		return 0;
	if (asprintf(&both, "%s%s%s", all, *all ? "; " : "", more) < 0) {
		both = NULL;
		return -ENOMEM;
	}
	return intern(join, dnp_str(both), &event->note);
}

static int event_of(struct join *join, const struct dnp_raw_event *raw, struct dnp_event **event)
{
	struct dnp_profile *profile = join->profile;
	struct dnp_event made = {.interval_ns = raw->rec.interval_ns};

	if (intern(join, raw->rec.name, &made.name) || intern(join, raw->rec.unit, &made.unit) ||
		intern(join, raw->rec.source, &made.source) ||
		intern(join, raw->rec.note, &made.note))
		return -ENOMEM;
	for (size_t i = 0; i < profile->events.n; i++)
		if (profile->events.p[i].name == made.name) {
			*event = &profile->events.p[i];
			return add_note(join, *event, made.note);
		}
	dnp_rows_init(&made.rows, profile->timed, DNP_ROWS_LIMIT);
	if (dnp_vec_push(&profile->events, made))
		return -ENOMEM;
	*event = &profile->events.p[profile->events.n - 1];
	return 0;
}

static uint32_t row_node(const struct join *join, const struct dnp_row *row)
{
	bool bare = join->profile->filter.native == DNP_NATIVE_NONE;
	uint32_t node = join->node_to[row->node];

	return bare && !node && row->node != DNP_ROOT ? join->native : node;
}

static int join_rows(struct join *join, const struct dnp_rows *rows, struct dnp_event *event)
{
	for (size_t i = 0; i < rows->capacity; i++) {
		struct dnp_row row = rows->slots[i];
		uint64_t time_us = dnp_rows_time_us(rows, &row) + join->load->start_ns / 1000;

		if (!row.weight)
			continue;
		row.thread = join->thread_to[row.thread];
		row.node = row_node(join, &row);
		event->waiting += row.waiting ? row.weight : 0;
		if (dnp_rows_add(&event->rows, time_us, row))
			return -ENOMEM;
	}
	return 0;
}

static int join_failure(
	struct join *join, const struct dnp_rec_failure *rec, struct dnp_event *event)
{
	struct dnp_failure failure = {.count = rec->count};

	if (intern(join, rec->reason, &failure.reason))
		return -ENOMEM;
	for (size_t i = 0; i < event->failures.n; i++)
		if (event->failures.p[i].reason == failure.reason) {
			event->failures.p[i].count += failure.count;
			return 0;
		}
	return dnp_vec_push(&event->failures, failure);
}

static uint64_t greater(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static int join_event(struct join *join, struct dnp_raw_event *raw)
{
	struct dnp_event *event;

	if (event_of(join, raw, &event))
		return -ENOMEM;
	event->samples += raw->samples;
	/* The counters also know of samples that were lost on the way. */
	event->truncated += greater(raw->stats.truncated, raw->truncated);
	event->failed += greater(raw->stats.failed, raw->incomplete);
	event->unresolved += raw->stats.unresolved;
	event->frames += raw->stats.frames;
	event->agent_bytes += raw->stats.agent_bytes;
	event->walk_p50_ns = greater(event->walk_p50_ns, raw->stats.walk_p50_ns);
	event->walk_p99_ns = greater(event->walk_p99_ns, raw->stats.walk_p99_ns);
	for (size_t i = 0; i < DNP_LOSS_REASONS; i++) {
		event->lost_by[i] += raw->lost_by[i];
		event->lost += raw->lost_by[i];
	}
	for (size_t i = 0; i < raw->failures.n; i++)
		if (join_failure(join, &raw->failures.p[i], event))
			return -ENOMEM;
	if (join_rows(join, &raw->rows, event))
		return -ENOMEM;
	dnp_rows_done(&raw->rows);
	return 0;
}

/* Takes the next argument off a command. */
static struct dnp_str next_argument(struct dnp_str *command)
{
	const char *zero = memchr(command->p, '\0', command->n);
	struct dnp_str argument = {command->p, zero ? (size_t)(zero - command->p) : command->n};
	size_t used = argument.n + (zero ? 1 : 0);

	*command = (struct dnp_str){command->p + used, command->n - used};
	return argument;
}

static int split_command(struct join *join, struct dnp_process *process)
{
	struct dnp_str command = join->load->recording->process.command;
	uint32_t number;

	while (command.n)
		if (intern(join, next_argument(&command), &number) ||
			dnp_vec_push(&process->command, number))
			return -ENOMEM;
	return 0;
}

static bool is_assembly(struct dnp_str name)
{
	return name.n > 4 && !memcmp(name.p + name.n - 4, ".dll", 4);
}

/* What a user would call the program: app.dll of "dotnet app.dll", else the program's file name. */
static struct dnp_str title_of(const struct dnp_rec_process *rec)
{
	struct dnp_str command = rec->command;
	struct dnp_str title = dnp_basename(command.n ? next_argument(&command) : rec->executable);

	while (command.n) {
		struct dnp_str name = dnp_basename(next_argument(&command));

		if (is_assembly(name))
			return name;
	}
	return title.n ? title : dnp_str("[unknown]");
}

static int add_process(struct join *join)
{
	const struct dnp_load *load = join->load;
	const struct dnp_rec_process *rec = &load->recording->process;
	struct dnp_process process = {
		.pid = rec->pid,
		.cpus = rec->cpus,
		.start_ns = load->start_ns,
		.start_unix_ns = rec->start_unix_ns,
		.duration_ns =
			load->newest_ns > rec->start_ns ? load->newest_ns - rec->start_ns : 0,
		.status = load->exit.status,
		.signal = load->exit.signal,
		.exited = load->exited,
		.complete = load->ended && !load->recording->problems.n,
	};

	if (intern(join, rec->runtime, &process.runtime) || intern(join, rec->os, &process.os) ||
		intern(join, rec->tool, &process.tool) || split_command(join, &process) ||
		intern(join, title_of(rec), &process.title) ||
		dnp_vec_push(&join->profile->processes, process)) {
		dnp_vec_done(&process.command);
		return -ENOMEM;
	}
	join->load->process = (uint32_t)(join->profile->processes.n - 1);
	join->profile->duration_ns =
		greater(join->profile->duration_ns, process.start_ns + process.duration_ns);
	return 0;
}

static int join_all(struct join *join)
{
	struct dnp_load *load = join->load;

	if (load->symbols.n)
		qsort(load->symbols.p, load->symbols.n, sizeof(*load->symbols.p), by_function);
	if (add_process(join) || judge_nodes(join) || choose(join) || join_nodes(join))
		return -ENOMEM;
	for (size_t i = 0; i < load->events.n; i++)
		if (join_event(join, &load->events.p[i]))
			return -ENOMEM;
	return 0;
}

static uint32_t *table(size_t n)
{
	uint32_t *p = reallocarray(NULL, n, sizeof(*p));

	if (p)
		memset(p, 0xff, n * sizeof(*p));
	return p;
}

int dnp_load_join(struct dnp_load *load)
{
	auto_free uint32_t *frames = table(load->frames.n);
	auto_free uint32_t *nodes = table(load->nodes.n);
	auto_free uint32_t *managed = table(load->nodes.n);
	auto_free uint32_t *threads = table(load->threads.n);
	auto_free uint8_t *marks = calloc(load->nodes.n, 1);
	struct join join = {.load = load,
		.profile = load->profile,
		.frame_to = frames,
		.node_to = nodes,
		.managed_to = managed,
		.thread_to = threads,
		.marks = marks};
	int status = frames && nodes && managed && threads && marks ? 0 : -ENOMEM;

	dnp_sink_memory_init(&join.name);
	if (!status)
		status = join_all(&join);
	dnp_vec_done(&join.name.bytes);
	return status;
}
