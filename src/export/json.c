/* SPDX-License-Identifier: MIT */
/* The report for programs. Fields may be added; where one is renamed the version is a new one. */
#include "aggregate/neighbours.h"
#include "aggregate/spans.h"
#include "base/pattern.h"
#include "base/json.h"
#include "export/event.h"
#include "export/export.h"
#include "export/share.h"
#include "format/gc_reason.h"

static const char *const code_names[] = {
	[DNP_CODE_USER] = "user",
	[DNP_CODE_FRAMEWORK] = "framework",
	[DNP_CODE_NATIVE] = "native",
	[DNP_CODE_KERNEL] = "kernel",
	[DNP_CODE_GC] = "gc",
	[DNP_CODE_JIT] = "jit",
	[DNP_CODE_OTHER] = "other",
};

static void put_string(
	const struct dnp_profile *profile, struct dnp_json *json, const char *key, uint32_t number)
{
	dnp_json_text(json, key, dnp_profile_string(profile, number));
}

/* name, module, kind (of three), code (of all) */
static void put_frame(const struct dnp_profile *profile, struct dnp_json *json, uint32_t index)
{
	const struct dnp_frame *frame = &profile->frames.p[index];
	bool managed = frame->code == DNP_CODE_USER || frame->code == DNP_CODE_FRAMEWORK;

	put_string(profile, json, "name", frame->name);
	put_string(profile, json, "module", frame->module);
	dnp_json_text(json, "kind",
		managed                                  ? "managed"
			: frame->code == DNP_CODE_KERNEL ? "kernel"
							 : "native");
	dnp_json_text(json, "code", code_names[frame->code]);
}

static void put_command(
	const struct dnp_profile *profile, struct dnp_json *json, const struct dnp_process *process)
{
	dnp_json_open(json, "command", '[');
	for (size_t i = 0; i < process->command.n; i++)
		put_string(profile, json, NULL, process->command.p[i]);
	dnp_json_close(json, ']');
	dnp_json_u64(json, "pid", process->pid);
	put_string(profile, json, "runtime", process->runtime);
	if (process->exited) {
		dnp_json_u64(json, "exit_status", process->status);
		dnp_json_u64(json, "exit_signal", process->signal);
	}
}

/* Not where it is not known. */
static void put_cpu(uint64_t cpu_ns, uint64_t agent_cpu_ns, struct dnp_json *json)
{
	if (!cpu_ns)
		return;
	dnp_json_u64(json, "cpu_ns", cpu_ns);
	dnp_json_u64(json, "agent_cpu_ns", agent_cpu_ns);
}

/* Of all processes together. */
static void put_all_cpu(const struct dnp_profile *profile, struct dnp_json *json)
{
	uint64_t cpu_ns = 0, agent_cpu_ns = 0;

	for (size_t i = 0; i < profile->processes.n; i++) {
		cpu_ns += profile->processes.p[i].cpu_ns;
		agent_cpu_ns += profile->processes.p[i].agent_cpu_ns;
	}
	put_cpu(cpu_ns, agent_cpu_ns, json);
}

static void put_processes(const struct dnp_profile *profile, struct dnp_json *json)
{
	dnp_json_open(json, "processes", '[');
	for (size_t i = 0; i < profile->processes.n; i++) {
		const struct dnp_process *process = &profile->processes.p[i];

		dnp_json_open(json, NULL, '{');
		put_command(profile, json, process);
		dnp_json_u64(json, "start_unix_ns", process->start_unix_ns);
		dnp_json_u64(json, "duration_ns", process->duration_ns);
		dnp_json_bool(json, "complete", process->complete);
		put_cpu(process->cpu_ns, process->agent_cpu_ns, json);
		dnp_json_close(json, '}');
	}
	dnp_json_close(json, ']');
}

static void put_events(const struct dnp_profile *profile, struct dnp_json *json)
{
	dnp_json_open(json, "events", '{');
	for (size_t i = 0; i < profile->events.n; i++) {
		const struct dnp_event *event = &profile->events.p[i];

		dnp_json_open(json, dnp_profile_string(profile, event->name), '{');
		dnp_event_members(profile, event, json);
		dnp_json_close(json, '}');
	}
	dnp_json_close(json, '}');
}

