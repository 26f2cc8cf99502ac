/* SPDX-License-Identifier: MIT */
/* The second half of loading: names, filters, and the way into the profile. */
#include "aggregate/join.h"

#include <stdio.h>

#include "aggregate/code.h"
#include "base/clean.h"
#include "base/pattern.h"

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

static int intern(struct dnp_join *join, struct dnp_str str, uint32_t *number)
{
	return dnp_strings_add(&join->profile->strings, str, number);
}

int dnp_join_frame(struct dnp_join *join, uint32_t place)
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

/* DNP_INCLUDED and DNP_EXCLUDED of every node; parents come first. */
static int judge_nodes(struct dnp_join *join)
{
	const struct dnp_filter *filter = &join->profile->filter;
	const struct dnp_load *load = join->load;

	if (!filter->include_count)
		memset(join->marks, DNP_INCLUDED, load->nodes.n);
	if (!filter->include_count && !filter->exclude_count)
		return 0;
	for (size_t i = DNP_ROOT + 1; i < load->nodes.n; i++) {
		const struct dnp_raw_node *node = &load->nodes.p[i];
		struct dnp_str name;

		if (dnp_join_frame(join, node->frame))
			return -ENOMEM;
		name = dnp_str(dnp_profile_string(
			join->profile, join->profile->frames.p[join->frame_to[node->frame]].name));
		join->marks[i] |= join->marks[node->parent];
		if (dnp_pattern_any(filter->include, filter->include_count, name))
			join->marks[i] |= DNP_INCLUDED;
		if (dnp_pattern_any(filter->exclude, filter->exclude_count, name))
			join->marks[i] |= DNP_EXCLUDED;
	}
	return 0;
}

static bool thread_wanted(const struct dnp_filter *filter, const struct dnp_rec_thread *thread)
{
	for (size_t i = 0; i < filter->thread_count; i++)
		if (dnp_names_thread(filter->threads[i], thread->tid, thread->name))
			return true;
	return !filter->thread_count;
}

/* Threads of the profiler's own, and the place of lost ones, appear only where samples stand. */
static bool is_shown(const struct dnp_join *join, uint32_t place)
{
	const struct dnp_raw_thread *thread = &join->load->threads.p[place];

	if (thread->promised && !join->profile->calls_later)
		return false;
	return place != DNP_LOST && !(thread->rec.flags & DNP_THREAD_OWN);
}

/* What a thread said of its clock when it ended comes after all readings; most say nothing. */
static struct dnp_run_times run_of(const struct dnp_raw_thread *raw)
{
	struct dnp_run_times run = raw->run;

	if (!run.last.time_ns || raw->end_ns <= run.last.time_ns)
		return run;
	if (raw->end_cpu_ns && raw->end_cpu_ns >= run.last.cpu_ns) {
		run.last.time_ns = raw->end_ns;
		run.last.cpu_ns = raw->end_cpu_ns;
	} else {
		run.ended_unread = true;
	}
	return run;
}

static int add_thread(struct dnp_join *join, uint32_t place)
{
	const struct dnp_raw_thread *raw = &join->load->threads.p[place];
	struct dnp_thread thread = {
		.process = join->load->process, .tid = raw->rec.tid, .flags = raw->rec.flags};

	if (raw->end_cpu_ns > raw->rec.cpu_ns)
		thread.cpu_ns = raw->end_cpu_ns - raw->rec.cpu_ns;
	if (raw->end_ns)
		thread.end_ns =
			dnp_load_since_start(join->load, raw->end_ns) + join->load->start_ns;
	thread.run = run_of(raw);
	if (intern(join, raw->rec.name, &thread.name) ||
		dnp_vec_push(&join->profile->threads, thread))
		return -ENOMEM;
	join->thread_to[place] = (uint32_t)(join->profile->threads.n - 1);
	return 0;
}

