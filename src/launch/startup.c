/* SPDX-License-Identifier: MIT */
#include "launch/startup.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean.h"
#include "format/agent_options.h"
#include "launch/control.h"
#include "launch/interrupt.h"
#include "launch/ipc.h"
#include "launch/placed.h"
#include "launch/port.h"
#include "os/clock.h"

#define MS_NS     UINT64_C(1000000)
#define SECOND_NS UINT64_C(1000000000)

/* What a runtime takes to let go of a profiler that it could not use, several times over. */
#define SETTLING_NS (200 * MS_NS)

/* From coming to a port to waiting there, also on a busy machine. */
#define SOON_NS (3 * SECOND_NS)

/* How a runtime begins a conversation: "ADVR_V1" with its zero, a cookie of 16 bytes, its process
 * id (uint64), two bytes that mean nothing yet. */
#define ADVERTISEMENT 34u
#define AT_COOKIE     8u
#define COOKIE        16u

/* Where the runtime is, and how the next word reaches it. */
struct talk {
	const struct dnp_startup *startup;
	struct dnp_target target;
	uint64_t deadline_ns;
	int interrupt;         /* of ctrl-C and its like */
	struct dnp_port *port; /* where it comes for each word; NULL: it is asked */
	bool come;             /* … and it has, for the next */
	bool known;            /* it has come once */
	uint8_t cookie[COOKIE];
};

static uint64_t left_ns(const struct talk *talk)
{
	uint64_t now = dnp_now_ns();

	return now + MS_NS < talk->deadline_ns ? talk->deadline_ns - now : MS_NS;
}

/* ---- The port */

/* What to make of one who has come. */
enum caller {
	CALLER_OURS,
	CALLER_OTHER, /* whose turn it is not */
	CALLER_NONE,  /* who says nothing that could be understood, or has ended */
};

/* A runtime comes again and again, also when it has begun: then it has our agent. */
static bool is_served(const struct talk *talk, pid_t pid)
{
	return !talk->known && talk->startup->agent && dnp_control_presence(pid) == DNP_HERE;
}

/* The first that comes and is not served is ours, and stays it. */
static enum caller who_is(struct talk *talk, pid_t pid)
{
	uint8_t said[ADVERTISEMENT];

	if (is_served(talk, pid))
		return CALLER_OTHER;
	dnp_port_limit(talk->port, dnp_now_ns() + SECOND_NS);
	if (dnp_port_receive(talk->port, said, sizeof(said)) || memcmp(said, "ADVR_V1", 8) != 0)
		return CALLER_NONE;
	if (talk->known)
		return pid == talk->target.pid && !memcmp(talk->cookie, said + AT_COOKIE, COOKIE)
			? CALLER_OURS
			: CALLER_OTHER;
	memcpy(talk->cookie, said + AT_COOKIE, COOKIE);
	talk->known = !dnp_target_find(&talk->target, pid, NULL);
	return talk->known ? CALLER_OURS : CALLER_NONE;
}

/* Whether the next word can be said to who has come. */
static bool is_ours(struct talk *talk, pid_t pid)
{
	enum caller caller = who_is(talk, pid);

	if (caller == CALLER_OTHER)
		dnp_port_set_aside(talk->port);
	else if (caller == CALLER_NONE)
		dnp_port_leave(talk->port);
	return caller == CALLER_OURS;
}

static int nobody_came(const struct talk *talk, struct dnp_err *err)
{
	if (talk->known)
		return dnp_err(err, -ETIMEDOUT,
			"cannot attach to process %d: it came to the port, and not a second time; "
			"give it more time with --timeout",
			(int)talk->target.pid);
	return dnp_err(err, -ETIMEDOUT,
		"no program came to the port in time; start it with DOTNET_DiagnosticPorts set to "
		"that name, or give it more time with --timeout");
}

