/* SPDX-License-Identifier: MIT */
#include "launch/attach.h"

#include <stdio.h>
#include <string.h>

#include "base/clean.h"
#include "format/agent_options.h"
#include "launch/attaching.h"
#include "launch/control.h"
#include "launch/interrupt.h"
#include "launch/ipc.h"
#include "launch/placed.h"
#include "launch/runtime.h"
#include "launch/startup.h"
#include "os/clock.h"

#define MS_NS UINT64_C(1000000)

/* A runtime that is there makes its socket in some milliseconds, on a busy machine in more. */
#define SOCKET_NS UINT64_C(2000000000)

/* Between two tries: at first it may be up any moment. */
#define FIRST_PAUSE_NS MS_NS
#define LAST_PAUSE_NS  (20 * MS_NS)

/* So long an answer is waited for at least, also of the last question before the time is over. */
#define LEAST_NS (200 * MS_NS)

/* So long one that passes waits for the request that it was brought for. */
#define PASSING "leave_ms=5000"

static int pid_of(const struct dnp_attaching *attach)
{
	return (int)attach->target.pid;
}

/* Waits a little. 0, -ETIMEDOUT: there is no time left, -EINTR. */
static int pause_for(struct dnp_attaching *attach)
{
	uint64_t now = dnp_now_ns(), until = now + attach->pause_ns;

	if (now >= attach->deadline_ns)
		return -ETIMEDOUT;
	if (until > attach->deadline_ns)
		until = attach->deadline_ns;
	if (dnp_interrupt_sleep(attach->options->interrupt, until))
		return -EINTR;
	if (attach->pause_ns < LAST_PAUSE_NS)
		attach->pause_ns *= 2;
	return 0;
}

/* Our agent must not be there; one that is leaving is waited for. */
static int await_absence(struct dnp_attaching *attach, struct dnp_err *err)
{
	enum dnp_presence presence;
	int failed = 0;

	dnp_attach_tidy(attach);
	while (!failed && (presence = dnp_control_presence(pid_of(attach))) == DNP_LEAVING)
		failed = pause_for(attach);
	if (failed)
		return failed == -EINTR ? dnp_attach_interrupted(&attach->c, err)
					: dnp_attach_detaching(&attach->c, err);
	return presence == DNP_HERE ? dnp_attach_already(&attach->c, err) : 0;
}

/* The runtime is there, and long enough: its socket will not come any more. */
static bool is_too_late(struct dnp_attaching *attach)
{
	if (!dnp_process_has_runtime_library(attach->target.pid))
		return false;
	if (!attach->runtime_seen_ns)
		attach->runtime_seen_ns = dnp_now_ns();
	return dnp_now_ns() - attach->runtime_seen_ns > SOCKET_NS;
}

/*
 * Nobody was at its socket, or the name has gone, which may be so for a moment: while it is made,
 * or another connection is taken. Whether it is so for too long.
 */
static bool stays_away(struct dnp_attaching *attach, int failed)
{
	if (failed == -ENOENT || failed == -ECONNREFUSED)
		return is_too_late(attach);
	attach->runtime_seen_ns = 0;
	return false;
}

/* Its server is not there: why it will not come. 0: it may. */
static int judge_absence(struct dnp_attaching *attach, int error, struct dnp_err *err)
{
	auto_free char *variable = dnp_target_switched_off(&attach->target);
	bool host = attach->program.kind == DNP_PROGRAM_DOTNET;
	bool late = is_too_late(attach);
	struct dnp_process now;

	if (error == EACCES || error == EPERM)
		return dnp_target_no_rights(&attach->target, err);
	if (dnp_target_has_ended(&attach->target, &now))
		return dnp_target_ended(&attach->target, err);
	if (!attach->runtime_seen_ns && !host)
		return dnp_attach_no_runtime(&attach->c, err);
	return late || variable ? dnp_attach_no_socket(&attach->c, err) : 0;
}

