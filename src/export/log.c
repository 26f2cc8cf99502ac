/* SPDX-License-Identifier: MIT */
#include "export/log.h"

#include <inttypes.h>
#include <stdio.h>

#include "aggregate/chosen.h"
#include "aggregate/ids.h"
#include "aggregate/tree.h"
#include "base/clean.h"
#include "base/pattern.h"
#include "base/utf8.h"
#include "export/share.h"
#include "os/file_sink.h"
#include "read/call_values.h"
#include "read/calls.h"

#define VALUES_MAX 4096 /* bytes of a call's arguments, or its result; of longer ones the first */

#define UNKNOWN 0u /* the method of calls whose beginning was lost, or that nothing names */

struct log_method {
	char *label;   /* owned: "Name, id=0x…, call count = " */
	size_t length; /* of it */
	size_t name;   /* of the name in it */
	uint64_t count;
	bool shown;
	bool no_arguments; /* by its name */
};

/* The log of one process. */
struct log {
	const struct dnp_log_options *options;
	const struct dnp_profile *profile;
	const struct dnp_process *process;
	const struct dnp_recording *recording;
	struct dnp_sink *sink;
	struct dnp_vec_of(struct log_method) methods;
	struct dnp_ids by_number; /* of a traced method → in methods */
	struct dnp_vec_of(char) line;
	struct dnp_call_values *values; /* NULL: of a recording without any */
	uint64_t calls;                 /* of all processes, as what follows */
	uint64_t damaged;               /* bytes of calls that could not be understood */
};

/* A name without what would act on a terminal, and without arguments if they are not wanted. */
static void put_name(const struct log *log, struct dnp_str name, struct dnp_sink *out)
{
	if (!log->options->signatures)
		name = dnp_name_bare(name);
	for (size_t at = 0; at < name.n;) {
		char bytes[4];
		uint32_t code = dnp_utf8_next(name, &at);

		dnp_sink_write(out, bytes,
			dnp_utf8_put(bytes, dnp_utf8_unsafe(code) ? DNP_UTF8_BAD : code));
	}
}

static bool is_shown(const struct dnp_log_options *options, struct dnp_str name)
{
	return (!options->include_count ||
		       dnp_pattern_any(options->include, options->include_count, name)) &&
		!dnp_pattern_any(options->exclude, options->exclude_count, name);
}

static int add_method(struct log *log, struct dnp_str name, uint64_t function_id)
{
	struct log_method method = {.shown = is_shown(log->options, name)};
	struct dnp_str arguments = dnp_name_arguments(name);
	struct dnp_sink_memory label;

	dnp_sink_memory_init(&label);
	put_name(log, name, &label.sink);
	method.name = label.bytes.n;
	dnp_sink_printf(&label.sink, ", id=0x%" PRIx64 ", call count = ", function_id);
	/* A step of an async method or an iterator is named without brackets. */
	method.no_arguments = arguments.n ? arguments.n >= 2 && arguments.p[1] == ')'
					  : name.n && name.p[name.n - 1] == ']';
	method.label = label.bytes.p;
	method.length = label.bytes.n;
	if (label.sink.error || dnp_vec_push(&log->methods, method)) {
		dnp_vec_done(&label.bytes);
		return -ENOMEM;
	}
	return 0;
}

static struct dnp_str frame_name(const struct dnp_profile *profile, uint32_t frame)
{
	return dnp_str(dnp_profile_string(profile, profile->frames.p[frame].name));
}

static int add_methods(struct log *log)
{
	if (add_method(log, dnp_str("[lost]"), 0))
		return -ENOMEM;
	for (size_t i = 0; i < log->process->traced.n; i++) {
		const struct dnp_traced *traced = &log->process->traced.p[i];

		if (add_method(log, frame_name(log->profile, traced->frame), traced->function_id) ||
			dnp_ids_set(
				&log->by_number, traced->number, (uint32_t)(log->methods.n - 1)))
			return -ENOMEM;
	}
	return 0;
}