/* For who looks for one that the filter names. */
static int meet_thread(struct dnp_join *join, uint32_t place)
{
	const struct dnp_rec_thread *rec = &join->load->threads.p[place].rec;
	struct dnp_met_thread met = {.tid = rec->tid};

	if (!join->profile->filter.thread_count || place == DNP_LOST ||
		(rec->flags & DNP_THREAD_OWN))
		return 0;
	if (intern(join, rec->name, &met.name) || dnp_vec_push(&join->profile->met_threads, met))
		return -ENOMEM;
	return 0;
}

bool dnp_join_wants(const struct dnp_join *join, const struct dnp_row *row)
{
	const struct dnp_filter *filter = &join->profile->filter;

	if (!row->weight)
		return false;
	if (row->node != DNP_NONE &&
		(join->marks[row->node] & (DNP_INCLUDED | DNP_EXCLUDED)) != DNP_INCLUDED)
		return false;
	return row->thread == DNP_NONE ||
		thread_wanted(filter, &join->load->threads.p[row->thread].rec);
}

/* In the place of a thread's number: rows of it are there. They come in any order, threads do not.
 */
#define NEEDED (DNP_NONE - 1)

/* Marks what a row needs. */
static void need(struct dnp_join *join, const struct dnp_row *row)
{
	if (row->node != DNP_NONE)
		join->marks[row->node] |= DNP_USED | DNP_ENDED;
	if (row->thread != DNP_NONE && join->thread_to[row->thread] == DNP_NONE)
		join->thread_to[row->thread] = NEEDED;
}

/* Leaves only the rows that the filter wants, and marks the nodes and threads that they need. */
static void choose_rows(
	struct dnp_join *join, struct dnp_rows *rows, uint64_t *samples, bool weighed)
{
	dnp_rows_settle(rows);
	for (size_t i = 0; i < rows->capacity; i++) {
		struct dnp_row *row = &rows->slots[i];

		if (!row->weight)
			continue;
		if (!dnp_join_wants(join, row)) {
			*samples -= weighed ? row->weight : row->looks;
			row->weight = 0;
			continue;
		}
		need(join, row);
	}
	for (size_t i = 0; i < rows->threads.n; i++)
		if (rows->threads.p[i].weight)
			need(join, &rows->threads.p[i]);
}

static void choose_of_event(struct dnp_join *join, struct dnp_raw_event *event)
{
	uint64_t not_counted = 0;

	if (event->left_out)
		return;
	if (event->calls)
		choose_rows(join, &event->calls->counts, &not_counted, true);
	choose_rows(join, &event->sums, &event->samples, true);
	choose_rows(join, &event->rows, &event->samples, event->weighed);
}

/* Each stands on the stack of a sample, but for a recording that is damaged. */
static void choose_live(struct dnp_join *join)
{
	const struct dnp_load *load = join->load;

	for (size_t i = 0; i < load->live.n; i++) {
		const struct dnp_rec_live *rec = &load->live.p[i];
		struct dnp_row row = {.weight = rec->weight};

		dnp_load_places(load, rec->thread, rec->node, &row);
		if (rec->collections && dnp_join_wants(join, &row))
			need(join, &row);
	}
}

static int choose(struct dnp_join *join)
{
	struct dnp_load *load = join->load;

	for (uint32_t i = 0; i < load->threads.n; i++)
		if (meet_thread(join, i))
			return -ENOMEM;
	for (uint32_t i = 0; i < load->threads.n; i++)
		if (is_shown(join, i) &&
			thread_wanted(&join->profile->filter, &load->threads.p[i].rec) &&
			add_thread(join, i))
			return -ENOMEM;
	for (size_t i = 0; i < load->events.n; i++)
		choose_of_event(join, &load->events.p[i]);
	choose_live(join);
	for (uint32_t i = 0; i < load->threads.n; i++)
		if (join->thread_to[i] == NEEDED && add_thread(join, i))
			return -ENOMEM;
	for (size_t i = load->nodes.n; i-- > 0;)
		if (join->marks[i] & DNP_USED)
			join->marks[load->nodes.p[i].parent] |= DNP_USED;
	return 0;
}

