/* SPDX-License-Identifier: MIT */
#include "export/stacks.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "export/line.h"
#include "export/share.h"

static const char *string(const struct dnp_moment *moment, uint32_t number)
{
	return dnp_profile_string(moment->profile, number);
}

static const struct dnp_frame *frame_at(const struct dnp_moment *moment, uint32_t node)
{
	return &moment->profile->frames.p[moment->profile->nodes.p[node].frame];
}

static uint32_t below(const struct dnp_moment *moment, uint32_t node)
{
	return moment->profile->nodes.p[node].parent;
}

static bool is_managed(const struct dnp_frame *frame)
{
	return frame->code == DNP_CODE_USER || frame->code == DNP_CODE_FRAMEWORK;
}

/* Texts of the recording, bounded: they may be anything. */
struct words {
	char text[128];
};

static struct words words_of(struct dnp_str str)
{
	struct words words;

	snprintf(words.text, sizeof(words.text), "%.*s", (int)(str.n < 127 ? str.n : 127),
		str.n ? str.p : "");
	return words;
}

static struct words call_of(const struct dnp_moment_thread *thread)
{
	struct words words = words_of(thread->call);

	if (!thread->call.n && thread->call_number >= 0)
		snprintf(words.text, sizeof(words.text), "system call %" PRId64,
			thread->call_number);
	return words;
}

/* ---- For people */

static size_t count_state(const struct dnp_moment *moment, enum dnp_thread_doing state)
{
	size_t n = 0;

	for (size_t i = 0; i < moment->threads.n; i++)
		n += moment->threads.p[i].state == state;
	return n;
}

static void put_process(const struct dnp_moment *moment, struct dnp_line *line)
{
	const struct dnp_process *process = &moment->profile->processes.p[0];
	size_t unknown = count_state(moment, DNP_THREAD_UNSEEN);

	dnp_line_text(line, string(moment, process->title));
	dnp_line_puts(line, ":");
	for (size_t i = 0; i < process->command.n; i++) {
		dnp_line_puts(line, " ");
		dnp_line_text(line, string(moment, process->command.p[i]));
	}
	dnp_line_end(line);
	dnp_line_puts(line, "  ");
	line->wrap = 4;
	dnp_line_printf(line, "pid %" PRIu64 ", .NET ", process->pid);
	dnp_line_text(line, string(moment, process->runtime));
	dnp_line_printf(line, ", %zu threads: %zu running, %zu waiting", moment->threads.n,
		count_state(moment, DNP_THREAD_RUNNING), count_state(moment, DNP_THREAD_WAITING));
	if (unknown)
		dnp_line_printf(line, ", %zu not known", unknown);
	dnp_line_printf(line, "; %s", dnp_format_time(process->start_unix_ns).text);
	dnp_line_end(line);
}

static void put_state(const struct dnp_moment_thread *thread, struct dnp_line *line)
{
	switch (thread->state) {
	case DNP_THREAD_RUNNING: dnp_line_puts(line, "running"); break;
	case DNP_THREAD_UNSEEN: dnp_line_puts(line, "state not known"); break;
	case DNP_THREAD_WAITING:
		dnp_line_puts(line, "waiting");
		if (thread->call_number >= 0) {
			dnp_line_puts(line, " in ");
			dnp_line_text(line, call_of(thread).text);
		}
		break;
	}
}

static void put_who(const struct dnp_moment *moment, const struct dnp_moment_thread *thread,
	struct dnp_line *line)
{
	dnp_line_printf(line, "%" PRIu64, thread->tid);
	if (*string(moment, thread->name)) {
		dnp_line_puts(line, " \"");
		dnp_line_text(line, string(moment, thread->name));
		dnp_line_puts(line, "\"");
	}
}

static size_t count_same(const struct dnp_moment *moment, uint32_t leader)
{
	size_t n = 0;

	for (size_t i = leader; i < moment->threads.n; i++)
		n += moment->threads.p[i].same == leader;
	return n;
}