static void put_states(const struct dnp_tree *tree, size_t thread, struct dnp_json *json)
{
	uint64_t waiting = tree->thread_waiting[thread];
	uint64_t running = tree->thread_total[thread] - waiting;
	uint64_t interval_ns = tree->event->in_ns ? 1 : tree->event->interval_ns;

	dnp_json_u64(json, "running", running);
	dnp_json_u64(json, "waiting", waiting);
	dnp_json_u64(json, "running_ns", running * interval_ns);
	dnp_json_u64(json, "waiting_ns", waiting * interval_ns);
}

/* By the kernel's clock, which was read so long: cpu_ns, ready_ns; the others by its switches. */
static void put_switches(
	const struct dnp_event *event, const struct dnp_run_times *run, struct dnp_json *json)
{
	dnp_json_u64(json, "cpu_ns", dnp_run_times_cpu(run));
	dnp_json_u64(json, "ready_ns", dnp_run_times_ready(run));
	dnp_json_u64(json, "clock_ns", dnp_run_times_watched(run));
	dnp_json_u64(json, "on_cpu_ns", run->on_cpu_ns);
	dnp_json_u64(json, "preempted_ns", run->preempted_ns);
	dnp_json_u64(json, "blocked_ns", run->blocked_ns);
	dnp_json_u64(json, "seen_ns", event->interval_ns ? 0 : dnp_run_times_life(run));
	dnp_json_u64(json, "voluntary", run->voluntary);
	dnp_json_u64(json, "involuntary", run->involuntary);
	dnp_json_open(json, "waits", '[');
	for (unsigned i = 0; i < DNP_WAIT_KINDS; i++) {
		if (!run->waits[i].count)
			continue;
		dnp_json_open(json, NULL, '{');
		dnp_json_text(json, "kind", dnp_wait_name(i));
		dnp_json_u64(json, "count", run->waits[i].count);
		dnp_json_u64(json, "ns", run->waits[i].ns);
		dnp_json_u64(json, "longest_ns", run->waits[i].longest_ns);
		dnp_json_close(json, '}');
	}
	dnp_json_close(json, ']');
}

/* By whom a thread was woken: `by` is a thread's id, 0 that of another process. */
static void put_wakes(const struct dnp_profile *profile, uint32_t thread, struct dnp_json *json)
{
	dnp_json_open(json, "wakeups", '[');
	for (size_t i = 0; i < profile->wakes.n; i++) {
		const struct dnp_wake *wake = &profile->wakes.p[i];

		if (wake->thread != thread)
			continue;
		dnp_json_open(json, NULL, '{');
		dnp_json_u64(json, "by", wake->by_tid);
		dnp_json_u64(json, "by_pid", wake->by_pid);
		put_string(profile, json, "by_name", wake->name);
		dnp_json_u64(json, "count", wake->count);
		dnp_json_u64(json, "run_count", wake->run.count);
		dnp_json_u64(json, "run_ns", wake->run.ns);
		dnp_json_u64(json, "longest_ns", wake->run.longest_ns);
		dnp_json_close(json, '}');
	}
	dnp_json_close(json, ']');
}

static void put_threads(const struct dnp_tree *tree, struct dnp_json *json)
{
	const struct dnp_profile *profile = tree->profile;

	dnp_json_open(json, "threads", '[');
	for (size_t i = 0; i < profile->threads.n; i++) {
		const struct dnp_thread *thread = &profile->threads.p[i];

		dnp_json_open(json, NULL, '{');
		dnp_json_u64(json, "tid", thread->tid);
		put_string(profile, json, "name", thread->name);
		if (tree->calls) {
			dnp_json_u64(json, "calls", tree->thread_calls[i]);
			dnp_json_u64(json, "self_ns", tree->thread_total[i]);
		} else {
			dnp_json_u64(json, "samples", tree->thread_total[i]);
		}
		if (!tree->event->switches)
			dnp_json_u64(json, "cpu_ns", thread->cpu_ns);
		if (tree->event->waiting)
			put_states(tree, i, json);
		if (tree->event->switches)
			put_switches(tree->event, &thread->run, json);
		if (tree->event->switches && profile->wakes.n)
			put_wakes(profile, (uint32_t)i, json);
		if (profile->processes.n > 1)
			dnp_json_u64(json, "pid", profile->processes.p[thread->process].pid);
		dnp_json_close(json, '}');
	}
	dnp_json_close(json, ']');
}

