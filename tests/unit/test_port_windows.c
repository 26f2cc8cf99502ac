/* SPDX-License-Identifier: MIT */
/* What runtimes see of a port that sends them away: disconnected, as only that has them come again.
 */
#include <windows.h>

#include "launch/port.h"
#include "os/clock.h"

#include "test.h"

#define NAME      "dnprof-test-port"
#define SECOND_NS UINT64_C(1000000000)

static struct dnp_port *open_port(void)
{
	struct dnp_err err = {0};
	struct dnp_port *port;

	CHECK_EQ(dnp_port_open(&port, NAME, -1, &err), 0);
	return port;
}

/* As a runtime comes. */
static HANDLE come(void)
{
	HANDLE client = CreateFileA("\\\\.\\pipe\\" NAME, GENERIC_READ | GENERIC_WRITE, 0, NULL,
		OPEN_EXISTING, FILE_FLAG_OVERLAPPED, NULL);

	CHECK(client != INVALID_HANDLE_VALUE);
	return client;
}

/* How it looks whether there is something for it. */
static DWORD look(HANDLE client)
{
	OVERLAPPED reading = {0};
	DWORD error, n;

	reading.hEvent = CreateEventW(NULL, TRUE, FALSE, NULL);
	CHECK(reading.hEvent);
	error = ReadFile(client, NULL, 0, NULL, &reading) ? NO_ERROR : GetLastError();
	if (error == ERROR_IO_PENDING) {
		CancelIoEx(client, &reading);
		GetOverlappedResult(client, &reading, &n, TRUE);
	}
	CloseHandle(reading.hEvent);
	return error;
}

static void accept_one(struct dnp_port *port)
{
	pid_t pid = 0;

	CHECK_EQ(dnp_port_accept(port, dnp_now_ns() + 60 * SECOND_NS, &pid), 0);
	CHECK_EQ(pid, GetCurrentProcessId());
}

TEST(who_has_been_spoken_with_is_disconnected)
{
	struct dnp_port *port = open_port();
	HANDLE client = come();

	accept_one(port);
	CHECK_EQ(look(client), ERROR_IO_PENDING);
	dnp_port_leave(port);
	CHECK_EQ(look(client), ERROR_PIPE_NOT_CONNECTED);
	dnp_port_close(port);
	CHECK_EQ(look(client), ERROR_PIPE_NOT_CONNECTED);
	CloseHandle(client);
}

TEST(who_has_come_when_a_port_closes_is_disconnected)
{
	struct dnp_port *port = open_port();
	HANDLE client = come();

	CHECK_EQ(look(client), ERROR_IO_PENDING);
	dnp_port_close(port);
	CHECK_EQ(look(client), ERROR_PIPE_NOT_CONNECTED);
	CloseHandle(client);
}

/* … and is not before, as he would come again at once and keep others out; but for the first of
 * very many. */
TEST(who_is_set_aside_waits_until_the_port_closes)
{
	struct dnp_port *port = open_port();
	HANDLE clients[DNP_PORT_ASIDE + 1];

	for (unsigned i = 0; i <= DNP_PORT_ASIDE; i++) {
		clients[i] = come();
		accept_one(port);
		dnp_port_set_aside(port);
		CHECK_EQ(look(clients[0]),
			i < DNP_PORT_ASIDE ? ERROR_IO_PENDING : ERROR_PIPE_NOT_CONNECTED);
		CHECK_EQ(look(clients[i]), ERROR_IO_PENDING);
	}
	dnp_port_close(port);
	for (unsigned i = 0; i <= DNP_PORT_ASIDE; i++) {
		CHECK_EQ(look(clients[i]), ERROR_PIPE_NOT_CONNECTED);
		CloseHandle(clients[i]);
	}
}