static bool is_managed(const struct dnp_join *join, uint32_t place)
{
	uint32_t frame = join->frame_to[join->load->nodes.p[place].frame];

	return join->profile->frames.p[frame].managed;
}

/* Hands DNP_ENDED on to what lies below, through native frames. */
static void mark_ends(struct dnp_join *join)
{
	for (size_t i = join->load->nodes.n; i-- > DNP_ROOT + 1;)
		if (join->marks[i] & DNP_ENDED && !is_managed(join, (uint32_t)i))
			join->marks[join->load->nodes.p[i].parent] |= DNP_ENDED;
}

/* One used node into the trie of the profile. */
static int place_node(struct dnp_join *join, uint32_t place)
{
	const struct dnp_raw_node *node = &join->load->nodes.p[place];
	uint32_t frame = join->frame_to[node->frame];

	join->marks[place] |= DNP_PLACED;
	return dnp_profile_node(
		join->profile, join->node_to[node->parent], frame, &join->node_to[place]);
}

/* The same where native frames are left out, all or but those above the topmost managed one. */
static int place_managed(struct dnp_join *join, uint32_t place)
{
	uint32_t parent = join->load->nodes.p[place].parent;
	uint32_t frame = join->frame_to[join->load->nodes.p[place].frame];
	bool leaf =
		join->profile->filter.native == DNP_NATIVE_LEAF && join->marks[place] & DNP_ENDED;

	join->managed_to[place] = join->managed_to[parent];
	if (!is_managed(join, place) && leaf)
		return place_node(join, place);
	join->node_to[place] = join->node_to[parent];
	if (!is_managed(join, place))
		return 0;
	join->marks[place] |= DNP_PLACED;
	if (dnp_profile_node(
		    join->profile, join->managed_to[parent], frame, &join->managed_to[place]))
		return -ENOMEM;
	join->node_to[place] = join->managed_to[place];
	return 0;
}

/* Where stacks of native frames alone stand if those are left out. */
static int place_native(struct dnp_join *join)
{
	struct dnp_frame frame = {.code = DNP_CODE_NATIVE};
	uint32_t index;

	if (intern(join, dnp_str(DNP_CODE_NATIVE_RUN), &frame.name) ||
		dnp_profile_frame(join->profile, frame, &index))
		return -ENOMEM;
	return dnp_profile_node(join->profile, 0, index, &join->native);
}

static int name_used(struct dnp_join *join, size_t *used)
{
	for (size_t i = 0; i < join->load->nodes.n; i++) {
		if (!(join->marks[i] & DNP_USED) || i == DNP_ROOT)
			continue;
		if (dnp_join_frame(join, join->load->nodes.p[i].frame))
			return -ENOMEM;
		++*used;
	}
	return 0;
}

static int join_nodes(struct dnp_join *join)
{
	enum dnp_native native = join->profile->filter.native;
	size_t used = 1; /* [native] */

	if (name_used(join, &used) || dnp_profile_reserve_nodes(join->profile, used))
		return -ENOMEM;
	if (native == DNP_NATIVE_LEAF)
		mark_ends(join);
	if (native != DNP_NATIVE_ALL) {
		join->managed_to = reallocarray(NULL, join->load->nodes.n, sizeof(uint32_t));
		if (!join->managed_to)
			return -ENOMEM;
		join->managed_to[DNP_ROOT] = 0;
	}
	join->node_to[DNP_ROOT] = 0;
	for (uint32_t i = 0; i < join->load->nodes.n; i++)
		if (join->marks[i] & DNP_USED && i != DNP_ROOT &&
			(native == DNP_NATIVE_ALL ? place_node(join, i) : place_managed(join, i)))
			return -ENOMEM;
	return native == DNP_NATIVE_NONE ? place_native(join) : 0;
}

#define TEXT_MAX 1000u /* bytes of what several recordings say of one event */

