/* SPDX-License-Identifier: MIT */
#include "launch/linux/startup.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include "base/clean.h"
#include "format/agent_options.h"
#include "launch/control.h"
#include "launch/interrupt.h"
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
	struct dnp_place place;
	uint64_t deadline_ns;
	int signals; /* readable: ctrl-C and its like; they wait until the port is removed */
	int port;    /* where it comes for each word; -1: it is asked */
	int connection;
	bool known; /* it has come once */
	uint8_t cookie[COOKIE];
};

static uint64_t left_ns(const struct talk *talk)
{
	uint64_t now = dnp_now_ns();

	return now + MS_NS < talk->deadline_ns ? talk->deadline_ns - now : MS_NS;
}

/* ---- The port */

static int listen_at(const char *file, struct dnp_err *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t mask;
	int ret;

	if (strlen(file) >= sizeof(address.sun_path))
		return dnp_err(err, -ENAMETOOLONG,
			"cannot wait at the port %s: the name is too long; sockets have at most "
			"107 bytes",
			file);
	memcpy(address.sun_path, file, strlen(file) + 1);
	mask = umask(0177);
	ret = fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) ? -errno : 0;
	umask(mask);
	if (!ret && listen(fd, 16)) {
		ret = -errno;
		unlink(file);
	}
	if (ret)
		return dnp_err(err, ret,
			"cannot wait at the port %s: %s; remove the file if nobody else waits "
			"there, or name another one",
			file, strerror(-ret));
	ret = fd;
	fd = -1;
	return ret;
}

/* Who has come: a user that we may serve. */
static pid_t peer_of(int fd)
{
	struct ucred peer = {0};
	socklen_t n = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) ||
		(peer.uid != geteuid() && geteuid()))
		return -1;
	return peer.pid;
}

static void limit(int fd, uint64_t ns)
{
	struct timeval patience = {(time_t)(ns / SECOND_NS), (suseconds_t)(ns % SECOND_NS / 1000)};

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
}

/* Whether that is the runtime we talk with; the first that comes is. */
static bool is_ours(struct talk *talk, int fd)
{
	uint8_t said[ADVERTISEMENT];
	pid_t pid = peer_of(fd);

	limit(fd, SECOND_NS);
	if (pid < 0 || recv(fd, said, sizeof(said), MSG_WAITALL) != (ssize_t)sizeof(said) ||
		memcmp(said, "ADVR_V1", 8) != 0)
		return false;
	if (talk->known)
		return pid == talk->target.pid && !memcmp(talk->cookie, said + AT_COOKIE, COOKIE);
	memcpy(talk->cookie, said + AT_COOKIE, COOKIE);
	talk->known = !dnp_target_find(&talk->target, pid, NULL);
	return talk->known;
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
		"that file, or give it more time with --timeout");
}

/* Until the runtime has come for the next word. */
static int await_connection(struct talk *talk, struct dnp_err *err)
{
	while (dnp_now_ns() < talk->deadline_ns) {
		struct pollfd ready[] = {
			{.fd = talk->port, .events = POLLIN},
			{.fd = talk->signals, .events = POLLIN},
		};

		if (poll(ready, DNP_ARRAY_SIZE(ready), (int)(left_ns(talk) / MS_NS)) <= 0)
			continue;
		if (ready[1].revents)
			return dnp_err(err, -EINTR,
				"waiting at the port was interrupted; nothing has begun by it");
		talk->connection = accept4(talk->port, NULL, NULL, SOCK_CLOEXEC);
		if (talk->connection >= 0 && is_ours(talk, talk->connection))
			return 0;
		if (talk->connection >= 0)
			close(talk->connection);
		talk->connection = -1;
	}
	return nobody_came(talk, err);
}

/* ---- The words */

static int say(
	struct talk *talk, struct dnp_ipc_request *request, const char *what, struct dnp_err *err)
{
	HRESULT result = S_OK;
	int ret = dnp_ipc_end(request);

	if (!ret && talk->port >= 0 && talk->connection < 0) {
		ret = await_connection(talk, err);
		if (ret)
			return ret;
	}
	if (!ret && talk->port >= 0) {
		limit(talk->connection, left_ns(talk));
		ret = dnp_ipc_talk(
			talk->connection, request, left_ns(talk), talk->signals, &result);
		close(talk->connection);
		talk->connection = -1;
	} else if (!ret) {
		ret = dnp_ipc_ask(&talk->target, request, left_ns(talk), talk->signals, &result);
	}
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

static int say_profiler(struct talk *talk, struct dnp_ipc_request *request, struct dnp_err *err)
{
	dnp_ipc_begin(request, DNP_IPC_STARTUP_PROFILER);
	dnp_ipc_put_guid(request, talk->startup->clsid);
	dnp_ipc_put_text(request, talk->place.path);
	return say(talk, request, "the profiler's name", err);
}

/* A runtime comes to the port some moments before it waits, and takes no profiler until then. */
static int say_profiler_soon(
	struct talk *talk, struct dnp_ipc_request *request, struct dnp_err *err)
{
	uint64_t until_ns = dnp_now_ns() + SOON_NS;
	int ret = say_profiler(talk, request, err);

	while (ret == -EALREADY && talk->port >= 0 && dnp_now_ns() < until_ns) {
		dnp_sleep_until_ns(dnp_now_ns() + MS_NS);
		ret = say_profiler(talk, request, err);
	}
	return ret;
}

static int say_all(struct talk *talk, struct dnp_err *err)
{
	static struct dnp_ipc_request request; /* large */
	int ret = say_options(talk, &request, err);

	if (!ret)
		ret = say_profiler_soon(talk, &request, err);
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
	if (!dnp_process_maps(talk->target.pid, talk->place.file))
		return false;
	dnp_sleep_until_ns(dnp_now_ns() + SETTLING_NS);
	return dnp_process_maps(talk->target.pid, talk->place.file);
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
		if (dnp_interrupt_sleep(talk->signals, dnp_now_ns() + MS_NS))
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

	if (talk->port < 0 || !ports || !strstr(ports, "nosuspend"))
		return 0;
	return dnp_err(err, -EALREADY,
		"cannot attach to process %d: it has begun without waiting; name it by its id, or "
		"start it without 'nosuspend'",
		(int)talk->target.pid);
}

static int begin_with(struct talk *talk, struct dnp_err *err)
{
	int ret = check_waits(talk, err);

	if (ret)
		return ret;
	ret = dnp_place_open(&talk->place, &talk->target, talk->startup->library, err);

	if (ret)
		return ret;
	ret = say_all(talk, err);
	if (!ret)
		ret = await_profiler(talk, err);
	dnp_place_done(&talk->place);
	return ret;
}

static int serve_port(struct talk *talk, const char *file, struct dnp_err *err)
{
	int ret;

	talk->port = listen_at(file, err);
	if (talk->port < 0)
		return talk->port;
	ret = await_connection(talk, err);
	if (!ret)
		ret = begin_with(talk, err);
	if (talk->connection >= 0)
		close(talk->connection);
	close(talk->port);
	unlink(file);
	return ret;
}

int dnp_startup_at_port(const struct dnp_startup *startup, const char *file, uint64_t timeout_ns,
	int interrupt, pid_t *pid, struct dnp_err *err)
{
	struct talk talk = {
		.startup = startup,
		.deadline_ns = dnp_now_ns() + timeout_ns,
		.signals = interrupt,
		.connection = -1,
	};
	int ret = serve_port(&talk, file, err);

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
		.signals = interrupt,
		.port = -1,
		.connection = -1,
	};

	return begin_with(&talk, err);
}
