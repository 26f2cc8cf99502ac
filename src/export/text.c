/* SPDX-License-Identifier: MIT */
/* The report for people. */
#include <inttypes.h>
#include <stdio.h>

#include "aggregate/live.h"
#include "base/clean.h"
#include "export/event.h"
#include "export/export.h"
#include "export/line.h"
#include "export/share.h"
#include "export/text_calls.h"
#include "export/text_collections.h"
#include "export/text_labels.h"
#include "export/text_live.h"
#include "export/text_sites.h"
#include "export/text_spans.h"
#include "export/text_thrown.h"
#include "export/text_switches.h"
#include "export/text_threads.h"
#include "export/text_tree.h"
#include "format/rec.h"

#define SHOWN_PROCESSES 20u
#define METHOD_COLUMNS  "    self     samples     total     samples   method"
#define LOOK_COLUMNS    "    self       ±     samples     total       ±     samples   method"
#define TIME_COLUMNS    "    self        time     total        time   method"
#define BYTES_COLUMNS   "    self       bytes     total       bytes   method"

static const char *string(const struct dnp_tree *tree, uint32_t number)
{
	return dnp_profile_string(tree->profile, number);
}

static void put_command(
	const struct dnp_tree *tree, const struct dnp_process *process, struct dnp_line *line)
{
	for (size_t i = 0; i < process->command.n; i++) {
		if (i)
			dnp_line_puts(line, " ");
		dnp_line_text(line, string(tree, process->command.p[i]));
	}
}

static void put_exit(const struct dnp_process *process, struct dnp_line *line)
{
	if (process->exited && process->signal)
		dnp_line_printf(line, ", killed by signal %" PRIu64, process->signal);
	else if (process->exited)
		dnp_line_printf(line, ", exit status %" PRIu64, process->status);
}

/* A line of facts below a heading, which may take several. */
static void begin_facts(struct dnp_line *line)
{
	dnp_line_puts(line, "  ");
	line->wrap = 4;
}

static void put_process(
	const struct dnp_tree *tree, const struct dnp_process *process, struct dnp_line *line)
{
	dnp_line_text(line, string(tree, process->title));
	dnp_line_puts(line, ": ");
	put_command(tree, process, line);
	dnp_line_end(line);
	begin_facts(line);
	dnp_line_printf(line, "pid %" PRIu64, process->pid);
	put_exit(process, line);
	if (*string(tree, process->runtime)) {
		dnp_line_puts(line, ", .NET ");
		dnp_line_text(line, string(tree, process->runtime));
	}
	if (*string(tree, process->os)) {
		dnp_line_puts(line, ", ");
		dnp_line_text(line, string(tree, process->os));
	}
	if (process->cpus)
		dnp_line_printf(line, ", %" PRIu64 " CPUs", process->cpus);
	dnp_line_end(line);
	begin_facts(line);
	dnp_line_printf(line, "recorded %s for %s", dnp_format_time(process->start_unix_ns).text,
		dnp_format_duration(process->duration_ns).text);
	if (process->cpu_ns) {
		dnp_line_printf(line, ", CPU time %s,", dnp_format_duration(process->cpu_ns).text);
		dnp_line_printf(line, " of it dnprof's own %s",
			dnp_format_duration(process->agent_cpu_ns).text);
	}
	if (!process->complete)
		dnp_line_puts(line, ", ends early: its numbers are what was written until then");
	dnp_line_end(line);
}

static void put_processes(const struct dnp_tree *tree, struct dnp_line *line)
{
	size_t n = tree->profile->processes.n;

	for (size_t i = 0; i < n && i < SHOWN_PROCESSES; i++)
		put_process(tree, &tree->profile->processes.p[i], line);
	if (n > SHOWN_PROCESSES) {
		dnp_line_printf(
			line, "and %s processes more", dnp_format_count(n - SHOWN_PROCESSES).text);
		dnp_line_end(line);
	}
}

/* " (reason n, …)" of what there is. */
struct reasons {
	struct dnp_line *line;
	const char *separator;
};