/* It is all said, as long as it can be read. */
static int add_text(struct dnp_join *join, uint32_t *text, uint32_t added)
{
	const char *all = dnp_profile_string(join->profile, *text);
	const char *more = dnp_profile_string(join->profile, added);
	auto_free char *both = NULL;

	if (*all && strlen(all) + strlen(more) > TEXT_MAX)
		more = "…";
	if (strstr(all, more))
		return 0;
	if (asprintf(&both, "%s%s%s", all, *all ? "; " : "", more) < 0) {
		both = NULL;
		return -ENOMEM;
	}
	return intern(join, dnp_str(both), text);
}

struct dnp_event *dnp_join_find_event(struct dnp_profile *profile, uint32_t name)
{
	for (size_t i = 0; i < profile->events.n; i++)
		if (profile->events.p[i].name == name)
			return &profile->events.p[i];
	return NULL;
}

/* Samples of another rate stand for another time each: they are an event of their own. */
static int name_by_rate(
	struct dnp_join *join, const struct dnp_raw_event *raw, struct dnp_event *made)
{
	const struct dnp_event *first = dnp_join_find_event(join->profile, made->name);
	auto_free char *name = NULL;

	if (!first || !raw->weighed || !first->interval_ns || !made->interval_ns ||
		first->interval_ns == made->interval_ns)
		return 0;
	if (asprintf(&name, "%s at %.5g Hz", dnp_profile_string(join->profile, made->name),
		    1e9 / (double)made->interval_ns) < 0) {
		name = NULL;
		return -ENOMEM;
	}
	return intern(join, dnp_str(name), &made->name);
}

/* A recording that has no samples says it by the lot alone. */
static bool is_by_lot(const struct dnp_raw_event *raw)
{
	return raw->by_lot || raw->rec.lot;
}

/* Of every object a sum is exact, of some of them an estimate: of both it would be neither. */
static int name_by_lot(
	struct dnp_join *join, const struct dnp_raw_event *raw, struct dnp_event *made)
{
	const struct dnp_event *first = dnp_join_find_event(join->profile, made->name);
	auto_free char *name = NULL;
	const char *how;

	if (!first || !made->in_bytes)
		return 0;
	if (first->by_lot && raw->summed)
		how = "of every object";
	else if (first->summed && is_by_lot(raw))
		how = "by samples";
	else
		return 0;
	if (asprintf(&name, "%s %s", dnp_profile_string(join->profile, made->name), how) < 0) {
		name = NULL;
		return -ENOMEM;
	}
	return intern(join, dnp_str(name), &made->name);
}

static int event_of(
	struct dnp_join *join, const struct dnp_raw_event *raw, struct dnp_event **event)
{
	struct dnp_profile *profile = join->profile;
	struct dnp_event made = {
		.interval_ns = raw->rec.interval_ns,
		.in_ns = dnp_str_eq(raw->rec.unit, dnp_str("ns")),
		.in_bytes = dnp_str_eq(raw->rec.unit, dnp_str("bytes")),
		.says = dnp_event_says(raw->rec.name),
	};

	if (intern(join, raw->rec.name, &made.name) || intern(join, raw->rec.unit, &made.unit) ||
		intern(join, raw->rec.source, &made.source) ||
		intern(join, raw->rec.note, &made.note) || name_by_rate(join, raw, &made) ||
		name_by_lot(join, raw, &made) || dnp_join_name_calls(join, raw, &made))
		return -ENOMEM;
	*event = dnp_join_find_event(profile, made.name);
	if (*event)
		return add_text(join, &(*event)->source, made.source) ||
				add_text(join, &(*event)->note, made.note)
			? -ENOMEM
			: 0;
	dnp_rows_init(&made.rows, profile->detail, DNP_ROWS_LIMIT);
	if (dnp_vec_push(&profile->events, made))
		return -ENOMEM;
	*event = &profile->events.p[profile->events.n - 1];
	return 0;
}