/* Until the runtime has come for the next word. */
static int await_connection(struct talk *talk, struct dnp_err *err)
{
	while (dnp_now_ns() < talk->deadline_ns) {
		pid_t pid;
		int failed = dnp_port_accept(talk->port, talk->deadline_ns, &pid);

		if (failed == -EINTR)
			return dnp_err(err, -EINTR,
				"waiting at the port was interrupted; nothing has begun by it");
		talk->come = !failed && is_ours(talk, pid);
		if (talk->come)
			return 0;
	}
	return nobody_came(talk, err);
}

/* ---- The words */

static int send_to(const void *port, const uint8_t *bytes, size_t n)
{
	return dnp_port_send(port, bytes, n);
}

static int receive_from(const void *port, uint8_t *bytes, size_t n)
{
	return dnp_port_receive(port, bytes, n);
}

static int say_at_port(struct talk *talk, struct dnp_ipc_request *request, HRESULT *result)
{
	const struct dnp_ipc_stream stream = {send_to, receive_from, talk->port};
	int ret;

	dnp_port_limit(talk->port, dnp_now_ns() + left_ns(talk));
	ret = dnp_ipc_converse(&stream, request, result);
	dnp_port_leave(talk->port);
	talk->come = false;
	return ret;
}

static int say(
	struct talk *talk, struct dnp_ipc_request *request, const char *what, struct dnp_err *err)
{
	HRESULT result = S_OK;
	int ret = dnp_ipc_end(request);

	if (!ret && talk->port && !talk->come) {
		ret = await_connection(talk, err);
		if (ret)
			return ret;
	}
	if (!ret)
		ret = talk->port ? say_at_port(talk, request, &result)
				 : dnp_ipc_ask(&talk->target, request, left_ns(talk),
					   talk->interrupt, &result);
	if (ret)
		return dnp_err(err, ret,
			"cannot attach to process %d: it waits for a word to begin, and %s did not "
			"reach it: %s; try again",
			(int)talk->target.pid, what, strerror(-ret));
	/* E_INVALIDARG: it does not wait, not yet or not any more. */
	if (result < 0)
		return dnp_err(err, result == E_INVALIDARG ? -EALREADY : -EPROTO,
			"cannot attach to process %d: it waits for a word to begin, and %s was "
			"refused: %s (0x%08x); see docs/troubleshooting.md",
			(int)talk->target.pid, what, dnp_hresult_name(result), (unsigned)result);
	return 0;
}

static int say_options(struct talk *talk, struct dnp_ipc_request *request, struct dnp_err *err)
{
	if (!talk->startup->options)
		return 0;
	dnp_ipc_begin(request, DNP_IPC_SET_VARIABLE);
	dnp_ipc_put_text(request, DNP_OPTIONS_ENV);
	dnp_ipc_put_text(request, talk->startup->options);
	return say(talk, request, "its options", err);
}

static int say_profiler(struct talk *talk, const char *library, struct dnp_ipc_request *request,
	struct dnp_err *err)
{
	dnp_ipc_begin(request, DNP_IPC_STARTUP_PROFILER);
	dnp_ipc_put_guid(request, talk->startup->clsid);
	dnp_ipc_put_text(request, library);
	return say(talk, request, "the profiler's name", err);
}

/* A runtime comes to the port some moments before it waits, and takes no profiler until then. */
static int say_profiler_soon(struct talk *talk, const char *library,
	struct dnp_ipc_request *request, struct dnp_err *err)
{
	uint64_t until_ns = dnp_now_ns() + SOON_NS;
	int ret = say_profiler(talk, library, request, err);

	while (ret == -EALREADY && talk->port && dnp_now_ns() < until_ns) {
		dnp_sleep_until_ns(dnp_now_ns() + MS_NS);
		ret = say_profiler(talk, library, request, err);
	}
	return ret;
}

static int say_all(struct talk *talk, const char *library, struct dnp_err *err)
{
	static struct dnp_ipc_request request; /* large */
	int ret = say_options(talk, &request, err);

	if (!ret)
		ret = say_profiler_soon(talk, library, &request, err);
	if (ret)
		return ret;
	dnp_ipc_begin(&request, DNP_IPC_RESUME_RUNTIME);
	return say(talk, &request, "that it may", err);
}