static void log_done(struct log *log)
{
	for (size_t i = 0; i < log->methods.n; i++)
		free(log->methods.p[i].label);
	dnp_vec_done(&log->methods);
	dnp_vec_done(&log->line);
	dnp_ids_done(&log->by_number);
}

/* The line in the making; its capacity was seen to by begin_line. */
static void append(struct log *log, const char *bytes, size_t n)
{
	memcpy(log->line.p + log->line.n, bytes, n);
	log->line.n += n;
}

static void append_number(struct log *log, uint64_t number)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	append(log, digits + at, sizeof(digits) - at);
}

static uint64_t since_start(const struct log *log, uint64_t time_ns)
{
	uint64_t start_ns = log->recording->process.start_ns;

	return time_ns > start_ns ? time_ns - start_ns : 0;
}

/* What stands before the indentation. */
static void append_marks(struct log *log, const struct dnp_call_event *event, uint64_t tid)
{
	char text[96];

	if (log->options->by_time)
		append(log, text, (size_t)snprintf(text, sizeof(text), "%7" PRIu64 "  ", tid));
	if (log->options->times)
		append(log, text,
			(size_t)snprintf(text, sizeof(text), "%14.6f  ",
				(double)since_start(log, event->time_ns) / 1e9));
}

/* Begins a line that gets `more` bytes behind its indentation. */
static int begin_line(
	struct log *log, const struct dnp_call_event *event, uint64_t tid, size_t more)
{
	size_t levels = event->depth < DNP_LOG_LEVELS ? event->depth : DNP_LOG_LEVELS;

	log->line.n = 0;
	if (dnp_vec_reserve(&log->line, levels * 2 + more + 256))
		return -ENOMEM;
	if (log->options->by_time || log->options->times)
		append_marks(log, event, tid);
	memset(log->line.p + log->line.n, ' ', levels * 2);
	log->line.n += levels * 2;
	if (event->depth > levels) {
		append(log, "[", 1);
		append_number(log, event->depth);
		append(log, "] ", 2);
	}
	return 0;
}

/* Values as they stand in a line, up to VALUES_MAX bytes; their strings are escaped already. */
static void append_values(struct log *log, struct dnp_str values)
{
	for (size_t at = 0; at < values.n;) {
		char bytes[4];
		uint32_t code = dnp_utf8_next(values, &at);

		append(log, bytes,
			dnp_utf8_put(bytes, dnp_utf8_unsafe(code) ? DNP_UTF8_BAD : code));
	}
}

/* What a call was given, in brackets behind its name. */
static void append_arguments(
	struct log *log, const struct dnp_call_event *event, const struct log_method *method)
{
	char buffer[VALUES_MAX];
	struct dnp_text text;

	dnp_text_init(&text, buffer, sizeof(buffer));
	if (!dnp_call_values_text(log->values, event, &text) && !method->no_arguments)
		dnp_text_puts(&text, "…"); /* there was no room for them */
	append(log, "(", 1);
	append_values(log, dnp_text_since(&text, 0));
	append(log, ")", 1);
}

/* What a call gave back: a line of its own below what it called. */
static int put_result(struct log *log, const struct dnp_call_event *event, uint64_t tid)
{
	uint32_t at = dnp_ids_get(&log->by_number, event->method);
	char buffer[VALUES_MAX];
	struct dnp_text text;

	dnp_text_init(&text, buffer, sizeof(buffer));
	if (at == DNP_NONE || !log->methods.p[at].shown || log->options->no_calls ||
		!dnp_call_values_text(log->values, event, &text))
		return 0;
	/* Bytes that are not UTF-8 become three. */
	if (begin_line(log, event, tid, 3 * VALUES_MAX))
		return -ENOMEM;
	append(log, "= ", 2);
	append_values(log, dnp_text_since(&text, 0));
	append(log, "\n", 1);
	dnp_sink_write(log->sink, log->line.p, log->line.n);
	return 0;
}

