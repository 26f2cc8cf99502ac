/* SPDX-License-Identifier: MIT */
/*
 * While one is spoken with, the next instance of the pipe waits already: who finds none of them
 * free gives up, for this time.
 */
#include "launch/port.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "launch/windows/pipe.h"
#include "os/clock.h"
#include "os/windows/error.h"
#include "os/windows/private.h"
#include "os/windows/timer.h"

/* Runtimes have room for 255 bytes with what stands before. */
#define BEFORE        "\\\\.\\pipe\\"
#define PORT_NAME_MAX 246u
#define ROOM          (sizeof(BEFORE) + PORT_NAME_MAX)

#define BUFFER_BYTES 16384u
#define AGAIN_NS     UINT64_C(10000000) /* before another instance is tried for */

struct dnp_port {
	char name[ROOM];
	HANDLE listener;      /* owned, NULL: none */
	OVERLAPPED coming;    /* its event is owned */
	struct dnp_pipe pipe; /* its event stays, its connection is 0: there is none */

	HANDLE aside[DNP_PORT_ASIDE]; /* a ring, owned */
	unsigned n_aside;             /* … there were */
};

static HANDLE handle_of(intptr_t number)
{
	return (HANDLE)number; /* NOLINT(performance-no-int-to-ptr) */
}

/* What the variable could not say, or runtimes would take for another name. */
static int check_name(const char *name, struct dnp_err *err)
{
	for (const char *at = name; *at; at++)
		if (*at <= ' ' || *at > '~' || strchr("\\,;", *at))
			return dnp_err(err, -EINVAL,
				"cannot wait at the port %s: the name of a pipe has letters, "
				"digits "
				"and signs of ASCII, no backslash, comma, semicolon or blank; "
				"name it as DOTNET_DiagnosticPorts does, without \\\\.\\pipe\\",
				name);
	if (!*name || strlen(name) > PORT_NAME_MAX)
		return dnp_err(err, -ENAMETOOLONG,
			"cannot wait at the port %s: the name of a pipe has 1 to %u bytes; give it "
			"another",
			name, PORT_NAME_MAX);
	return 0;
}

/* One more place to come to; the first one is refused where somebody else has a pipe so named. */
static int listen_at(struct dnp_port *port, DWORD first)
{
	struct dnp_private mine;
	int failed = dnp_private_init(&mine);
	HANDLE pipe;

	if (failed)
		return failed;
	pipe = CreateNamedPipeA(port->name, PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED | first,
		PIPE_TYPE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS, PIPE_UNLIMITED_INSTANCES,
		BUFFER_BYTES, BUFFER_BYTES, 0, &mine.attributes);
	if (pipe == INVALID_HANDLE_VALUE)
		return dnp_windows_error();
	ResetEvent(port->coming.hEvent);
	if (!ConnectNamedPipe(pipe, &port->coming) && GetLastError() != ERROR_IO_PENDING) {
		if (GetLastError() != ERROR_PIPE_CONNECTED) {
			failed = dnp_windows_error();
			CloseHandle(pipe);
			return failed;
		}
		SetEvent(port->coming.hEvent);
	}
	port->listener = pipe;
	return 0;
}

/* Asked besides, as not each system keeps to the flag (Wine). */
static bool is_taken(const struct dnp_port *port)
{
	return WaitNamedPipeA(port->name, 1) || GetLastError() == ERROR_SEM_TIMEOUT;
}

static int taken(const struct dnp_port *port, struct dnp_err *err)
{
	return dnp_err(err, -EADDRINUSE,
		"cannot wait at the port %s: another program waits there; end that one, or name "
		"another port",
		port->name + strlen(BEFORE));
}

static int not_made(const struct dnp_port *port, int failed, struct dnp_err *err)
{
	DWORD error = GetLastError();

	if (error == ERROR_ACCESS_DENIED || error == ERROR_PIPE_BUSY)
		return taken(port, err);
	return dnp_err(err, failed,
		"cannot wait at the port %s: Windows gives its error %lu; name another one",
		port->name + strlen(BEFORE), error);
}