/* ---- What came of it */

static bool is_loaded(const struct talk *talk)
{
	struct dnp_status status;

	if (talk->startup->agent)
		return !dnp_control_status(talk->target.pid, SECOND_NS, &status, NULL);
	/* A library that has no such class, or refuses, is there for a moment, too. */
	if (!dnp_placed_is_loaded(talk->target.pid))
		return false;
	dnp_sleep_until_ns(dnp_now_ns() + SETTLING_NS);
	return dnp_placed_is_loaded(talk->target.pid);
}

static int await_profiler(const struct talk *talk, struct dnp_err *err)
{
	struct dnp_process now;

	while (!is_loaded(talk)) {
		if (dnp_target_has_ended(&talk->target, &now))
			return dnp_target_ended(&talk->target, err);
		if (dnp_now_ns() >= talk->deadline_ns)
			return dnp_err(err, -ETIMEDOUT,
				"cannot attach to process %d: it has begun, and the profiler was "
				"not seen in it; see whether it loads with 'dnprof run'",
				(int)talk->target.pid);
		if (dnp_interrupt_sleep(talk->interrupt, dnp_now_ns() + MS_NS))
			return dnp_err(err, -EINTR,
				"interrupted; process %d has begun, and may have the profiler",
				(int)talk->target.pid);
	}
	return 0;
}

/* A runtime that came to the port and went on takes the words, and they mean nothing to it. */
static int check_waits(const struct talk *talk, struct dnp_err *err)
{
	auto_free char *ports = dnp_target_variable(&talk->target, "DOTNET_DiagnosticPorts");

	if (!talk->port || !ports || !strstr(ports, "nosuspend"))
		return 0;
	return dnp_err(err, -EALREADY,
		"cannot attach to process %d: it has begun without waiting; name it by its id, or "
		"start it without 'nosuspend'",
		(int)talk->target.pid);
}

static int say_and_await(struct talk *talk, const char *library, struct dnp_err *err)
{
	int ret = say_all(talk, library, err);

	return ret ? ret : await_profiler(talk, err);
}

static int begin_with(struct talk *talk, struct dnp_err *err)
{
	static char seen[PATH_MAX]; /* large */
	bool copied;
	int ret = check_waits(talk, err);

	if (ret)
		return ret;
	if (talk->startup->seen)
		return say_and_await(talk, talk->startup->seen, err);
	ret = dnp_placed_open(&talk->target, talk->startup->library, seen, &copied, err);
	if (ret)
		return ret;
	ret = say_and_await(talk, seen, err);
	dnp_placed_close();
	return ret;
}

static int serve_port(struct talk *talk, const char *name, struct dnp_err *err)
{
	int ret = dnp_port_open(&talk->port, name, talk->interrupt, err);

	if (ret)
		return ret;
	ret = await_connection(talk, err);
	if (!ret)
		ret = begin_with(talk, err);
	dnp_port_close(talk->port);
	return ret;
}

int dnp_startup_at_port(const struct dnp_startup *startup, const char *name, uint64_t timeout_ns,
	int interrupt, pid_t *pid, struct dnp_err *err)
{
	struct talk talk = {
		.startup = startup,
		.deadline_ns = dnp_now_ns() + timeout_ns,
		.interrupt = interrupt,
	};
	int ret = serve_port(&talk, name, err);

	*pid = talk.target.pid;
	return ret;
}

bool dnp_startup_waits(const struct dnp_target *target)
{
	auto_free char *value = dnp_target_variable(target, "DOTNET_DefaultDiagnosticPortSuspend");

	return value && strtoul(value, NULL, 16);
}

int dnp_startup_waiting(const struct dnp_startup *startup, const struct dnp_target *target,
	uint64_t deadline_ns, int interrupt, struct dnp_err *err)
{
	struct talk talk = {
		.startup = startup,
		.target = *target,
		.deadline_ns = deadline_ns,
		.interrupt = interrupt,
	};

	return begin_with(&talk, err);
}