static int put_call(struct log *log, const struct dnp_call_event *event, uint64_t tid)
{
	uint32_t at = event->method ? dnp_ids_get(&log->by_number, event->method) : UNKNOWN;
	struct log_method *method = &log->methods.p[at == DNP_NONE ? UNKNOWN : at];

	if (!method->shown)
		return 0;
	/* One that was open when events were lost was called, but not counted. */
	method->count += event->method ? 1 : 0;
	log->calls += event->method ? 1 : 0;
	if (log->options->no_calls)
		return 0;
	if (begin_line(log, event, tid, method->length + (log->values ? 3 * VALUES_MAX : 0)))
		return -ENOMEM;
	append(log, method->label, method->name);
	if (log->values && event->method)
		append_arguments(log, event, method);
	if (event->method) {
		append(log, method->label + method->name, method->length - method->name);
		append_number(log, method->count);
	}
	append(log, "\n", 1);
	dnp_sink_write(log->sink, log->line.p, log->line.n);
	return 0;
}

static int put_gap(struct log *log, const struct dnp_call_event *event, uint64_t tid)
{
	if (log->options->no_calls)
		return 0;
	if (begin_line(log, event, tid, 64))
		return -ENOMEM;
	append(log, "[", 1);
	if (event->lost)
		append_number(log, event->lost);
	else
		append(log, "some", 4);
	append(log, " events lost]\n", 14);
	dnp_sink_write(log->sink, log->line.p, log->line.n);
	return 0;
}

/* The thread of the profile, DNP_NONE: not wanted. */
static uint32_t thread_of(const struct log *log, uint32_t index)
{
	return dnp_map_get(&log->process->thread_of, index);
}

/* All events of a thread, or of all. */
static int put_events(struct log *log, struct dnp_call_log *calls, uint32_t which)
{
	struct dnp_call_cursor *cursor;
	struct dnp_call_event event;
	uint32_t last = UINT32_MAX, thread = DNP_NONE;
	uint64_t tid = 0;
	int status = dnp_call_cursor_new(calls, which, &cursor);

	if (status)
		return status;
	while (!log->sink->error && (status = dnp_call_cursor_next(cursor, &event)) > 0) {
		status = 0;
		if (event.thread != last) {
			last = event.thread;
			thread = thread_of(log, last);
			tid = thread == DNP_NONE ? 0 : log->profile->threads.p[thread].tid;
		}
		if (thread == DNP_NONE)
			continue;
		if (event.kind == DNP_CALL_ENTER)
			status = put_call(log, &event, tid);
		else if (event.kind == DNP_CALL_LEAVE && log->values)
			status = put_result(log, &event, tid);
		else if (event.kind == DNP_CALL_LOST)
			status = put_gap(log, &event, tid);
		if (status)
			break;
	}
	log->damaged += dnp_call_cursor_damaged(cursor);
	dnp_call_cursor_free(cursor);
	return status < 0 ? status : 0;
}