/* Time and calls, or samples. */
static void put_amounts(const struct dnp_tree *tree, uint64_t self, uint64_t total, uint64_t calls,
	struct dnp_json *json)
{
	if (tree->calls)
		dnp_json_u64(json, "calls", calls);
	dnp_json_u64(json, tree->calls ? "self_ns" : "self", self);
	dnp_json_u64(json, tree->calls ? "total_ns" : "total", total);
}

/* Of calls that were timed one by one. */
static void put_span(struct dnp_call_span span, struct dnp_json *json)
{
	if (!span.max_ns)
		return;
	dnp_json_u64(json, "min_ns", span.min_ns);
	dnp_json_u64(json, "max_ns", span.max_ns);
}

static void put_edges(const struct dnp_tree *tree, const char *key, const struct dnp_edges *all,
	uint32_t frame, struct dnp_json *json)
{
	const struct dnp_edge *edges;
	size_t n = dnp_edges_of(all, frame, &edges);

	dnp_json_open(json, key, '[');
	for (size_t i = 0; i < n; i++) {
		dnp_json_open(json, NULL, '{');
		put_frame(tree->profile, json, edges[i].frame);
		put_amounts(tree, edges[i].self, edges[i].total, edges[i].calls, json);
		dnp_json_close(json, '}');
	}
	dnp_json_close(json, ']');
}

static bool is_about(
	const struct dnp_tree *tree, const struct dnp_export_options *options, uint32_t frame)
{
	uint32_t name = tree->profile->frames.p[frame].name;

	return dnp_pattern_any(options->about, options->about_count,
		dnp_str(dnp_profile_string(tree->profile, name)));
}

/* By which the sums may be off. */
static void put_errors(
	const struct dnp_tree *tree, const struct dnp_method *method, struct dnp_json *json)
{
	double all = (double)tree->total[0];

	if (!dnp_event_has_looks(tree->event) || !tree->total[0])
		return;
	dnp_json_u64(json, "self_error",
		(uint64_t)(all * dnp_event_error(tree->event, (double)method->self / all) + 0.5));
	dnp_json_u64(json, "total_error",
		(uint64_t)(all * dnp_event_error(tree->event, (double)method->total / all) + 0.5));
}

static int put_methods(const struct dnp_tree *tree, const struct dnp_export_options *options,
	struct dnp_json *json)
{
	struct dnp_neighbours neighbours = {0};
	size_t top = options->top;
	int status = options->about_count ? dnp_neighbours_init(&neighbours, tree) : 0;

	dnp_json_open(json, "methods", '[');
	for (size_t i = 0; i < tree->methods.n && (!top || i < top); i++) {
		const struct dnp_method *method = &tree->methods.p[i];

		dnp_json_open(json, NULL, '{');
		put_frame(tree->profile, json, method->frame);
		put_amounts(tree, method->self, method->total, method->calls, json);
		put_errors(tree, method, json);
		put_span(method->span, json);
		if (is_about(tree, options, method->frame)) {
			put_edges(tree, "callers", &neighbours.callers, method->frame, json);
			put_edges(tree, "callees", &neighbours.callees, method->frame, json);
		}
		dnp_json_close(json, '}');
	}
	dnp_json_close(json, ']');
	dnp_neighbours_done(&neighbours);
	return status;
}

static void put_node(
	const struct dnp_tree *tree, uint32_t node, const uint32_t *parent, struct dnp_json *json)
{
	dnp_json_open(json, NULL, '{');
	if (parent)
		dnp_json_u64(json, "parent", *parent);
	put_frame(tree->profile, json, tree->profile->nodes.p[node].frame);
	put_amounts(tree, tree->self[node], tree->total[node], tree->calls ? tree->calls[node] : 0,
		json);
	if (tree->calls)
		put_span(dnp_calls_span(tree->event->calls, node), json);
	dnp_json_close(json, '}');
}

/*
 * A list, parents first; `parent` is a place in it. Readers of JSON refuse what is nested as deep
 * as stacks are.
 */