static void put_reason(struct reasons *reasons, const char *name, struct dnp_number much)
{
	dnp_line_puts(reasons->line, reasons->separator);
	dnp_line_text(reasons->line, name);
	dnp_line_printf(reasons->line, " %s", much.text);
	reasons->separator = ", ";
}

static void end_reasons(struct reasons *reasons)
{
	if (reasons->separator[0] == ',')
		dnp_line_puts(reasons->line, ")");
}

/* Of objects that stay a part is lost before it is known how much of it will: that has two shares.
 */
static void put_lost_share(const struct dnp_tree *tree, struct dnp_line *line)
{
	uint64_t allocated = dnp_live_allocated(tree->profile, tree->event);

	if (!allocated || !tree->event->lost)
		return;
	dnp_line_printf(line, ", %.2f %% of the %s allocated, of which nobody knows what stayed",
		dnp_percent(tree->event->lost, allocated), dnp_format_bytes(allocated).text);
}

static void put_lost(const struct dnp_tree *tree, struct dnp_line *line)
{
	const struct dnp_event *event = tree->event;
	struct reasons reasons = {line, " ("};

	begin_facts(line);
	dnp_line_printf(line, "lost %s", dnp_format_lost(event, event->lost).text);
	for (size_t i = 0; i < DNP_LOSS_REASONS; i++)
		if (event->lost_by[i])
			put_reason(&reasons, dnp_loss_name(i),
				dnp_format_lost(event, event->lost_by[i]));
	end_reasons(&reasons);
	put_lost_share(tree, line);
}

static void put_failed(
	const struct dnp_tree *tree, const struct dnp_event *event, struct dnp_line *line)
{
	struct reasons reasons = {line, " ("};

	dnp_line_printf(line, ", truncated %s, failed %s", dnp_format_count(event->truncated).text,
		dnp_format_count(event->failed).text);
	for (size_t i = 0; i < event->failures.n; i++)
		if (event->failures.p[i].count)
			put_reason(&reasons, string(tree, event->failures.p[i].reason),
				dnp_format_count(event->failures.p[i].count));
	end_reasons(&reasons);
	dnp_line_end(line);
}

/* So many samples as time, where they stand for time. */
static struct dnp_number amount(const struct dnp_event *event, uint64_t samples)
{
	return event->interval_ns ? dnp_format_duration(samples * event->interval_ns)
				  : dnp_format_count(samples);
}

static void put_states(const struct dnp_event *event, struct dnp_line *line)
{
	uint64_t running = event->samples - event->waiting;

	if (!event->waiting || event->in_ns)
		return;
	begin_facts(line);
	dnp_line_printf(line, "threads ran %s (%.1f %%),", amount(event, running).text,
		dnp_percent(running, event->samples));
	dnp_line_printf(line, " waited %s (%.1f %%)", amount(event, event->waiting).text,
		dnp_percent(event->waiting, event->samples));
	dnp_line_end(line);
}

/* On how many moments all shares rest. */
static void put_looks(const struct dnp_event *event, struct dnp_line *line)
{
	if (!dnp_event_has_looks(event))
		return;
	begin_facts(line);
	dnp_line_printf(line, "rests on %s looks:", dnp_format_count(event->looks).text);
	dnp_line_printf(line,
		" a share of 50 %% is ± %.1f points, one of 5 %% ± %.1f (95 of 100 times)",
		100 * dnp_event_error(event, 0.5), 100 * dnp_event_error(event, 0.05));
	dnp_line_end(line);
}

/* Those that were too short to have a stack are counted all the same. */
static void put_all_waits(const struct dnp_event *event, struct dnp_line *line)
{
	dnp_line_printf(line, "%s waits that took %s in all;", dnp_format_count(event->waits).text,
		dnp_format_ns(event->waited_ns).text);
	dnp_line_printf(line, " %s of them %s or longer", dnp_format_count(event->waits_seen).text,
		dnp_format_duration(event->wait_ns).text);
	dnp_line_end(line);
}

