/* SPDX-License-Identifier: MIT */
/* dnprof status: the .NET processes, and what the profiler does in them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clean.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "export/share.h"
#include "launch/processes.h"
#include "launch/stale.h"
#include "os/clock.h"
#include "os/library.h"

#define OPT(name) DNP_OPT(status, name)

#define SECOND_NS UINT64_C(1000000000)
#define LONGEST   400

enum column { PID, USER, RUNTIME, PROFILER, NAME, STATE, COLUMNS };

/* A process as a line of the table. */
struct row {
	char cell[COLUMNS][LONGEST];
};

static const char *base_name(const char *path)
{
	return path + dnp_path_base_at(path, strlen(path));
}

/* What others have named is shown without the bytes that a terminal would obey. */
static void make_plain(char *text)
{
	for (unsigned char *p = (unsigned char *)text; *p; p++)
		if (*p < ' ' || *p == 0x7f)
			*p = '?';
}

static uint64_t seconds_since(uint64_t unix_ns)
{
	uint64_t now_ns = dnp_unix_ns();

	return now_ns > unix_ns ? (now_ns - unix_ns) / SECOND_NS : 0;
}

static void describe_recording(const struct dnp_status *status, char *out, size_t room)
{
	struct dnp_str left = dnp_str(status->lost_weights);
	struct dnp_lost_weight weight;
	size_t used;

	snprintf(out, room, "records %s since %" PRIu64 " s: %" PRIu64 " samples, %" PRIu64 " lost",
		status->events, seconds_since(status->since_unix_ns), status->samples,
		status->lost);
	while (dnp_lost_weight_next(&left, &weight)) {
		struct dnp_event event = {
			.in_ns = dnp_str_eq(weight.unit, dnp_str("ns")),
			.in_bytes = dnp_str_eq(weight.unit, dnp_str("bytes")),
		};

		used = strlen(out);
		snprintf(out + used, room - used, ", %s of %.*s",
			dnp_format_lost(&event, weight.lost).text, (int)weight.event.n,
			weight.event.p);
	}
}

static void describe_state(const struct dnp_seen *seen, char *out, size_t room)
{
	const struct dnp_status *status = &seen->status;

	if (*seen->why)
		snprintf(out, room, "%s", seen->why);
	else if (!seen->asked)
		snprintf(out, room, "not attached");
	else if (!strcmp(status->state, "recording"))
		describe_recording(status, out, room);
	else
		snprintf(out, room, "%s%s%s%s", status->state,
			!strcmp(status->state, "attached") ? ", records nothing" : "",
			*status->failure ? "; " : "", status->failure);
}

static void describe_profiler(const struct dnp_runtime *runtime, char *out, size_t room)
{
	const char *other = runtime->profiler ? base_name(runtime->profiler) : "";

	if (!runtime->readable)
		snprintf(out, room, "?");
	else if (runtime->agent)
		snprintf(out, room, "dnprof%s%s", *other ? "," : "", other);
	else
		snprintf(out, room, "%s", *other ? other : "-");
}

static void fill(struct row *row, const struct dnp_seen *seen)
{
	struct dnp_str name = dnp_seen_name(seen);
	const char *version = seen->runtime.version;

	snprintf(row->cell[PID], LONGEST, "%d", (int)seen->pid);
	snprintf(row->cell[USER], LONGEST, "%s", seen->user);
	snprintf(row->cell[RUNTIME], LONGEST, "%s", *version ? version : "?");
	describe_profiler(&seen->runtime, row->cell[PROFILER], LONGEST);
	snprintf(row->cell[NAME], LONGEST, "%.*s", (int)name.n, name.p);
	describe_state(seen, row->cell[STATE], LONGEST);
	for (unsigned i = 0; i < COLUMNS; i++)
		make_plain(row->cell[i]);
}

static void print_rows(const struct row *rows, size_t n, struct dnp_sink *out)
{
	size_t widths[COLUMNS] = {0};

	for (size_t i = 0; i < n; i++)
		for (unsigned c = 0; c < COLUMNS; c++)
			if (strlen(rows[i].cell[c]) > widths[c])
				widths[c] = strlen(rows[i].cell[c]);
	for (size_t i = 0; i < n; i++) {
		dnp_sink_printf(out, "%*s", (int)widths[PID], rows[i].cell[PID]);
		for (unsigned c = USER; c < STATE; c++)
			dnp_sink_printf(out, "  %-*s", (int)widths[c], rows[i].cell[c]);
		dnp_sink_printf(out, "  %s\n", rows[i].cell[STATE]);
	}
}