/* Until the runtime's socket is there. */
static int wait_for_socket(struct dnp_attaching *attach, struct dnp_err *err)
{
	int error, ret;

	while (!dnp_attach_has_server(attach, &error)) {
		ret = judge_absence(attach, error, err);
		if (ret)
			return ret;
		ret = pause_for(attach);
		if (ret)
			return ret == -EINTR ? dnp_attach_interrupted(&attach->c, err)
					     : dnp_attach_not_up(&attach->c, err);
	}
	return 0;
}

/* ---- Asking */

static void write_request(struct dnp_attaching *attach, uint64_t left_ns)
{
	const struct dnp_attach_options *options = attach->options;
	const char *data = options->passing ? PASSING : options->data;
	size_t bytes = options->passing ? strlen(PASSING) : options->data_bytes;

	dnp_ipc_begin(&attach->request, DNP_IPC_ATTACH_PROFILER);
	dnp_ipc_put_u32(&attach->request, (uint32_t)(left_ns / MS_NS));
	dnp_ipc_put_guid(&attach->request, attach->c.clsid);
	dnp_ipc_put_text(&attach->request, attach->seen);
	dnp_ipc_put_u32(&attach->request, (uint32_t)bytes);
	dnp_ipc_put_bytes(&attach->request, data, bytes);
}

/* 0: there is an answer, *result; -E2BIG with err; or why there is none, as of dnp_ipc_ask. */
static int ask_once(struct dnp_attaching *attach, HRESULT *result, struct dnp_err *err)
{
	uint64_t now_ns = dnp_now_ns(), left_ns = LEAST_NS;

	if (now_ns + LEAST_NS < attach->deadline_ns)
		left_ns = attach->deadline_ns - now_ns;
	write_request(attach, left_ns);
	if (dnp_ipc_end(&attach->request))
		return dnp_err(err, -E2BIG,
			"cannot attach to process %d: the client data are longer than 60000 "
			"bytes; shorten them",
			pid_of(attach));
	*result = S_OK;
	attach->c.asked = true;
	return dnp_ipc_ask(
		&attach->target, &attach->request, left_ns, attach->options->interrupt, result);
}

/* ---- At the start of a program */

/* What a profiler that comes there is told: ours its options, others nothing. */
static int prepare_startup(const struct dnp_attach_options *options, const char *clsid,
	const char *library, struct dnp_startup *startup, struct dnp_err *err)
{
	if (options->library && options->data_bytes)
		return dnp_err(err, -EINVAL,
			"cannot attach with client data: a profiler that comes at the start of a "
			"program is given none; leave --client-data away");
	*startup = (struct dnp_startup){
		.clsid = clsid,
		.library = library,
		.options = options->library   ? NULL
			: options->data_bytes ? options->data
					      : DNP_OPTIONS_IDLE,
		.agent = !options->library,
	};
	return 0;
}

/* It has stopped before its start, and goes on as soon as somebody says so. */
static bool waits_for_us(const struct dnp_attaching *attach, HRESULT result)
{
	return result == CORPROF_E_NOT_YET_AVAILABLE && dnp_startup_waits(&attach->target);
}

static int begin_with(struct dnp_attaching *attach, struct dnp_err *err)
{
	const struct dnp_attach_options *options = attach->options;
	struct dnp_startup startup;
	int ret = prepare_startup(options, attach->c.clsid, attach->library, &startup, err);

	if (ret)
		return ret;
	startup.seen = attach->seen;
	ret = dnp_startup_waiting(
		&startup, &attach->target, attach->deadline_ns, options->interrupt, err);
	attach->at_start = !ret;
	return ret;
}

int dnp_attach_at_port(const struct dnp_attach_options *options, const char *name,
	struct dnp_attached *attached, struct dnp_err *err)
{
	char library[PATH_MAX];
	struct dnp_startup startup;
	int ret = dnp_attach_find_library(options, library, err);

	*attached = (struct dnp_attached){.at_start = true};
	if (!ret)
		ret = prepare_startup(options, options->library ? options->clsid : DNP_AGENT_CLSID,
			library, &startup, err);
	if (!ret)
		ret = dnp_startup_at_port(&startup, name, options->timeout_ns, options->interrupt,
			&attached->pid, err);
	return ret;
}

/* ---- While it runs */