/* Of which nobody knows how long they were. */
static void put_endless_waits(const struct dnp_event *event, struct dnp_line *line)
{
	if (!event->waits_endless)
		return;
	begin_facts(line);
	dnp_line_printf(line,
		"%s more began and no end was told: they go on, were interrupted, or gave up "
		"(TryEnter) waiting for a System.Threading.Lock",
		dnp_format_count(event->waits_endless).text);
	dnp_line_end(line);
}

/* Of how many waits there are stacks. */
static void put_waits(const struct dnp_event *event, struct dnp_line *line)
{
	if (!event->wait_ns)
		return;
	begin_facts(line);
	if (event->waited_ns || event->waits_endless) {
		put_all_waits(event, line);
		return;
	}
	dnp_line_printf(line, "stacks of %s of", dnp_format_count(event->waits_seen).text);
	dnp_line_printf(line, " %s waits that took %s or longer and ended (%.1f %%),",
		dnp_format_count(event->waits).text, dnp_format_duration(event->wait_ns).text,
		dnp_percent(event->waits_seen, event->waits));
	dnp_line_printf(line, " for %s of CPU time", dnp_format_duration(event->waits_cpu_ns).text);
	dnp_line_end(line);
}

/* All there was, where samples are only some of it; or what they stand for. */
static void put_counted(const struct dnp_tree *tree, struct dnp_line *line)
{
	const struct dnp_event *event = tree->event;
	struct dnp_label_sum all = {0};
	struct dnp_range range;

	for (size_t i = 0; i < event->labels.n; i++)
		dnp_label_sum_add(&all, &event->labels.p[i].sum);
	if (!event->in_ns || (!event->counted && all.variance <= 0))
		return;
	begin_facts(line);
	dnp_line_printf(line, "%s calls that took %s in all", dnp_format_estimate(&all).text,
		dnp_format_ns(all.weight).text);
	if (event->counted)
		dnp_line_printf(
			line, ", and %s without an end", dnp_format_count(all.unfinished).text);
	if (event->counted && tree->profile->incomplete)
		dnp_line_puts(line, ", counted up to some 0.2 s before it ends early");
	if (all.variance > 0) {
		range = dnp_label_range(&all, event->lot);
		dnp_line_printf(line, "; ~ is an estimate: %s",
			dnp_format_duration((uint64_t)range.low).text);
		dnp_line_printf(line, " to %s in 95 of 100 times",
			dnp_format_duration((uint64_t)(range.high + 0.5)).text);
	}
	dnp_line_end(line);
}

static void put_note(const struct dnp_tree *tree, struct dnp_line *line)
{
	const char *note = string(tree, tree->event->note);

	if (!*note)
		return;
	begin_facts(line);
	dnp_line_text(line, note);
	dnp_line_end(line);
}

/* What the program's threads spent on them, but for the time that the system takes to begin it. */
static void put_walks(const struct dnp_event *event, struct dnp_line *line)
{
	if (!event->walk_ns)
		return;
	begin_facts(line);
	dnp_line_printf(line, "stacks took %s to walk,", dnp_format_duration(event->walk_ns).text);
	dnp_line_printf(line, " %s each (median;", dnp_format_duration(event->walk_p50_ns).text);
	dnp_line_printf(line, " 99 %% within %s)", dnp_format_duration(event->walk_p99_ns).text);
	dnp_line_end(line);
}

/* How much of the CPU time that there was they stand for, and how much nobody has seen. */
static void put_clock(const struct dnp_event *event, struct dnp_line *line)
{
	uint64_t seen_ns = event->samples * event->interval_ns;

	if (!event->clock_ns)
		return;
	begin_facts(line);
	dnp_line_printf(line, "stand for %s", dnp_format_duration(seen_ns).text);
	dnp_line_printf(line, " of the %s of CPU time that the kernel counted (%.1f %%)",
		dnp_format_duration(event->clock_ns).text, dnp_percent(seen_ns, event->clock_ns));
	if (seen_ns < event->clock_ns)
		dnp_line_printf(
			line, "; %s not seen", dnp_format_duration(event->clock_ns - seen_ns).text);
	dnp_line_end(line);
}

