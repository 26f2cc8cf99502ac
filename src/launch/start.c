/* SPDX-License-Identifier: MIT */
#include "launch/start.h"

#include <string.h>

#include "base/clean.h"
#include "launch/agent_file.h"
#include "launch/environment.h"
#include "launch/nothing.h"
#include "launch/process.h"
#include "launch/record.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/process.h"
#include "os/spawn.h"

#define TICK_MS           100
#define OUTLIVING_NS      UINT64_C(3000000000) /* what goes on has so long to end its recording */
#define OUTLIVING_TICK_NS UINT64_C(20000000)
#define FIRST_NS          UINT64_C(5000000000) /* after so long a runtime is looked for … */
#define LATER_NS          UINT64_C(1000000000) /* … so often */
#define MS_NS             UINT64_C(1000000)
#define SESSION_NAME      "session"

static int check_environment(struct dnp_err *err)
{
	const char *other = dnp_environment_other();

	if (other)
		return dnp_err(err, -EBUSY,
			"another profiler is configured: CORECLR_ENABLE_PROFILING is %s, for %s; "
			"run without it (unset CORECLR_ENABLE_PROFILING)",
			getenv("CORECLR_ENABLE_PROFILING"), other);
	return dnp_environment_check_diagnostics(err);
}

static int no_memory(struct dnp_err *err)
{
	return dnp_err(err, -ENOMEM, "cannot record: out of memory; free some");
}

static int make_session(struct dnp_start *start, struct dnp_err *err)
{
	auto_free char *path = dnp_output_work(&start->output, SESSION_NAME);

	return path ? dnp_session_new(&start->session, path, err) : no_memory(err);
}

int dnp_start_open(
	struct dnp_start *start, const struct dnp_start_options *options, struct dnp_err *err)
{
	int ret;

	*start = (struct dnp_start){.options = *options};
	ret = dnp_program_find(&start->program, options->command[0], err);
	if (!ret && !options->children)
		ret = dnp_program_check(&start->program, err);
	if (!ret)
		ret = check_environment(err);
	if (!ret)
		ret = dnp_agent_file_find(start->agent, err);
	if (!ret)
		ret = dnp_output_open(&start->output, options->output, err);
	if (!ret && options->log)
		ret = dnp_output_log(&start->output, options->log, err);
	if (!ret)
		ret = make_session(start, err);
	if (ret)
		dnp_start_done(start);
	return ret;
}

/* ---- The program */

/* The agent makes its recording in the private folder. */
static int set_environment(const struct dnp_start *start)
{
	static char text[DNP_OPTIONS_MAX + 1];
	struct dnp_agent_options agent = start->options.agent;
	int ret;

	agent.alone = !start->options.children;
	if (snprintf(agent.dir, sizeof(agent.dir), "%s", start->output.work) >=
			(int)sizeof(agent.dir) ||
		snprintf(agent.session, sizeof(agent.session), "%s/" SESSION_NAME,
			start->output.work) >= (int)sizeof(agent.session))
		return -ENAMETOOLONG;
	ret = dnp_agent_options_write(&agent, text, sizeof(text));
	if (ret < 0)
		return ret;
	ret = start->options.in_place ? dnp_environment_set_in_place() : 0;
	if (!ret)
		ret = dnp_environment_set(start->agent, text);
	return ret ? ret : dnp_environment_set_framework(start->agent);
}

static int spawn(struct dnp_start *start, struct dnp_spawned *child, struct dnp_err *err)
{
	const char *program = start->options.command[0];
	int ret = set_environment(start);

	if (ret)
		return dnp_err(err, ret, "cannot start %s: %s", program, strerror(-ret));
	ret = dnp_spawn(child, start->options.command, err);
	if (ret)
		return ret;
	start->pid = child->pid;
	start->session->program = start->options.children ? 0 : child->pid;
	ret = dnp_output_name(&start->output, child->pid, err);
	if (ret)
		dnp_spawned_abandon(child);
	return ret;
}

/* It is looked for until the agent has come, which it may not. */
static void look_for_runtime(struct dnp_start *start)
{
	if (start->saw_runtime || start->elapsed_ns < start->next_look_ns ||
		dnp_session_find(start->session, start->pid))
		return;
	start->saw_runtime = dnp_process_has_runtime(start->pid);
	if (start->elapsed_ns >= FIRST_NS)
		start->next_look_ns = start->elapsed_ns + LATER_NS;
}

static void tell_progress(struct dnp_start *start)
{
	if (!start->options.progress)
		return;
	dnp_session_sum(start->session, &start->sum);
	start->options.progress(start->options.context, start);
}

static void look(struct dnp_start *start, uint64_t begin_ns)
{
	start->elapsed_ns = dnp_now_ns() - begin_ns;
	start->interrupts = dnp_interrupts();
	look_for_runtime(start);
	tell_progress(start);
	if (start->stopped ||
		!(start->interrupts ||
			(start->options.duration_ns &&
				start->elapsed_ns >= start->options.duration_ns)))
		return;
	dnp_session_stop(start->session);
	start->stopped = true;
}

static unsigned tick_ms(const struct dnp_start *start)
{
	uint64_t left_ns = start->options.duration_ns - start->elapsed_ns;

	if (!start->options.duration_ns || start->stopped || left_ns >= TICK_MS * MS_NS)
		return TICK_MS;
	return (unsigned)(left_ns / MS_NS) + 1;
}