static int print_table(
	const struct dnp_processes *processes, struct dnp_sink *out, struct dnp_err *err)
{
	static const struct row head = {
		{"PID", "USER", "RUNTIME", "PROFILER", "NAME", "STATE"},
	};
	size_t n = processes->list.n;
	auto_free struct row *rows = calloc(n + 1, sizeof(*rows));

	if (!rows)
		return dnp_err(err, -ENOMEM, "cannot list processes: out of memory; free some");
	if (!n) {
		dnp_sink_printf(out, "No .NET process is to be seen.\n");
		return 0;
	}
	rows[0] = head;
	for (size_t i = 0; i < n; i++)
		fill(&rows[i + 1], &processes->list.p[i]);
	print_rows(rows, n + 1, out);
	return 0;
}

static void print_field(struct dnp_sink *out, const char *name, const char *value)
{
	if (*value)
		dnp_sink_printf(out, "%-10s %s\n", name, value);
}

static void print_command(const struct dnp_seen *seen, struct dnp_sink *out)
{
	struct dnp_str rest = {seen->command, seen->command_bytes}, word;

	dnp_sink_printf(out, "%-10s", "command");
	while (dnp_str_cut(&rest, '\0', &word)) {
		auto_free char *text = strndup(word.p, word.n);

		if (text) {
			make_plain(text);
			dnp_sink_printf(out, " %s", text);
		}
	}
	dnp_sink_printf(out, "\n");
}

static void print_agent(const struct dnp_status *status, struct dnp_sink *out)
{
	char text[LONGEST];

	snprintf(text, sizeof(text), "%s, in the %s slot, came by %s", status->version,
		*status->slot ? status->slot : "?",
		!strcmp(status->how, "startup") ? "dnprof run" : "attaching");
	print_field(out, "agent", text);
	if (!status->detachable)
		snprintf(text, sizeof(text), "not possible: %s", status->reason);
	print_field(out, "detach", status->detachable ? "possible" : text);
}

/* One process at length. */
static void print_one(const struct dnp_seen *seen, struct dnp_sink *out)
{
	struct row row;

	fill(&row, seen);
	print_field(out, "process", row.cell[PID]);
	print_field(out, "user", row.cell[USER]);
	print_command(seen, out);
	print_field(out, "runtime", row.cell[RUNTIME]);
	print_field(out, "libc", seen->runtime.libc);
	print_field(out, "profiler", row.cell[PROFILER]);
	if (seen->asked)
		print_agent(&seen->status, out);
	print_field(out, "state", row.cell[STATE]);
}

static void put_events(struct dnp_json *json, const char *events)
{
	struct dnp_str rest = dnp_str(events), event;

	dnp_json_open(json, "events", '[');
	while (dnp_str_cut(&rest, ',', &event))
		dnp_json_str(json, NULL, event);
	dnp_json_close(json, ']');
}

static void put_lost_weights(struct dnp_json *json, const char *weights)
{
	struct dnp_str left = dnp_str(weights);
	struct dnp_lost_weight weight;

	dnp_json_open(json, "lost_weights", '[');
	while (dnp_lost_weight_next(&left, &weight)) {
		dnp_json_open(json, NULL, '{');
		dnp_json_str(json, "event", weight.event);
		dnp_json_str(json, "unit", weight.unit);
		dnp_json_u64(json, "lost", weight.lost);
		dnp_json_close(json, '}');
	}
	dnp_json_close(json, ']');
}