int dnp_port_open(struct dnp_port **out, const char *name, int interrupt, struct dnp_err *err)
{
	struct dnp_port *port;
	int failed = check_name(name, err);

	if (failed)
		return failed;
	port = calloc(1, sizeof(*port));
	if (!port)
		return dnp_err(err, -ENOMEM, "%s", strerror(ENOMEM));
	snprintf(port->name, sizeof(port->name), BEFORE "%s", name);
	port->coming.hEvent = CreateEventW(NULL, TRUE, FALSE, NULL);
	port->pipe.event = (intptr_t)CreateEventW(NULL, TRUE, FALSE, NULL);
	port->pipe.interrupt = interrupt;
	if (!port->coming.hEvent || !port->pipe.event)
		failed = dnp_windows_error();
	if (!failed && is_taken(port))
		failed = taken(port, err);
	else if (failed || (failed = listen_at(port, FILE_FLAG_FIRST_PIPE_INSTANCE)))
		failed = not_made(port, failed, err);
	if (failed)
		dnp_port_close(port);
	else
		*out = port;
	return failed;
}

/*
 * A runtime that finds its pipe broken before it has begun to wait at it never comes again
 * (ds_ipc_poll takes that one error for nothing, and waits for what was not begun); one that is
 * disconnected does.
 */
static void hang_up(HANDLE pipe)
{
	DisconnectNamedPipe(pipe);
	CloseHandle(pipe);
}

/* The system must not write to what is freed. */
static void give_up(struct dnp_port *port)
{
	DWORD n;

	CancelIoEx(port->listener, &port->coming);
	GetOverlappedResult(port->listener, &port->coming, &n, TRUE);
	hang_up(port->listener);
	port->listener = NULL;
}

void dnp_port_close(struct dnp_port *port)
{
	dnp_port_leave(port);
	if (port->listener)
		give_up(port);
	for (unsigned i = 0; i < port->n_aside && i < DNP_PORT_ASIDE; i++)
		hang_up(port->aside[i]);
	if (port->coming.hEvent)
		CloseHandle(port->coming.hEvent);
	if (port->pipe.event)
		CloseHandle(handle_of(port->pipe.event));
	free(port);
}

static int take(struct dnp_port *port, pid_t *pid)
{
	ULONG client = 0;

	port->pipe.connection = (intptr_t)port->listener;
	port->listener = NULL;
	listen_at(port, 0);
	if (GetNamedPipeClientProcessId(handle_of(port->pipe.connection), &client) && client) {
		*pid = (pid_t)client;
		return 0;
	}
	dnp_port_leave(port);
	return -EAGAIN;
}

int dnp_port_accept(struct dnp_port *port, uint64_t until_ns, pid_t *pid)
{
	HANDLE objects[] = {port->coming.hEvent, handle_of(port->pipe.interrupt)};

	if (!port->listener && listen_at(port, 0)) {
		dnp_sleep_until_ns(dnp_now_ns() + AGAIN_NS);
		return -EAGAIN;
	}
	switch (dnp_timer_wait_any(objects, port->pipe.interrupt < 0 ? 1 : 2, until_ns)) {
	case 0: return take(port, pid);
	case 1: return -EINTR;
	default: return -EAGAIN;
	}
}

void dnp_port_limit(struct dnp_port *port, uint64_t until_ns)
{
	port->pipe.until_ns = until_ns;
}

int dnp_port_send(const struct dnp_port *port, const uint8_t *bytes, size_t n)
{
	return dnp_pipe_send(&port->pipe, bytes, n);
}

int dnp_port_receive(const struct dnp_port *port, uint8_t *bytes, size_t n)
{
	return dnp_pipe_receive(&port->pipe, bytes, n);
}

void dnp_port_leave(struct dnp_port *port)
{
	if (port->pipe.connection)
		hang_up(handle_of(port->pipe.connection));
	port->pipe.connection = 0;
}

void dnp_port_set_aside(struct dnp_port *port)
{
	HANDLE *place = &port->aside[port->n_aside % DNP_PORT_ASIDE];

	if (port->n_aside++ >= DNP_PORT_ASIDE)
		hang_up(*place);
	*place = handle_of(port->pipe.connection);
	port->pipe.connection = 0;
}