uint32_t dnp_join_node(const struct dnp_join *join, uint32_t place)
{
	bool bare = join->profile->filter.native == DNP_NATIVE_NONE;
	uint32_t node = join->node_to[place];

	return bare && !node && place != DNP_ROOT ? join->native : node;
}

static int join_row(
	struct dnp_join *join, uint64_t time_us, struct dnp_row row, struct dnp_event *event)
{
	if (row.thread != DNP_NONE)
		row.thread = join->thread_to[row.thread];
	if (row.node != DNP_NONE)
		row.node = dnp_join_node(join, row.node);
	event->waiting += row.waiting ? row.weight : 0;
	return dnp_rows_add(&event->rows, time_us + join->load->start_ns / 1000, row);
}

static int join_rows(struct dnp_join *join, const struct dnp_rows *rows, struct dnp_event *event)
{
	dnp_rows_widen(&event->rows, rows);
	for (size_t i = 0; i < rows->capacity; i++) {
		const struct dnp_row *row = &rows->slots[i];

		if (!row->weight)
			continue;
		event->looks += row->looks;
		event->squares += row->squares;
		if (join_row(join, dnp_rows_time_us(rows, row), *row, event))
			return -ENOMEM;
	}
	for (size_t i = 0; i < rows->threads.n; i++)
		if (rows->threads.p[i].weight && join_row(join, 0, rows->threads.p[i], event))
			return -ENOMEM;
	return 0;
}