static int put_tree(const struct dnp_tree *tree, double min_percent, struct dnp_json *json)
{
	struct dnp_tree_walk walk = dnp_tree_walk(tree, dnp_share_least(tree, min_percent));
	struct dnp_vec_of(uint32_t) path = {0}; /* places of the nodes on the way to this one */
	uint32_t place = 0;
	int status = 0;

	dnp_json_open(json, "tree", '[');
	while (!status && dnp_tree_walk_next(&walk)) {
		if (!walk.depth)
			continue;
		path.n = walk.depth - 1;
		put_node(tree, walk.node, path.n ? &path.p[path.n - 1] : NULL, json);
		status = dnp_vec_push(&path, place++);
	}
	dnp_json_close(json, ']');
	dnp_vec_done(&path);
	return status;
}

static void put_tallies(const struct dnp_profile *profile, const char *name, const char *of,
	const struct dnp_tallies *tallies, size_t top, struct dnp_json *json)
{
	dnp_json_open(json, name, '[');
	for (size_t i = 0; i < tallies->n && (!top || i < top); i++) {
		dnp_json_open(json, NULL, '{');
		put_string(profile, json, of, tallies->p[i].name);
		dnp_json_u64(json, "count", tallies->p[i].count);
		dnp_json_close(json, '}');
	}
	dnp_json_close(json, ']');
}

/* What became of the exceptions of a type. */
static void put_thrown(const struct dnp_profile *profile, const struct dnp_thrown *thrown,
	size_t top, struct dnp_json *json)
{
	if (!thrown)
		return;
	dnp_json_u64(json, "known", thrown->known);
	dnp_json_u64(json, "caught", thrown->ended[DNP_EXCEPTION_CAUGHT]);
	dnp_json_u64(json, "ended_in_filter", thrown->ended[DNP_EXCEPTION_IN_FILTER]);
	dnp_json_u64(json, "not_caught", thrown->ended[DNP_EXCEPTION_NOT_CAUGHT]);
	dnp_json_u64(json, "search_ns", thrown->search_ns);
	dnp_json_u64(json, "longest_search_ns", thrown->longest_search_ns);
	dnp_json_u64(json, "unwind_ns", thrown->unwind_ns);
	dnp_json_u64(json, "longest_unwind_ns", thrown->longest_unwind_ns);
	put_tallies(profile, "caught_in", "name", &thrown->catchers, top, json);
	put_tallies(profile, "messages", "text", &thrown->messages, top, json);
}

/* Bounds where it is an estimate. */
static void put_sum(
	const struct dnp_event *event, const struct dnp_label_sum *sum, struct dnp_json *json)
{
	struct dnp_range range = dnp_label_range(sum, event->lot);

	dnp_json_u64(json, "samples", sum->samples);
	dnp_json_u64(json, "count", (uint64_t)(sum->count + 0.5));
	dnp_json_u64(json, event->in_bytes ? "bytes" : event->in_ns ? "ns" : "weight", sum->weight);
	if (event->in_bytes) {
		dnp_json_u64(json, "bytes_low", (uint64_t)range.low);
		dnp_json_u64(json, "bytes_high", (uint64_t)(range.high + 0.5));
	}
	if (event->in_ns)
		dnp_json_u64(json, "longest_ns", sum->greatest);
	if (event->in_ns && sum->variance > 0) {
		dnp_json_u64(json, "ns_low", (uint64_t)range.low);
		dnp_json_u64(json, "ns_high", (uint64_t)(range.high + 0.5));
	}
}

/* What samples are about. */
static void put_labels(const struct dnp_tree *tree, size_t top, struct dnp_json *json)
{
	const struct dnp_event *event = tree->event;

	dnp_json_open(json, "types", '[');
	for (size_t i = 0; i < event->labels.n && (!top || i < top); i++) {
		const struct dnp_label *label = &event->labels.p[i];

		dnp_json_open(json, NULL, '{');
		put_string(tree->profile, json, "name", label->name);
		put_sum(event, &label->sum, json);
		if (event->counted)
			dnp_json_u64(json, "unfinished", label->sum.unfinished);
		put_thrown(tree->profile, label->thrown, top, json);
		dnp_json_close(json, '}');
	}
	dnp_json_close(json, ']');
}

static void put_span_sum(const struct dnp_profile *profile, const struct dnp_span_sum *sum,
	bool timed, struct dnp_json *json)
{
	dnp_json_open(json, NULL, '{');
	put_string(profile, json, "name", sum->name);
	dnp_json_u64(json, "count", sum->count);
	if (timed) {
		dnp_json_u64(json, "ended", sum->ended);
		dnp_json_u64(json, "ended_elsewhere", sum->elsewhere);
		dnp_json_u64(json, "total_ns", sum->total_ns);
		dnp_json_u64(json, "median_ns", sum->median_ns);
		dnp_json_u64(json, "p99_ns", sum->p99_ns);
		dnp_json_u64(json, "longest_ns", sum->longest_ns);
	}
	dnp_json_close(json, '}');
}