static int by_first(const void *left, const void *right)
{
	const struct dnp_call_thread *a = left, *b = right;

	if (a->first_ns != b->first_ns)
		return a->first_ns < b->first_ns ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

/* Puts a text of our own that may hold a name of theirs. */
static void put_heading(struct log *log, const char *what, uint64_t id, const char *name)
{
	dnp_sink_printf(log->sink, "%s %" PRIu64, what, id);
	if (*name) {
		dnp_sink_puts(log->sink, " ");
		put_name(log, dnp_str(name), log->sink);
	}
	dnp_sink_puts(log->sink, ":\n");
}

static int put_thread(struct log *log, struct dnp_call_log *calls, uint32_t index, bool heading)
{
	const struct dnp_thread *thread = &log->profile->threads.p[thread_of(log, index)];

	if (heading && !log->options->no_calls)
		put_heading(
			log, "Thread", thread->tid, dnp_profile_string(log->profile, thread->name));
	return put_events(log, calls, index);
}

/* In the order in which they began; a thread alone needs no heading. */
static int put_threads(struct log *log, struct dnp_call_log *calls)
{
	size_t n, kept = 0;
	const struct dnp_call_thread *all = dnp_call_log_threads(calls, &n);
	auto_free struct dnp_call_thread *threads = calloc(n + 1, sizeof(*threads));
	int status = 0;

	if (!threads)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (thread_of(log, all[i].thread) != DNP_NONE)
			threads[kept++] = all[i];
	qsort(threads, kept, sizeof(*threads), by_first);
	for (size_t i = 0; i < kept && !status && !log->sink->error; i++)
		status = put_thread(log, calls, threads[i].thread, n > 1);
	return status;
}

/* Values, if the recording has any. */
static int open_values(struct log *log)
{
	int status = dnp_call_values_new(log->recording, log->process->calls_event, &log->values);

	if (!status && !dnp_call_values_any(log->values)) {
		dnp_call_values_free(log->values);
		log->values = NULL;
	}
	return status;
}

static int put_calls(struct log *log)
{
	struct dnp_call_log *calls;
	int status =
		dnp_call_log_new(log->recording, log->process->calls_event, &calls, &log->damaged);

	if (status)
		return status;
	status = open_values(log);
	if (!status && log->options->by_time)
		status = put_events(log, calls, DNP_CALL_ALL_THREADS);
	else if (!status)
		status = put_threads(log, calls);
	dnp_call_values_free(log->values);
	log->values = NULL;
	dnp_call_log_free(calls);
	return status;
}

/* Most calls first; of as many in the order of their names. */
static int by_count(const void *left, const void *right)
{
	const struct log_method *a = left, *b = right;
	int order;

	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	order = memcmp(a->label, b->label, a->name < b->name ? a->name : b->name);
	return order ? order : a->name < b->name ? -1 : a->name > b->name;
}

/* Each function that was called; the methods are in another order then. */
static void put_summary(struct log *log)
{
	if (!log->options->no_calls)
		dnp_sink_puts(log->sink, "\n");
	qsort(log->methods.p, log->methods.n, sizeof(*log->methods.p), by_count);
	for (size_t i = 0; i < log->methods.n && log->methods.p[i].count && !log->sink->error;
		i++) {
		const struct log_method *method = &log->methods.p[i];

		dnp_sink_write(log->sink, method->label, method->name);
		dnp_sink_printf(log->sink, " : call count = %" PRIu64 "\n", method->count);
	}
}

/* The recording of one process, whose calls were kept as they happened. */
static int put_process(struct log *log, const struct dnp_input *input, size_t i, bool heading)
{
	log->process = &log->profile->processes.p[i];
	log->recording = &input->recordings.p[i];
	if (log->process->calls_event == UINT64_MAX)
		return 0;
	if (heading)
		put_heading(log, "Process", log->process->pid,
			dnp_profile_string(log->profile, log->process->title));
	if (add_methods(log) || put_calls(log))
		return -ENOMEM;
	if (!log->options->no_summary)
		put_summary(log);
	return 0;
}

/* A path of the tree of calls. */
static int put_node(struct log *log, const struct dnp_tree *tree, const struct dnp_tree_walk *walk)
{
	struct log_method *method = &log->methods.p[tree->profile->nodes.p[walk->node].frame];
	struct dnp_call_event event = {.depth = walk->depth - 1};
	uint64_t calls = tree->calls[walk->node];

	if (!method->shown)
		return 0;
	method->count += calls;
	log->calls += calls;
	if (log->options->no_calls)
		return 0;
	if (begin_line(log, &event, 0, method->length))
		return -ENOMEM;
	append(log, method->label, calls ? method->length : method->name);
	if (calls) /* nobody counted a caller that is missing */
		append_number(log, calls);
	append(log, "\n", 1);
	dnp_sink_write(log->sink, log->line.p, log->line.n);
	return 0;
}

/*
 * A method for each frame; the first function of that name, where several have it, is its id. What
 * is lost has none: it is of many.
 */
static int add_frames(struct log *log)
{
	size_t n = log->profile->frames.n;
	auto_free uint64_t *ids = calloc(n, sizeof(*ids));

	if (!ids)
		return -ENOMEM;
	for (size_t i = log->profile->processes.n; i-- > 0;) {
		const struct dnp_process *process = &log->profile->processes.p[i];

		for (size_t k = process->traced.n; k-- > 0;)
			if (process->traced.p[k].frame != process->lost_frame)
				ids[process->traced.p[k].frame] = process->traced.p[k].function_id;
	}
	for (uint32_t i = 0; i < n; i++)
		if (add_method(log, frame_name(log->profile, i), ids[i]))
			return -ENOMEM;
	return 0;
}

/* All processes and threads as one tree: what was recorded without an order. */
static int put_tree(struct log *log, uint32_t event)
{
	struct dnp_log_options options = *log->options;
	struct dnp_tree tree;
	struct dnp_tree_walk walk;
	int status = dnp_tree_init(&tree, log->profile, event);

	options.by_time = options.times = false;
	log->options = &options;
	if (!status)
		status = add_frames(log);
	if (!status)
		dnp_tree_sort_nodes_by_first(&tree);
	walk = dnp_tree_walk(&tree, 0);
	while (!status && !log->sink->error && dnp_tree_walk_next(&walk))
		if (walk.depth)
			status = put_node(log, &tree, &walk);
	dnp_tree_done(&tree);
	if (!status && !options.no_summary)
		put_summary(log);
	return status;
}

/* The event that counts calls, DNP_NONE: there is none. */
static uint32_t calls_event(const struct dnp_profile *profile)
{
	for (uint32_t i = 0; i < profile->events.n; i++)
		if (profile->events.p[i].calls)
			return i;
	return DNP_NONE;
}

static int put_all(const struct dnp_profile *profile, const struct dnp_input *input, uint32_t event,
	struct log *log)
{
	size_t traced = 0;
	int status = 0;

	if (profile->events.p[event].calls->depth != DNP_CALL_EVENTS) {
		status = put_tree(log, event);
		log_done(log);
		return status;
	}
	for (size_t i = 0; i < profile->processes.n; i++)
		traced += profile->processes.p[i].calls_event != UINT64_MAX;
	for (size_t i = 0; i < profile->processes.n && !status && !log->sink->error; i++) {
		status = put_process(log, input, i, traced > 1);
		log_done(log);
	}
	return status;
}

/* The order of calls is known of some processes, and of others that have some it is not. */
static bool is_mixed(const struct dnp_profile *profile, uint32_t event)
{
	bool mixed = false;

	for (size_t i = 0; i < profile->processes.n; i++)
		mixed = mixed || profile->processes.p[i].calls_summed;
	return mixed && profile->events.p[event].calls->depth == DNP_CALL_EVENTS;
}

static void add_missing(struct dnp_text *missing, const char *what)
{
	dnp_text_puts(missing, missing->n ? "; " : "");
	dnp_text_puts(missing, what);
}

static void judge(const struct dnp_profile *profile, const struct log *log, uint32_t event,
	struct dnp_log_outcome *outcome)
{
	struct dnp_text missing;
	char text[128];

	*outcome = (struct dnp_log_outcome){
		.calls = log->calls, .lost = profile->events.p[event].lost};
	outcome->incomplete = profile->incomplete || log->damaged || outcome->lost;
	dnp_text_init(&missing, outcome->missing, sizeof(outcome->missing));
	if (profile->incomplete)
		add_missing(&missing, dnp_profile_string(profile, profile->missing));
	if (log->damaged) {
		snprintf(text, sizeof(text),
			"%" PRIu64 " bytes of calls could not be understood and were skipped",
			log->damaged);
		add_missing(&missing, text);
	}
	if (outcome->lost) {
		snprintf(text, sizeof(text),
			"%s events of calls were lost; record fewer methods, with --include",
			dnp_format_count(outcome->lost).text);
		add_missing(&missing, text);
	}
}

/* Whether each thread and each method that is to be shown is there. */
static int names_exist(const struct dnp_profile *profile, const struct dnp_log_options *options,
	struct dnp_err *err)
{
	int status = dnp_chosen_exist(profile, err);

	for (size_t i = 0; i < options->include_count && !status; i++) {
		struct dnp_search search = {.option = "--include",
			.pattern = options->include[i],
			.kind = "traced methods"};

		for (size_t p = 0; p < profile->processes.n; p++) {
			const struct dnp_process *process = &profile->processes.p[p];

			for (size_t k = 0; k < process->traced.n; k++)
				dnp_search_see(
					&search, frame_name(profile, process->traced.p[k].frame).p);
		}
		status = dnp_search_end(&search, err);
	}
	return status;
}

static int write_log(struct dnp_profile *profile, const struct dnp_input *input,
	const struct dnp_log_options *options, struct dnp_sink *sink,
	struct dnp_log_outcome *outcome, struct dnp_err *err)
{
	struct log log = {.options = options, .profile = profile, .sink = sink};
	uint32_t event;
	int status;

	profile->calls_later = true;
	status = dnp_profile_add(profile, input, err);
	if (status)
		return status;
	dnp_profile_finish(profile);
	event = calls_event(profile);
	if (event == DNP_NONE && profile->incomplete)
		return dnp_err(err, -ENODATA,
			"there is no log: no calls stand in what there is of the recording, which "
			"is "
			"incomplete: %s",
			dnp_profile_string(profile, profile->missing));
	if (event == DNP_NONE)
		return dnp_err(err, -ENODATA,
			"there is no log: no calls were recorded; record them with 'dnprof run -e "
			"trace --depth events'");
	if (is_mixed(profile, event))
		return dnp_err(err, -EINVAL,
			"there is no log of all: some of it was recorded with '--depth events', "
			"which "
			"keeps the order of calls, and some without; write a log of each");
	if (profile->events.p[event].calls->depth != DNP_CALL_EVENTS &&
		(options->by_time || options->times))
		return dnp_err(err, -EINVAL,
			"there is no log by time: the recording has how often calls were made, not "
			"when; leave --by-time and --times away, or record with --depth events");
	status = put_all(profile, input, event, &log);
	if (status)
		return dnp_err(err, status,
			"cannot write the log: out of memory; write that of fewer threads");
	if (!outcome)
		return 0;
	judge(profile, &log, event, outcome);
	names_exist(profile, options, &outcome->absent);
	return 0;
}

int dnp_log_put(const struct dnp_input *input, const struct dnp_log_options *options,
	struct dnp_sink *sink, struct dnp_log_outcome *outcome, struct dnp_err *err)
{
	struct dnp_filter filter = {
		.threads = options->threads, .thread_count = options->thread_count};
	struct dnp_profile profile;
	int status = dnp_profile_init(&profile, DNP_SUMS, &filter);

	if (status)
		dnp_err(err, status, "cannot write the log: out of memory; free some");
	else
		status = write_log(&profile, input, options, sink, outcome, err);
	dnp_profile_done(&profile);
	return status;
}

int dnp_log_write(const struct dnp_input *input, const char *path,
	const struct dnp_log_options *options, struct dnp_log_outcome *outcome, struct dnp_err *err)
{
	struct dnp_sink_file file;
	int status = dnp_sink_file_open(&file, path, err);

	if (status)
		return status;
	status = dnp_log_put(input, options, &file.out.sink, outcome, err);
	if (status) {
		dnp_sink_file_abort(&file);
		return status;
	}
	return dnp_sink_file_commit(&file, err);
}