static void put_samples(const struct dnp_tree *tree, struct dnp_line *line)
{
	const struct dnp_event *event = tree->event;

	line->wrap = 4;
	dnp_line_text(line, string(tree, event->name));
	dnp_line_printf(line, ": %s samples", dnp_format_count(event->samples).text);
	if (event->in_ns || event->in_bytes)
		dnp_line_printf(line, ", %s", dnp_format_weight(event, tree->total[0]).text);
	if (event->interval_ns) {
		dnp_line_printf(line, ", one per %s", dnp_format_duration(event->interval_ns).text);
		dnp_line_printf(line, " (%.0f Hz)", 1e9 / (double)event->interval_ns);
	}
	if (*string(tree, event->source)) {
		dnp_line_puts(line, ", ");
		dnp_line_text(line, string(tree, event->source));
	}
	if (event->asked_lot)
		dnp_line_printf(line, " to %s", dnp_format_bytes(event->lot).text);
	dnp_line_end(line);
	put_clock(event, line);
	put_lost(tree, line);
	if (event->frames)
		dnp_line_printf(line, ", unresolved %s (%.2f %% of frames)",
			dnp_format_count(event->unresolved).text,
			dnp_percent(event->unresolved, event->frames));
	else
		dnp_line_printf(line, ", unresolved %s", dnp_format_count(event->unresolved).text);
	put_failed(tree, event, line);
	put_walks(event, line);
	put_note(tree, line);
	put_waits(event, line);
	put_endless_waits(event, line);
	put_counted(tree, line);
	put_states(event, line);
	put_looks(event, line);
}

static void put_event(const struct dnp_tree *tree, struct dnp_line *line)
{
	if (tree->event->says) {
		dnp_text_spans_event(tree->profile, tree->event, line);
		put_note(tree, line);
	} else if (tree->event->switches) {
		dnp_text_switches_event(tree->profile, tree->event, line);
		put_note(tree, line);
	} else if (tree->calls) {
		dnp_text_calls_event(tree, line);
		put_note(tree, line);
	} else {
		put_samples(tree, line);
	}
}

static void put_others(const struct dnp_tree *tree, struct dnp_line *line)
{
	const struct dnp_profile *profile = tree->profile;
	const char *separator = "also recorded: ";

	if (profile->events.n < 2)
		return;
	begin_facts(line);
	for (size_t i = 0; i < profile->events.n; i++) {
		const struct dnp_event *event = &profile->events.p[i];

		if (event == tree->event)
			continue;
		dnp_line_puts(line, separator);
		dnp_line_text(line, string(tree, event->name));
		if (event->switches)
			dnp_line_printf(line, " (%s switches)",
				dnp_format_count(event->voluntary + event->involuntary).text);
		else if (event->calls)
			dnp_line_printf(
				line, " (%s calls)", dnp_format_count(event->calls->calls).text);
		else
			dnp_line_printf(
				line, " (%s samples)", dnp_format_count(event->samples).text);
		separator = ", ";
	}
	dnp_line_puts(line, "; choose with -e");
	dnp_line_end(line);
}

/* Whether there are stacks of which something can be left out. */
static bool has_stacks(const struct dnp_tree *tree)
{
	return !tree->event->switches && !tree->event->says;
}

/* Options that have no say here. */
static void put_unchosen(const struct dnp_tree *tree, struct dnp_line *line)
{
	const char *told = dnp_event_not_filtered(tree->profile, tree->event);

	if (!told)
		return;
	begin_facts(line);
	dnp_line_puts(line, told);
	dnp_line_end(line);
}