/* One class: until it is loaded, refused, or the time is over. 0 or -errno with err, *result. */
static int ask(struct dnp_attaching *attach, HRESULT *result, struct dnp_err *err)
{
	struct dnp_process now;
	int failed, paused = 0;

	attach->pause_ns = FIRST_PAUSE_NS;
	attach->runtime_seen_ns = 0;
	for (;;) {
		failed = ask_once(attach, result, err);
		if (failed == -E2BIG)
			return failed;
		if (!failed && waits_for_us(attach, *result)) {
			int begun = begin_with(attach, err);

			if (begun != -EALREADY)
				return begun;
		}
		if (!dnp_attach_may_change(failed, *result) || stays_away(attach, failed) ||
			dnp_target_has_ended(&attach->target, &now))
			break;
		attach->c.asked = false;
		paused = pause_for(attach);
		if (paused)
			break;
	}
	if (paused == -EINTR)
		return dnp_attach_interrupted(&attach->c, err);
	if (failed)
		return dnp_attach_no_answer(&attach->c, -failed, err);
	return *result < 0 ? dnp_attach_refused(&attach->c, *result, err) : 0;
}

/* Whether another profiler's library is there, as far as it can be seen. */
static bool has_other(const struct dnp_target *target)
{
	struct dnp_runtime runtime;
	bool found;

	if (dnp_runtime_look(&runtime, target->pid))
		return false;
	found = runtime.profiler != NULL;
	dnp_runtime_done(&runtime);
	return found;
}

/*
 * Our agent has a class that stands beside a profiler which was there first. It had better be asked
 * for at once: a runtime that refuses the other keeps the library for ever (CoreCLR 8 to 10).
 */
static int ask_for_agent(
	struct dnp_attaching *attach, struct dnp_attached *attached, struct dnp_err *err)
{
	HRESULT result = S_OK;
	int ret;

	attach->c.clsid = DNP_AGENT_CLSID;
	if (!attach->options->notification && !has_other(&attach->target)) {
		ret = ask(attach, &result, err);
		if (result != CORPROF_E_PROFILER_ALREADY_ACTIVE)
			return ret;
		if (dnp_control_presence(pid_of(attach)) != DNP_AWAY)
			return dnp_attach_already(&attach->c, err);
	}
	attached->notification = true;
	attach->c.clsid = DNP_AGENT_NOTIFY_CLSID;
	return ask(attach, &result, err);
}

static int load(struct dnp_attaching *attach, struct dnp_attached *attached, struct dnp_err *err)
{
	HRESULT result = S_OK;
	int ret = dnp_placed_open(
		&attach->target, attach->library, attach->seen, &attached->copied, err);

	if (ret)
		return ret;
	if (attach->options->library) {
		attach->c.clsid = attach->options->clsid;
		ret = ask(attach, &result, err);
	} else {
		ret = ask_for_agent(attach, attached, err);
	}
	dnp_placed_close();
	return ret;
}

int dnp_attach(const struct dnp_attach_options *options, struct dnp_attached *attached,
	struct dnp_err *err)
{
	static struct dnp_attaching attach; /* its request is large */
	int ret;

	attach.options = options;
	attach.deadline_ns = dnp_now_ns() + options->timeout_ns;
	attach.pause_ns = FIRST_PAUSE_NS;
	attach.program = (struct dnp_program){0};
	attach.c = (struct dnp_attach_case){
		.target = &attach.target,
		.program = &attach.program,
		.path = attach.seen,
		.timeout_ns = options->timeout_ns,
		.passing = options->passing,
	};
	attach.at_start = false;
	attach.runtime_seen_ns = 0;
	*attached = (struct dnp_attached){0};
	ret = dnp_target_find(&attach.target, options->pid, err);
	if (!ret && !options->library)
		ret = await_absence(&attach, err);
	if (!ret)
		ret = dnp_attach_find_library(options, attach.library, err);
	if (!ret)
		ret = dnp_attach_check_program(&attach, err);
	if (!ret)
		ret = wait_for_socket(&attach, err);
	if (!ret)
		ret = load(&attach, attached, err);
	dnp_program_done(&attach.program);
	attached->pid = options->pid;
	attached->at_start = attach.at_start;
	return ret;
}