/* "Thread 12 "name", waiting in futex", or "×3 threads, waiting in futex: 12 "name", 13 …". */
static void put_heading(
	const struct dnp_moment *moment, uint32_t leader, bool each, struct dnp_line *line)
{
	const struct dnp_moment_thread *threads = moment->threads.p;
	size_t n = each ? 1 : count_same(moment, leader);

	if (n == 1) {
		dnp_line_puts(line, "Thread ");
		put_who(moment, &threads[leader], line);
		dnp_line_puts(line, ", ");
		put_state(&threads[leader], line);
		dnp_line_end(line);
		return;
	}
	line->wrap = 4;
	dnp_line_printf(line, "×%zu threads, ", n);
	put_state(&threads[leader], line);
	dnp_line_puts(line, ": ");
	for (size_t i = leader; i < moment->threads.n; i++) {
		if (threads[i].same != leader)
			continue;
		put_who(moment, &threads[i], line);
		if (--n)
			dnp_line_puts(line, ", ");
	}
	dnp_line_end(line);
}

static void put_frames(const struct dnp_moment *moment, const struct dnp_moment_thread *thread,
	struct dnp_line *line)
{
	for (uint32_t node = thread->node; node && node != DNP_NONE; node = below(moment, node)) {
		const struct dnp_frame *frame = frame_at(moment, node);

		dnp_line_puts(line, "  ");
		dnp_line_name(line, string(moment, frame->name));
		if (is_managed(frame) && *string(moment, frame->module)) {
			dnp_line_puts(line, "  ");
			dnp_line_text(line, string(moment, frame->module));
		}
		dnp_line_end(line);
	}
	if (thread->missing.n) {
		dnp_line_puts(line,
			thread->node == DNP_NONE ? "  no stack: " : "  the rest is missing: ");
		dnp_line_text(line, words_of(thread->missing).text);
		dnp_line_end(line);
	}
}

void dnp_stacks_text(
	const struct dnp_moment *moment, bool each, unsigned columns, struct dnp_sink *sink)
{
	struct dnp_line line = {.sink = sink, .columns = columns};

	put_process(moment, &line);
	for (uint32_t i = 0; i < moment->threads.n; i++) {
		if (!each && moment->threads.p[i].same != i)
			continue;
		dnp_line_end(&line);
		put_heading(moment, i, each, &line);
		put_frames(moment, &moment->threads.p[i], &line);
	}
}

/* ---- For programs */

static void put_json_frame(
	const struct dnp_moment *moment, const struct dnp_frame *frame, struct dnp_json *json)
{
	dnp_json_open(json, NULL, '{');
	dnp_json_text(json, "name", string(moment, frame->name));
	dnp_json_text(json, "module", string(moment, frame->module));
	dnp_json_text(json, "kind",
		is_managed(frame)                        ? "managed"
			: frame->code == DNP_CODE_KERNEL ? "kernel"
							 : "native");
	dnp_json_close(json, '}');
}

static void put_json_thread(const struct dnp_moment *moment, const struct dnp_moment_thread *thread,
	struct dnp_json *json)
{
	static const char *const states[] = {
		[DNP_THREAD_UNSEEN] = "unknown",
		[DNP_THREAD_RUNNING] = "running",
		[DNP_THREAD_WAITING] = "waiting",
	};

	dnp_json_open(json, NULL, '{');
	dnp_json_u64(json, "tid", thread->tid);
	dnp_json_text(json, "name", string(moment, thread->name));
	dnp_json_text(json, "state", states[thread->state]);
	dnp_json_text(json, "call", call_of(thread).text);
	dnp_json_text(json, "missing", words_of(thread->missing).text);
	dnp_json_open(json, "frames", '[');
	for (uint32_t node = thread->node; node && node != DNP_NONE; node = below(moment, node))
		put_json_frame(moment, frame_at(moment, node), json);
	dnp_json_close(json, ']');
	dnp_json_close(json, '}');
}

void dnp_stacks_json(const struct dnp_moment *moment, struct dnp_sink *sink)
{
	const struct dnp_process *process = &moment->profile->processes.p[0];
	struct dnp_json json = {.sink = sink};

	dnp_json_open(&json, NULL, '{');
	dnp_json_u64(&json, "version", 1);
	dnp_json_open(&json, "command", '[');
	for (size_t i = 0; i < process->command.n; i++)
		dnp_json_text(&json, NULL, string(moment, process->command.p[i]));
	dnp_json_close(&json, ']');
	dnp_json_u64(&json, "pid", process->pid);
	dnp_json_text(&json, "runtime", string(moment, process->runtime));
	dnp_json_u64(&json, "time_unix_ns", process->start_unix_ns);
	dnp_json_open(&json, "threads", '[');
	for (size_t i = 0; i < moment->threads.n; i++)
		put_json_thread(moment, &moment->threads.p[i], &json);
	dnp_json_close(&json, ']');
	dnp_json_close(&json, '}');
	dnp_sink_puts(sink, "\n");
}