static void put_agent(struct dnp_json *json, const struct dnp_status *status)
{
	dnp_json_open(json, "agent", '{');
	dnp_json_text(json, "version", status->version);
	dnp_json_text(json, "state", status->state);
	dnp_json_text(json, "slot", status->slot);
	dnp_json_text(json, "how", status->how);
	dnp_json_u64(json, "threads", status->threads);
	dnp_json_bool(json, "detachable", status->detachable);
	if (!status->detachable)
		dnp_json_text(json, "reason", status->reason);
	if (*status->failure)
		dnp_json_text(json, "failure", status->failure);
	if (!strcmp(status->state, "recording")) {
		put_events(json, status->events);
		dnp_json_u64(json, "since_unix_ns", status->since_unix_ns);
		dnp_json_u64(json, "samples", status->samples);
		dnp_json_u64(json, "lost", status->lost);
		put_lost_weights(json, status->lost_weights);
		dnp_json_u64(json, "bytes", status->bytes);
		dnp_json_u64(json, "client", status->client);
		dnp_json_bool(json, "held", status->held);
		dnp_json_bool(json, "awaited", status->awaited);
	}
	dnp_json_close(json, '}');
}

static void put_command(struct dnp_json *json, const struct dnp_seen *seen)
{
	struct dnp_str rest = {seen->command, seen->command_bytes}, word;

	dnp_json_open(json, "command", '[');
	while (dnp_str_cut(&rest, '\0', &word))
		dnp_json_str(json, NULL, word);
	dnp_json_close(json, ']');
}

static void put_process(struct dnp_json *json, const struct dnp_seen *seen)
{
	const struct dnp_runtime *runtime = &seen->runtime;

	dnp_json_open(json, NULL, '{');
	dnp_json_u64(json, "pid", (uint64_t)seen->pid);
	if (seen->uid >= 0)
		dnp_json_u64(json, "uid", (uint64_t)seen->uid);
	dnp_json_text(json, "user", seen->user);
	dnp_json_str(json, "name", dnp_seen_name(seen));
	put_command(json, seen);
	dnp_json_bool(json, "readable", runtime->readable);
	if (*runtime->version)
		dnp_json_text(json, "runtime", runtime->version);
	if (*runtime->libc)
		dnp_json_text(json, "libc", runtime->libc);
	if (runtime->profiler)
		dnp_json_text(json, "other_profiler", runtime->profiler);
	if (runtime->agent)
		dnp_json_text(json, "agent_library", runtime->agent);
	if (seen->asked)
		put_agent(json, &seen->status);
	if (*seen->why)
		dnp_json_text(json, "why", seen->why);
	dnp_json_close(json, '}');
}

static void print_json(const struct dnp_processes *processes, struct dnp_sink *out)
{
	struct dnp_json json = {.sink = out};

	dnp_json_open(&json, NULL, '{');
	dnp_json_u64(&json, "version", 1);
	dnp_json_open(&json, "processes", '[');
	for (size_t i = 0; i < processes->list.n; i++)
		put_process(&json, &processes->list.p[i]);
	dnp_json_close(&json, ']');
	dnp_json_close(&json, '}');
	dnp_sink_puts(out, "\n");
}

static int show(const struct dnp_values *values, const struct dnp_processes *processes, bool one,
	struct dnp_err *err)
{
	struct dnp_sink_fd out;
	int status = 0;

	dnp_output_begin(&out);
	if (values->given[OPT(json)])
		print_json(processes, &out.sink);
	else if (one)
		print_one(&processes->list.p[0], &out.sink);
	else
		status = print_table(processes, &out.sink, err);
	return status ? status
		      : dnp_output_end(&out, "the processes", "see where the output leads", err);
}

int dnp_cmd_status(const struct dnp_values *values, int argc, char **argv)
{
	struct dnp_processes processes = {0};
	struct dnp_err err = {0};
	uint64_t patience_ns, pid = 0;
	int failed;

	if (argc > 1)
		return dnp_usage("status", "one process at a time, or all");
	if (argc && !dnp_parse_count(argv[0], 1, INT32_MAX, &pid))
		return dnp_usage("status", "%s: not a process id", argv[0]);
	failed = dnp_take_timeout(values, &patience_ns);
	if (failed)
		return failed;
	dnp_stale_remove_own();
	failed = pid ? dnp_processes_find_one(&processes, (pid_t)pid, patience_ns, &err)
		     : dnp_processes_find(&processes, patience_ns, &err);
	if (!failed)
		failed = show(values, &processes, pid > 0, &err);
	dnp_processes_done(&processes);
	return failed ? dnp_failed(&err) : DNP_EXIT_DONE;
}
