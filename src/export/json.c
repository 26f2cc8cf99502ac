/* SPDX-License-Identifier: MIT */
/* The report for programs. Fields may be added, never renamed. */
#include "aggregate/tree.h"
#include "base/json.h"
#include "export/event.h"
#include "export/export.h"
#include "export/share.h"

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
	uint64_t interval_ns = tree->event->interval_ns;

	dnp_json_u64(json, "running", running);
	dnp_json_u64(json, "waiting", waiting);
	dnp_json_u64(json, "running_ns", running * interval_ns);
	dnp_json_u64(json, "waiting_ns", waiting * interval_ns);
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
		dnp_json_u64(json, "samples", tree->thread_total[i]);
		dnp_json_u64(json, "cpu_ns", thread->cpu_ns);
		if (tree->event->waiting)
			put_states(tree, i, json);
		if (profile->processes.n > 1)
			dnp_json_u64(json, "pid", profile->processes.p[thread->process].pid);
		dnp_json_close(json, '}');
	}
	dnp_json_close(json, ']');
}

static void put_methods(const struct dnp_tree *tree, size_t top, struct dnp_json *json)
{
	dnp_json_open(json, "methods", '[');
	for (size_t i = 0; i < tree->methods.n && (!top || i < top); i++) {
		const struct dnp_method *method = &tree->methods.p[i];

		dnp_json_open(json, NULL, '{');
		put_frame(tree->profile, json, method->frame);
		dnp_json_u64(json, "self", method->self);
		dnp_json_u64(json, "total", method->total);
		dnp_json_close(json, '}');
	}
	dnp_json_close(json, ']');
}

/* A node's object stays open while its children are written. */
static void put_tree(const struct dnp_tree *tree, double min_percent, struct dnp_json *json)
{
	struct dnp_tree_walk walk = dnp_tree_walk(tree, dnp_share_least(tree, min_percent));
	uint32_t depth = 0; /* of the objects that are open */

	dnp_json_open(json, "tree", '[');
	while (dnp_tree_walk_next(&walk)) {
		if (!walk.depth)
			continue;
		for (; depth >= walk.depth; depth--) {
			dnp_json_close(json, ']');
			dnp_json_close(json, '}');
		}
		depth = walk.depth;
		dnp_json_open(json, NULL, '{');
		put_frame(tree->profile, json, tree->profile->nodes.p[walk.node].frame);
		dnp_json_u64(json, "self", tree->self[walk.node]);
		dnp_json_u64(json, "total", tree->total[walk.node]);
		dnp_json_open(json, "children", '[');
	}
	for (; depth; depth--) {
		dnp_json_close(json, ']');
		dnp_json_close(json, '}');
	}
	dnp_json_close(json, ']');
}

static void put_problems(const struct dnp_profile *profile, struct dnp_json *json)
{
	dnp_json_open(json, "problems", '[');
	for (size_t i = 0; i < profile->problems.n; i++)
		put_string(profile, json, NULL, profile->problems.p[i]);
	dnp_json_close(json, ']');
}

static int write_json(const struct dnp_profile *profile, const struct dnp_export_options *options,
	struct dnp_sink *sink, struct dnp_err *err)
{
	struct dnp_json json = {.sink = sink};
	struct dnp_tree tree;
	int status = dnp_tree_init(&tree, profile, options->event);

	if (!status) {
		dnp_json_open(&json, NULL, '{');
		dnp_json_u64(&json, "version", 1);
		put_command(profile, &json, &profile->processes.p[0]);
		dnp_json_u64(&json, "start_unix_ns", profile->start_unix_ns);
		dnp_json_u64(&json, "duration_ns", profile->duration_ns);
		dnp_json_bool(&json, "complete", !profile->incomplete);
		if (profile->processes.n > 1)
			put_processes(profile, &json);
		put_problems(profile, &json);
		put_events(profile, &json);
		dnp_json_text(&json, "event", dnp_profile_string(profile, tree.event->name));
		dnp_json_text(&json, "native", dnp_native_name(profile->filter.native));
		dnp_json_text(&json, "state", dnp_state_name(profile->filter.state));
		put_threads(&tree, &json);
		put_methods(&tree, options->top, &json);
		put_tree(&tree, options->min_percent, &json);
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
	.write = write_json,
};