static void put_one_span(
	const struct dnp_profile *profile, const struct dnp_span *span, struct dnp_json *json)
{
	dnp_json_open(json, NULL, '{');
	put_string(profile, json, "name", span->name);
	dnp_json_u64(json, "begin_ns", span->begin_ns);
	dnp_json_u64(json, "ns", dnp_span_ns(span));
	dnp_json_u64(json, "tid", profile->threads.p[span->thread].tid);
	if (span->result)
		put_string(profile, json, "result", span->result);
	if (span->group != span->name)
		put_string(profile, json, "group", span->group);
	if (span->trace)
		put_string(profile, json, "trace", span->trace);
	if (!span->ended)
		dnp_json_bool(json, "may_have_ended", profile->events.p[span->event].lost > 0);
	dnp_json_close(json, '}');
}

static void put_results(
	const struct dnp_profile *profile, const struct dnp_span_sums *sums, struct dnp_json *json)
{
	dnp_json_open(json, "results", '[');
	for (size_t i = 0; i < sums->results.n; i++) {
		dnp_json_open(json, NULL, '{');
		put_string(profile, json, "name", sums->results.p[i].name);
		dnp_json_u64(json, "count", sums->results.p[i].count);
		dnp_json_close(json, '}');
	}
	dnp_json_close(json, ']');
}

/* What the program said it was doing, by name. 0 or -ENOMEM. */
static int put_spans(const struct dnp_profile *profile, const struct dnp_export_options *options,
	struct dnp_json *json)
{
	struct dnp_span_sums sums;
	int status = dnp_span_sums_init(&sums, profile, options->event);

	if (!status) {
		dnp_json_open(json, "spans", '[');
		for (size_t i = 0; i < sums.spans.n && (!options->top || i < options->top); i++)
			put_span_sum(profile, &sums.spans.p[i], true, json);
		dnp_json_close(json, ']');
		dnp_json_open(json, "longest", '[');
		for (size_t i = 0; i < sums.longest.n && (!options->top || i < options->top); i++)
			put_one_span(profile, sums.longest.p[i], json);
		dnp_json_close(json, ']');
		dnp_json_open(json, "open", '[');
		for (size_t i = 0; i < sums.open.n && (!options->top || i < options->top); i++)
			put_one_span(profile, sums.open.p[i], json);
		dnp_json_close(json, ']');
		put_results(profile, &sums, json);
		dnp_json_open(json, "marks", '[');
		for (size_t i = 0; i < sums.points.n && (!options->top || i < options->top); i++)
			put_span_sum(profile, &sums.points.p[i], false, json);
		dnp_json_close(json, ']');
	}
	dnp_span_sums_done(&sums);
	return status;
}

static void put_heap(const struct dnp_collection *one, struct dnp_json *json)
{
	static const char *const names[DNP_HEAP_PARTS] = {
		"gen0", "gen1", "gen2", "large", "pinned"};

	dnp_json_open(json, "heap", '{');
	for (unsigned i = 0; i < DNP_HEAP_PARTS; i++) {
		dnp_json_open(json, names[i], '{');
		dnp_json_u64(json, "before", one->heap[i].before);
		dnp_json_u64(json, "after", one->heap[i].after);
		dnp_json_u64(json, "survived", one->heap[i].survived);
		dnp_json_close(json, '}');
	}
	dnp_json_close(json, '}');
}

static void put_collection(
	const struct dnp_profile *profile, const struct dnp_collection *one, struct dnp_json *json)
{
	dnp_json_open(json, NULL, '{');
	dnp_json_u64(json, "number", one->number);
	dnp_json_u64(json, "generation", one->generation);
	dnp_json_text(json, "kind", dnp_collection_kind_name(one->kind));
	dnp_json_text(json, "reason", dnp_gc_reason(one->reason));
	dnp_json_bool(json, "compacting", one->compacting);
	dnp_json_u64(json, "begin_ns", one->begin_ns);
	if (one->ended)
		dnp_json_u64(json, "ns", one->end_ns - one->begin_ns);
	dnp_json_u64(json, "pauses", one->pauses);
	dnp_json_u64(json, "pause_ns", one->pause_ns);
	dnp_json_u64(json, "longest_pause_ns", one->longest_ns);
	dnp_json_u64(json, "suspend_ns", one->suspend_ns);
	if (one->sized)
		put_heap(one, json);
	if (profile->processes.n > 1)
		dnp_json_u64(json, "pid", profile->processes.p[one->process].pid);
	dnp_json_close(json, '}');
}