/* What --state and --native leave out. */
static void put_left_out(const struct dnp_tree *tree, struct dnp_line *line)
{
	static const char *const states[] = {NULL, "running", "waiting"};
	static const char *const natives[] = {
		NULL, "native frames only above the topmost managed one", "no native frames"};
	const struct dnp_filter *filter = &tree->profile->filter;
	enum dnp_state state = tree->calls ? DNP_STATE_ANY : filter->state;

	if ((!state && !filter->native) || !has_stacks(tree))
		return;
	begin_facts(line);
	dnp_line_puts(line, "shown: ");
	if (state)
		dnp_line_printf(
			line, "only %s threads%s", states[state], filter->native ? ", " : "");
	if (filter->native)
		dnp_line_puts(line, natives[filter->native]);
	dnp_line_end(line);
}

/* Whose code it was that ran: shares of self. None did where all leaves are what happened. */
static void put_kinds(const struct dnp_tree *tree, struct dnp_line *line)
{
	static const char *const names[] = {
		[DNP_CODE_USER] = "own code",
		[DNP_CODE_FRAMEWORK] = ".NET",
		[DNP_CODE_NATIVE] = "native",
		[DNP_CODE_KERNEL] = "kernel",
		[DNP_CODE_GC] = "GC",
		[DNP_CODE_JIT] = "JIT",
		[DNP_CODE_OTHER] = "other",
	};
	uint64_t self[DNP_ARRAY_SIZE(names)] = {0};
	const char *separator = "";

	for (size_t i = 0; i < tree->methods.n; i++)
		self[tree->profile->frames.p[tree->methods.p[i].frame].code] +=
			tree->methods.p[i].self;
	if (self[DNP_CODE_OTHER] == tree->total[0])
		return;
	begin_facts(line);
	for (size_t i = 0; i < DNP_ARRAY_SIZE(names); i++)
		if (self[i]) {
			dnp_line_printf(line, "%s%s %.1f %%", separator, names[i],
				dnp_percent(self[i], tree->total[0]));
			separator = ", ";
		}
	dnp_line_end(line);
}

static void put_problems(const struct dnp_tree *tree, struct dnp_line *line)
{
	const struct dnp_profile *profile = tree->profile;

	for (size_t i = 0; i < profile->problems.n; i++) {
		dnp_line_puts(line, "! ");
		line->wrap = 2;
		dnp_line_text(line, string(tree, profile->problems.p[i]));
		dnp_line_end(line);
	}
}

/* A share of all samples and how far it may be off, and what it is of. */
static void put_part(const struct dnp_tree *tree, uint64_t part, struct dnp_line *line)
{
	double percent = dnp_percent(part, tree->total[0]);

	dnp_line_printf(line, "%6.1f %% ", percent);
	if (dnp_event_has_looks(tree->event))
		dnp_line_printf(line, "%7.1f ", 100 * dnp_event_error(tree->event, percent / 100));
	dnp_line_right(line, dnp_format_weight(tree->event, part).text, 11);
}

static void put_method(
	const struct dnp_tree *tree, const struct dnp_method *method, struct dnp_line *line)
{
	if (tree->calls) {
		dnp_text_calls_method(tree, method, line);
		return;
	}
	put_part(tree, method->self, line);
	dnp_line_puts(line, "  ");
	put_part(tree, method->total, line);
	dnp_line_puts(line, "   ");
	dnp_line_name(line, string(tree, tree->profile->frames.p[method->frame].name));
	dnp_line_end(line);
}

/* What only leads to others, as the host that starts the runtime, would fill the list by total. */
static bool only_leads_on(const struct dnp_tree *tree, const struct dnp_method *method)
{
	uint32_t code = tree->profile->frames.p[method->frame].code;

	return code != DNP_CODE_USER && code != DNP_CODE_FRAMEWORK && !method->self;
}

static void put_columns(const struct dnp_tree *tree, struct dnp_line *line)
{
	if (tree->calls) {
		dnp_text_calls_columns(tree, line);
		return;
	}
	dnp_line_puts(line,
		tree->event->in_ns                         ? TIME_COLUMNS
			: tree->event->in_bytes            ? BYTES_COLUMNS
			: dnp_event_has_looks(tree->event) ? LOOK_COLUMNS
							   : METHOD_COLUMNS);
	dnp_line_end(line);
}