static void follow(struct dnp_start *start, const struct dnp_spawned *child)
{
	uint64_t begin_ns = dnp_now_ns();

	dnp_interrupts_count();
	dnp_spawned_go(child);
	while (!dnp_spawned_wait(child, tick_ms(start), &start->status))
		look(start, begin_ns);
	look(start, begin_ns);
	start->ended = true;
}

/* ---- The recording */

/* Who ends it sees less of its status, or nothing at all. */
static const char *name_status(uint32_t status, char out[32])
{
	snprintf(out, 32, status < 256 ? "status %u" : "status 0x%08x", status);
	return status ? out : NULL;
}

static int explain(const struct dnp_start *start, struct dnp_err *err)
{
	char status[32];
	const struct dnp_nothing nothing = {
		.session = start->session,
		.program = start->program.path,
		.pid = start->pid,
		.children = start->options.children,
		.saw_runtime = start->saw_runtime,
		.ended = name_status(start->status, status),
	};

	return dnp_nothing_explain(&nothing, err);
}

static int rename_recording(const char *from, const char *to, struct dnp_err *err)
{
	int failed = dnp_file_rename(from, to);

	if (failed && failed != -ENOENT)
		return dnp_err(err, failed, "cannot write to %s: %s; choose another place with -o",
			to, strerror(-failed));
	return failed ? -ENODATA : 0;
}

/*
 * The agent's file, by the name that it gives it, gets the one that it has in the private folder.
 * -ENODATA: there is none.
 */
static int take_one(
	const struct dnp_start *start, const char *path, uint64_t start_ticks, struct dnp_err *err)
{
	auto_free char *made = NULL;
	char name[64];

	snprintf(name, sizeof(name), "%d-%llu.dnp", start->pid, (unsigned long long)start_ticks);
	made = dnp_output_work(&start->output, name);
	return made ? rename_recording(made, path, err) : no_memory(err);
}

/* Programs that go on: their recordings end with the one that was asked for. */
static void end_outliving(struct dnp_start *start)
{
	uint64_t deadline_ns = dnp_now_ns() + OUTLIVING_NS;
	unsigned before = dnp_interrupts();

	dnp_session_stop(start->session);
	start->stopped = true;
	for (;;) {
		dnp_session_sum(start->session, &start->sum);
		if (!start->sum.recording || dnp_now_ns() >= deadline_ns ||
			dnp_interrupts() != before)
			break;
		dnp_sleep_until_ns(dnp_now_ns() + OUTLIVING_TICK_NS);
	}
}

/* Those of all processes, one after the other; -ENODATA: there are none. */
static int gather(struct dnp_start *start, const char *path, struct dnp_err *err)
{
	auto_free char *gathered = dnp_output_work(&start->output, "gathered");
	auto_close int fd = -1;
	char first;
	int ret;

	if (!gathered)
		return no_memory(err);
	fd = dnp_file_create_new(gathered);
	if (fd < 0)
		return dnp_err(err, fd, "cannot make %s: %s", gathered, strerror(-fd));
	end_outliving(start);
	ret = dnp_record_gather(gathered, start->output.work, err);
	if (!ret && dnp_file_read_at(fd, &first, 1, 0) != 1)
		return -ENODATA;
	return ret ? ret : rename_recording(gathered, path, err);
}

/* What was recorded gets its place. */
static int take_recording(struct dnp_start *start, uint64_t start_ticks, struct dnp_err *err)
{
	struct dnp_ended ended = {.status = start->status};
	auto_free char *path = dnp_output_work(&start->output, DNP_OUTPUT_RECORDING);
	int ret;

	if (!path)
		return no_memory(err);
	if (start->options.children)
		ret = gather(start, path, err);
	else
		ret = take_one(start, path, start_ticks, err);
	start->unplaced = ret != -ENODATA;
	if (!ret)
		ret = dnp_record_exit(path, start->pid, ended, err);
	/* Nothing is in it: the program has ended before. */
	if (ret == -ENODATA &&
		!(start->options.children && dnp_file_kind(path) == DNP_FILE_REGULAR))
		return explain(start, err);
	if (!ret || ret == -ENODATA)
		ret = dnp_output_place_recording(
			&start->output, start->options.raw, &start->recording, err);
	start->unplaced &= ret != 0;
	return ret;
}

int dnp_start_run(struct dnp_start *start, struct dnp_err *err)
{
	struct dnp_spawned child;
	uint64_t start_ticks;
	int ret = spawn(start, &child, err);

	if (ret)
		return ret;
	start_ticks = dnp_process_start_ticks(child.pid);
	follow(start, &child);
	dnp_spawned_done(&child);
	return take_recording(start, start_ticks, err);
}

bool dnp_start_failure(const struct dnp_start *start, char reason[DNP_SESSION_REASON])
{
	return dnp_session_failure(start->session, reason);
}

char *dnp_start_leave(struct dnp_start *start)
{
	auto_free char *path = dnp_output_work(&start->output, SESSION_NAME);

	if (!start->unplaced)
		return NULL;
	/* A file that is mapped is not removed everywhere. */
	dnp_session_free(start->session);
	start->session = NULL;
	if (path)
		dnp_file_remove(path);
	return dnp_output_leave(&start->output);
}

void dnp_start_done(struct dnp_start *start)
{
	dnp_session_free(start->session);
	dnp_output_done(&start->output);
	dnp_program_done(&start->program);
	free(start->recording);
	*start = (struct dnp_start){0};
}