/* In the order they were told. */
static void put_collections(const struct dnp_profile *profile, size_t top, struct dnp_json *json)
{
	const struct dnp_collections *all = &profile->collections;

	dnp_json_open(json, "collections", '[');
	for (size_t i = 0; i < all->n && (!top || i < top); i++)
		put_collection(profile, &all->p[i], json);
	dnp_json_close(json, ']');
}

static void put_estimate(const struct dnp_label_sum *sum, uint64_t lot, struct dnp_json *json)
{
	struct dnp_range range = dnp_label_range(sum, lot);

	dnp_json_u64(json, "samples", sum->samples);
	dnp_json_u64(json, "count", (uint64_t)(sum->count + 0.5));
	dnp_json_u64(json, "bytes", sum->weight);
	dnp_json_u64(json, "bytes_low", (uint64_t)range.low);
	dnp_json_u64(json, "bytes_high", (uint64_t)(range.high + 0.5));
}

/* Leaf first, from the method that made it. */
static void put_way(const struct dnp_profile *profile, uint32_t node, struct dnp_json *json)
{
	dnp_json_open(json, "stack", '[');
	for (; node; node = profile->nodes.p[node].parent)
		put_string(
			profile, json, NULL, profile->frames.p[profile->nodes.p[node].frame].name);
	dnp_json_close(json, ']');
}

static void put_type(
	const struct dnp_profile *profile, const struct dnp_site *site, struct dnp_json *json)
{
	put_string(profile, json, "type", profile->frames.p[site->type].name);
	put_string(profile, json, "method", profile->frames.p[site->method].name);
}

static void put_live_site(const struct dnp_profile *profile, const struct dnp_live_site *site,
	uint64_t lot, struct dnp_json *json)
{
	dnp_json_open(json, NULL, '{');
	put_type(profile, &site->at, json);
	put_estimate(&site->at.sum, lot, json);
	dnp_json_u64(json, "median_ns", site->median_ns);
	dnp_json_u64(json, "oldest_ns", site->oldest_ns);
	dnp_json_u64(json, "median_full", site->median_full);
	dnp_json_u64(json, "most_full", site->most_full);
	dnp_json_u64(json, "even_percent", (uint64_t)(site->even * 100 + 0.5));
	dnp_json_open(json, "made", '[');
	for (unsigned i = 0; i < DNP_LIVE_PARTS; i++)
		dnp_json_u64(json, NULL, site->parts[i]);
	dnp_json_close(json, ']');
	put_way(profile, site->at.node, json);
	dnp_json_close(json, '}');
}

static void put_live_sites(const struct dnp_profile *profile, const struct dnp_live *live,
	size_t top, struct dnp_json *json)
{
	dnp_json_open(json, "live", '{');
	dnp_json_u64(json, "watched", live->watched);
	dnp_json_u64(json, "most", live->most);
	dnp_json_u64(json, "mean_bytes", live->mean_bytes);
	dnp_json_u64(json, "asked_bytes", live->asked_bytes);
	dnp_json_u64(json, "collections", live->collections);
	dnp_json_u64(json, "full", live->full);
	dnp_json_open(json, "unseen", '{');
	put_estimate(&live->unseen, live->mean_bytes, json);
	dnp_json_close(json, '}');
	dnp_json_open(json, "sites", '[');
	for (size_t i = 0; i < live->sites.n && (!top || i < top); i++)
		put_live_site(profile, &live->sites.p[i], live->mean_bytes, json);
	dnp_json_close(json, ']');
	dnp_json_close(json, '}');
}