static void put_methods(const struct dnp_tree *tree, size_t top, struct dnp_line *line)
{
	size_t n = top && top < tree->methods.n ? top : tree->methods.n;

	dnp_text_heading("Methods by self", n, tree->methods.n, line);
	put_columns(tree, line);
	for (size_t i = 0; i < n; i++)
		put_method(tree, &tree->methods.p[i], line);
}

static void put_methods_by_total(const struct dnp_tree *tree, size_t top, struct dnp_line *line)
{
	size_t all = 0;

	for (size_t i = 0; i < tree->methods.n; i++)
		all += !only_leads_on(tree, &tree->methods.p[i]);
	top = top && top < all ? top : all;
	dnp_text_heading("Methods by total", top, all, line);
	put_columns(tree, line);
	for (size_t i = 0; top; i++) {
		if (only_leads_on(tree, &tree->methods.p[i]))
			continue;
		put_method(tree, &tree->methods.p[i], line);
		top--;
	}
}

static bool is_of(const struct dnp_tree *tree, const char *event)
{
	return !strcmp(string(tree, tree->event->name), event);
}

/* What all events have in common comes with the first one that is shown. */
static int put_report(struct dnp_tree *tree, const struct dnp_export_options *options, bool first,
	struct dnp_line *line)
{
	if (first)
		put_processes(tree, line);
	put_event(tree, line);
	if (!options->every_event)
		put_others(tree, line);
	put_left_out(tree, line);
	put_unchosen(tree, line);
	if (tree->total[0])
		put_kinds(tree, line);
	if (first)
		put_problems(tree, line);
	if (tree->event->switches)
		return dnp_text_switches_threads(tree->profile, tree->event, options, line) ||
				dnp_text_switches_waits(tree->profile, options, line) ||
				dnp_text_switches_wakes(tree->profile, options, line)
			? -ENOMEM
			: 0;
	if (tree->event->says)
		return dnp_text_spans(tree->profile, options, line);
	if (is_of(tree, "gc") && dnp_text_collections(tree->profile, options, line))
		return -ENOMEM;
	if (options->methods && is_of(tree, "live") && dnp_text_live(tree, options, line))
		return -ENOMEM;
	if (options->every_event && !tree->total[0])
		return 0;
	if (options->methods) {
		dnp_text_labels(tree, options->top, line);
		if (!is_of(tree, "live") && dnp_text_sites(tree, options->top, line))
			return -ENOMEM;
		dnp_text_thrown(tree, options->top, line);
		put_methods(tree, options->top, line);
		dnp_tree_sort_by_total(tree);
		put_methods_by_total(tree, options->top, line);
	}
	if (options->threads && dnp_text_threads(tree, options, line))
		return -ENOMEM;
	if (options->about_count && dnp_text_neighbours(tree, options, line))
		return -ENOMEM;
	if (options->tree)
		dnp_text_tree(tree, options->min_percent, line);
	return 0;
}

static int write_event(const struct dnp_profile *profile, uint32_t event,
	const struct dnp_export_options *options, bool first, struct dnp_line *line)
{
	struct dnp_tree tree;
	int status = dnp_tree_init(&tree, profile, event);

	if (!first)
		dnp_line_end(line);
	if (!status)
		status = put_report(&tree, options, first, line);
	dnp_tree_done(&tree);
	return status;
}

static int write_text(const struct dnp_profile *profile, const struct dnp_export_options *options,
	struct dnp_sink *sink, struct dnp_err *err)
{
	struct dnp_line line = {.sink = sink, .columns = options->columns};
	int status = write_event(profile, options->event, options, true, &line);

	for (uint32_t i = 0; options->every_event && !status && i < profile->events.n; i++)
		if (i != options->event)
			status = write_event(profile, i, options, false, &line);
	if (status)
		dnp_err(err, status,
			"cannot write the report: out of memory; report part of the time");
	return status;
}

const struct dnp_exporter dnp_export_text = {
	.name = "text",
	.extensions = ".txt",
	.write = write_text,
};