static uint64_t greater(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static int join_failure(
	struct dnp_join *join, const struct dnp_rec_failure *rec, struct dnp_event *event)
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

static void join_switches(const struct dnp_join *join, struct dnp_event *event)
{
	event->switches = true;
	for (size_t i = 0; i < join->profile->threads.n; i++) {
		const struct dnp_thread *thread = &join->profile->threads.p[i];

		if (thread->process != join->load->process || thread->flags & DNP_THREAD_OTHERS)
			continue;
		event->voluntary += thread->run.voluntary;
		event->involuntary += thread->run.involuntary;
	}
}

/* What the kernel counted while CPU time was sampled. */
static void join_clock(
	const struct dnp_join *join, const struct dnp_raw_event *raw, struct dnp_event *event)
{
	const struct dnp_load *load = join->load;
	const struct dnp_filter *filter = &join->profile->filter;

	if (!dnp_str_eq(raw->rec.name, dnp_str("cpu")) || !raw->rec.interval_ns)
		return;
	/* Samples that a killed process left may be of later than what it said last. */
	if (!load->ended || load->agent.process_ns <= load->agent.cpu_ns ||
		dnp_filter_cuts(filter) || filter->thread_count)
		event->clock_unknown = true;
	event->clock_ns = event->clock_unknown
		? 0
		: event->clock_ns + load->agent.process_ns - load->agent.cpu_ns;
}

/* Whether its recording has counted all of it, or has samples alone. */
static void join_counted(
	const struct dnp_join *join, const struct dnp_raw_event *raw, struct dnp_event *event)
{
	if (dnp_join_counts(join, raw))
		event->counted_in++;
	else if (raw->samples)
		event->uncounted_in++;
}

/* Recordings of earlier versions do not say it: of many samples the least weight is that. */
static uint64_t lot_of(const struct dnp_join *join, const struct dnp_raw_event *raw)
{
	if (!dnp_str_eq(raw->rec.unit, dnp_str("bytes")))
		return 0;
	if (dnp_str_eq(raw->rec.name, dnp_str("live")) && join->load->live_stats.mean_bytes)
		return join->load->live_stats.mean_bytes;
	return raw->rec.lot ? raw->rec.lot : raw->least;
}

static int join_event(struct dnp_join *join, struct dnp_raw_event *raw)
{
	struct dnp_event *event;

	if (event_of(join, raw, &event))
		return -ENOMEM;
	join_counted(join, raw, event);
	event->summed |= event->in_bytes && raw->summed;
	event->by_lot |= event->in_bytes && is_by_lot(raw);
	event->lot = greater(event->lot, lot_of(join, raw));
	if (raw->asked_lot < raw->rec.lot &&
		(!event->asked_lot || raw->asked_lot < event->asked_lot))
		event->asked_lot = raw->asked_lot;
	event->samples += raw->samples;
	event->taken += raw->taken;
	event->waited |= raw->waited;
	join_clock(join, raw, event);
	/* The counters also know of samples that were lost on the way. */
	event->truncated += greater(raw->stats.truncated, raw->truncated);
	event->failed += greater(raw->stats.failed, raw->incomplete);
	event->unresolved += raw->stats.unresolved;
	event->frames += raw->stats.frames;
	event->agent_bytes += raw->stats.agent_bytes;
	event->walk_ns += raw->stats.walk_ns;
	event->walk_p50_ns = greater(event->walk_p50_ns, raw->stats.walk_p50_ns);
	event->walk_p99_ns = greater(event->walk_p99_ns, raw->stats.walk_p99_ns);
	for (size_t i = 0; i < DNP_LOSS_REASONS; i++) {
		event->lost_by[i] += raw->lost_by[i];
		event->lost += raw->lost_by[i];
	}
	for (size_t i = 0; i < raw->failures.n; i++)
		if (join_failure(join, &raw->failures.p[i], event))
			return -ENOMEM;
	event->lost += raw->lost_switches;
	event->wait_ns = greater(event->wait_ns, raw->waits.least_ns);
	event->waits += raw->waits.waits;
	event->waits_seen += raw->waits.seen;
	event->waits_cpu_ns += raw->waits.cpu_ns;
	event->waited_ns += raw->waits.waited_ns;
	event->waits_endless += raw->waits.endless;
	if (raw->switches)
		join_switches(join, event);
	if (dnp_join_labels(join, raw, event) || dnp_join_thrown(join, raw, event))
		return -ENOMEM;
	if (raw->calls && dnp_join_calls(join, raw, event))
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

static int split_command(struct dnp_join *join, struct dnp_process *process)
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

static int add_process(struct dnp_join *join)
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
		.cpu_ns = load->agent.process_ns,
		.agent_cpu_ns = load->agent.cpu_ns,
		.status = load->exit.status,
		.signal = load->exit.signal,
		.exited = load->exited,
		.calls_event = UINT64_MAX,
		.calls_in = DNP_NONE,
		.ended = load->ended,
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
		greater(join->profile->duration_ns, dnp_process_end_ns(&process));
	return 0;
}

/* For those who go through a recording themselves. */
static int join_threads(struct dnp_join *join)
{
	struct dnp_process *process = &join->profile->processes.p[join->load->process];

	for (size_t i = 0; i < join->load->threads.n; i++)
		if (i != DNP_LOST && join->thread_to[i] != DNP_NONE &&
			dnp_map_set(&process->thread_of, join->load->threads.p[i].rec.index,
				join->thread_to[i]))
			return -ENOMEM;
	return 0;
}

static uint64_t since_profile(const struct dnp_join *join, uint64_t time_ns)
{
	return dnp_load_since_start(join->load, time_ns) + join->load->start_ns;
}

static int join_wait(struct dnp_join *join, const struct dnp_raw_wait *raw)
{
	bool placed = raw->node != DNP_ROOT && join->marks[raw->node] & DNP_USED;
	struct dnp_wait wait = {
		.thread = join->thread_to[raw->thread],
		.node = placed ? join->node_to[raw->node] : 0,
		.kind = raw->rec.kind < DNP_WAIT_KINDS ? (uint32_t)raw->rec.kind : DNP_WAIT_OTHER,
		.since_ns = since_profile(join, raw->rec.since_ns),
		.until_ns = raw->rec.until_ns ? since_profile(join, raw->rec.until_ns) : 0,
	};

	if (wait.thread == DNP_NONE)
		return 0;
	if (intern(join, raw->rec.call, &wait.call))
		return -ENOMEM;
	return dnp_vec_push(&join->profile->waits, wait);
}

/* Of the threads that are shown; who woke them need not be one of these. */
static int join_wakes(struct dnp_join *join)
{
	static const struct dnp_rec_thread nobody;

	for (size_t i = 0; i < join->load->wakes.n; i++) {
		const struct dnp_raw_wake *raw = &join->load->wakes.p[i];
		bool own = raw->by != DNP_NONE;
		const struct dnp_rec_thread *by =
			own ? &join->load->threads.p[raw->by].rec : &nobody;
		struct dnp_wake wake = {
			.thread = join->thread_to[raw->thread],
			.own = own,
			.by_tid = by->tid,
			.by_pid = raw->by_pid,
			.count = raw->count,
			.run = raw->run,
		};

		if (wake.thread == DNP_NONE)
			continue;
		if (intern(join, own ? by->name : raw->name, &wake.name) ||
			dnp_vec_push(&join->profile->wakes, wake))
			return -ENOMEM;
	}
	return 0;
}

/* Of one recording of those that may be shown together. */
static int match_requests(struct dnp_join *join)
{
	const struct dnp_filter *filter = &join->profile->filter;
	struct dnp_chosen_requests *chosen = &join->profile->requests;

	for (size_t i = 0; i < filter->request_count; i++) {
		if (i == chosen->matched.n && dnp_vec_push(&chosen->matched, false))
			return -ENOMEM;
		if (dnp_requests_match(&join->load->requests, filter->requests[i]))
			chosen->matched.p[i] = true;
	}
	return 0;
}

/* What the filter of requests has found. */
static int join_requests(struct dnp_join *join)
{
	const struct dnp_requests *requests = &join->load->requests;
	struct dnp_chosen_requests *chosen = &join->profile->requests;
	uint32_t name;

	chosen->all += requests->all.n;
	chosen->followed |= requests->activity_of.n > 0;
	for (size_t i = 0; i < requests->all.n; i++) {
		const struct dnp_known_request *one = &requests->all.p[i];

		chosen->wanted += one->wanted;
		if (intern(join, one->group.n ? one->group : one->name, &name) ||
			dnp_vec_push(&chosen->names, name))
			return -ENOMEM;
	}
	for (size_t i = 0; i < join->load->events.n; i++)
		if (join->load->events.p[i].left_out &&
			(intern(join, join->load->events.p[i].rec.name, &name) ||
				dnp_vec_push(&chosen->left_out, name)))
			return -ENOMEM;
	return match_requests(join);
}

static int join_all(struct dnp_join *join)
{
	struct dnp_load *load = join->load;

	if (load->symbols.n)
		qsort(load->symbols.p, load->symbols.n, sizeof(*load->symbols.p), by_function);
	if (add_process(join) || judge_nodes(join) || choose(join) || join_nodes(join) ||
		dnp_join_traced(join) || join_threads(join) || join_wakes(join) ||
		join_requests(join))
		return -ENOMEM;
	for (size_t i = 0; i < load->events.n; i++)
		if (!load->events.p[i].left_out && join_event(join, &load->events.p[i]))
			return -ENOMEM;
	for (size_t i = 0; i < load->waits.n; i++)
		if (join_wait(join, &load->waits.p[i]))
			return -ENOMEM;
	return dnp_join_spans(join) || dnp_join_collections(join) || dnp_join_live(join) ? -ENOMEM
											 : 0;
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
	auto_free uint32_t *nodes = calloc(load->nodes.n, sizeof(*nodes));
	auto_free uint32_t *threads = table(load->threads.n);
	auto_free uint8_t *marks = calloc(load->nodes.n, 1);
	struct dnp_join join = {.load = load,
		.profile = load->profile,
		.frame_to = frames,
		.node_to = nodes,
		.thread_to = threads,
		.marks = marks};
	int status = frames && nodes && threads && marks ? 0 : -ENOMEM;

	dnp_sink_memory_init(&join.name);
	if (!status)
		status = join_all(&join);
	dnp_vec_done(&join.name.bytes);
	free(join.managed_to);
	return status;
}