/* Those of objects that stay are with what is known of them. */
static int put_sites(const struct dnp_tree *tree, size_t top, struct dnp_json *json)
{
	struct dnp_sites sites = {0};
	int status = 0;

	if (strcmp(dnp_profile_string(tree->profile, tree->event->name), "live"))
		status = dnp_sites_of_event(&sites, tree->profile, tree->event);
	if (!status) {
		dnp_json_open(json, "sites", '[');
		for (size_t i = 0; i < sites.all.n && (!top || i < top); i++) {
			dnp_json_open(json, NULL, '{');
			put_type(tree->profile, &sites.all.p[i], json);
			put_sum(tree->event, &sites.all.p[i].sum, json);
			put_way(tree->profile, sites.all.p[i].node, json);
			dnp_json_close(json, '}');
		}
		dnp_json_close(json, ']');
	}
	dnp_sites_done(&sites);
	return status;
}

/* Where objects were watched. */
static int put_live(const struct dnp_profile *profile, size_t top, struct dnp_json *json)
{
	struct dnp_live live;
	int status = profile->watches.n ? dnp_live_init(&live, profile) : 0;

	if (!profile->watches.n)
		return 0;
	if (!status)
		put_live_sites(profile, &live, top, json);
	dnp_live_done(&live);
	return status;
}

static void put_problems(const struct dnp_profile *profile, struct dnp_json *json)
{
	dnp_json_open(json, "problems", '[');
	for (size_t i = 0; i < profile->problems.n; i++)
		put_string(profile, json, NULL, profile->problems.p[i]);
	dnp_json_close(json, ']');
}

static void put_patterns(
	const char *key, const char *const *patterns, size_t n, struct dnp_json *json)
{
	dnp_json_open(json, key, '[');
	for (size_t i = 0; i < n; i++)
		dnp_json_text(json, NULL, patterns[i]);
	dnp_json_close(json, ']');
}

/* What else was chosen, and what that has no say in. */
static void put_filter(const struct dnp_tree *tree, struct dnp_json *json)
{
	const struct dnp_filter *filter = &tree->profile->filter;
	const char *not_filtered = dnp_event_not_filtered(tree->profile, tree->event);

	dnp_json_open(json, "filter", '{');
	put_patterns("threads", filter->threads, filter->thread_count, json);
	put_patterns("include", filter->include, filter->include_count, json);
	put_patterns("exclude", filter->exclude, filter->exclude_count, json);
	put_patterns("requests", filter->requests, filter->request_count, json);
	dnp_json_text(json, "not_filtered", not_filtered ? not_filtered : "");
	dnp_json_close(json, '}');
}

static int write_json(const struct dnp_profile *profile, const struct dnp_export_options *options,
	struct dnp_sink *sink, struct dnp_err *err)
{
	struct dnp_json json = {.sink = sink};
	struct dnp_tree tree;
	int status = dnp_tree_init(&tree, profile, options->event);

	if (!status) {
		dnp_json_open(&json, NULL, '{');
		dnp_json_u64(&json, "version", 2);
		put_command(profile, &json, &profile->processes.p[0]);
		dnp_json_u64(&json, "start_unix_ns", profile->start_unix_ns);
		dnp_json_u64(&json, "duration_ns", profile->duration_ns);
		dnp_json_bool(&json, "complete", !profile->incomplete);
		put_all_cpu(profile, &json);
		if (profile->processes.n > 1)
			put_processes(profile, &json);
		put_problems(profile, &json);
		put_events(profile, &json);
		dnp_json_text(&json, "event", dnp_profile_string(profile, tree.event->name));
		dnp_json_text(&json, "native", dnp_native_name(profile->filter.native));
		dnp_json_text(&json, "state", dnp_state_name(profile->filter.state));
		put_filter(&tree, &json);
		put_threads(&tree, &json);
		put_labels(&tree, options->top, &json);
		put_collections(profile, options->top, &json);
		status = put_sites(&tree, options->top, &json);
		if (!status)
			status = put_live(profile, options->top, &json);
		if (!status)
			status = put_methods(&tree, options, &json);
		if (!status && tree.event->says)
			status = put_spans(profile, options, &json);
		if (!status)
			status = put_tree(&tree, options->min_percent, &json);
		dnp_json_close(&json, '}');
		dnp_sink_puts(sink, "\n");
	}
	dnp_tree_done(&tree);
	if (status)
		dnp_err(err, status,
			"cannot write the report: out of memory; report part of the time");
	return status;
}

const struct dnp_exporter dnp_export_json = {
	.name = "report-json",
	.extensions = "",
	.single = true,
	.write = write_json,
};
