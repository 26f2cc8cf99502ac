/* SPDX-License-Identifier: MIT */
#include "launch/windows/pipe.h"

#include <errno.h>
#include <stdio.h>
#include <windows.h>

#include "os/clock.h"
#include "os/windows/error.h"
#include "os/windows/timer.h"

/* Between two looks whether the server has room for one more. */
#define ROOM_MS 10u

/* From making an instance to waiting at it, many times over. */
#define SETTLING_MS 50u

/* Nobody waits longer for his turn: who has it may have been stopped. */
#define TURN_NS UINT64_C(10000000000)

#define NAME_UNITS 64u

static HANDLE handle_of(intptr_t number)
{
	return (HANDLE)number; /* NOLINT(performance-no-int-to-ptr) */
}

static void name_pipe(wchar_t name[NAME_UNITS], pid_t pid)
{
	swprintf(name, NAME_UNITS, L"\\\\.\\pipe\\dotnet-diagnostic-%d", (int)pid);
}

/* One that is there and is waited for in vain is there. */
bool dnp_pipe_is_there(pid_t pid)
{
	wchar_t name[NAME_UNITS];

	name_pipe(name, pid);
	return WaitNamedPipeW(name, 1) || GetLastError() == ERROR_SEM_TIMEOUT;
}

/* Whether the caller has been interrupted meanwhile. */
static bool rest(const struct dnp_pipe *pipe, DWORD ms)
{
	if (pipe->interrupt >= 0)
		return WaitForSingleObject(handle_of(pipe->interrupt), ms) == WAIT_OBJECT_0;
	Sleep(ms);
	return false;
}

/* 0, -EINTR, or -EBUSY. After TURN_NS it goes on without one: who has it may not be connecting. */
static int await_turn(struct dnp_pipe *pipe, HANDLE turn)
{
	HANDLE objects[] = {turn, handle_of(pipe->interrupt)};
	uint64_t enough_ns = dnp_now_ns() + TURN_NS;
	int ended = dnp_timer_wait_any(objects, pipe->interrupt < 0 ? 1 : 2,
		enough_ns < pipe->until_ns ? enough_ns : pipe->until_ns);

	if (!ended)
		pipe->turn = (intptr_t)turn;
	if (ended >= 0)
		return ended ? -EINTR : 0;
	return enough_ns < pipe->until_ns ? 0 : -EBUSY;
}

/* 0, -EINTR, or -EBUSY. Where there are none it goes on: whoever else connects does not know. */
static int take_turn(struct dnp_pipe *pipe, pid_t pid)
{
	wchar_t name[NAME_UNITS];
	HANDLE turn;
	int failed;

	swprintf(name, NAME_UNITS, L"Local\\dnprof-diagnostic-%d", (int)pid);
	turn = CreateMutexW(NULL, FALSE, name);
	if (!turn)
		return 0;
	failed = await_turn(pipe, turn);
	if (!pipe->turn)
		CloseHandle(turn);
	return failed;
}

static void leave_turn(struct dnp_pipe *pipe)
{
	if (!pipe->turn)
		return;
	ReleaseMutex(handle_of(pipe->turn));
	CloseHandle(handle_of(pipe->turn));
	pipe->turn = 0;
}

/* Until an instance is there and has been for a while, as far as that can be seen. */
static int await_instance(const struct dnp_pipe *pipe, const wchar_t *name)
{
	bool settled = false;

	for (;;) {
		bool there = WaitNamedPipeW(name, 1);

		if (!there && GetLastError() != ERROR_SEM_TIMEOUT)
			return dnp_windows_error();
		if (dnp_now_ns() >= pipe->until_ns)
			return -EBUSY;
		if (there && settled)
			return 0;
		if (rest(pipe, there ? SETTLING_MS : ROOM_MS))
			return -EINTR;
		settled = there;
	}
}

static int connect_to(const struct dnp_pipe *pipe, pid_t pid, HANDLE *connection)
{
	wchar_t name[NAME_UNITS];
	int failed;

	name_pipe(name, pid);
	for (;;) {
		failed = await_instance(pipe, name);
		if (failed)
			return failed;
		*connection = CreateFileW(name, GENERIC_READ | GENERIC_WRITE, 0, NULL,
			OPEN_EXISTING,
			FILE_FLAG_OVERLAPPED | SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION,
			NULL);
		if (*connection != INVALID_HANDLE_VALUE)
			return 0;
		if (GetLastError() != ERROR_PIPE_BUSY)
			return dnp_windows_error();
	}
}

int dnp_pipe_open(struct dnp_pipe *pipe, pid_t pid, uint64_t until_ns, int interrupt)
{
	HANDLE connection, event;
	ULONG server = 0;
	int failed;

	*pipe = (struct dnp_pipe){.interrupt = interrupt, .until_ns = until_ns};
	failed = take_turn(pipe, pid);
	if (!failed)
		failed = connect_to(pipe, pid, &connection);
	if (failed) {
		leave_turn(pipe);
		return failed;
	}
	event = CreateEventW(NULL, TRUE, FALSE, NULL);
	if (!event)
		failed = -ENOMEM;
	else if (!GetNamedPipeServerProcessId(connection, &server))
		failed = -ECONNRESET; /* it has gone since */
	else if ((pid_t)server != pid)
		failed = -EBADE;
	pipe->connection = (intptr_t)connection;
	pipe->event = (intptr_t)event;
	if (failed)
		dnp_pipe_close(pipe);
	return failed;
}

void dnp_pipe_close(struct dnp_pipe *pipe)
{
	CloseHandle(handle_of(pipe->connection));
	if (pipe->event)
		CloseHandle(handle_of(pipe->event));
	leave_turn(pipe);
}

/* Waits for what has been begun. */
static int finish(const struct dnp_pipe *pipe, OVERLAPPED *going, DWORD *n)
{
	HANDLE objects[] = {handle_of(pipe->event), handle_of(pipe->interrupt)};
	HANDLE connection = handle_of(pipe->connection);
	int ended = dnp_timer_wait_any(objects, pipe->interrupt < 0 ? 1 : 2, pipe->until_ns);

	if (ended)
		CancelIoEx(connection, going);
	if (GetOverlappedResult(connection, going, n, TRUE))
		return 0;
	if (GetLastError() != ERROR_OPERATION_ABORTED)
		return -ECONNRESET;
	return ended > 0 ? -EINTR : -EAGAIN;
}

/* After a call that begins something. */
static int go_on(const struct dnp_pipe *pipe, BOOL begun, OVERLAPPED *going, size_t *n)
{
	DWORD passed = 0;
	int failed;

	if (!begun && GetLastError() != ERROR_IO_PENDING)
		return -ECONNRESET;
	failed = finish(pipe, going, &passed);
	*n = passed;
	if (failed)
		return failed;
	return passed ? 0 : -ECONNRESET;
}

int dnp_pipe_send(const struct dnp_pipe *pipe, const uint8_t *bytes, size_t n)
{
	size_t sent = 0;
	int failed = 0;

	for (; n && !failed; bytes += sent, n -= sent) {
		OVERLAPPED going = {.hEvent = handle_of(pipe->event)};
		BOOL begun = WriteFile(handle_of(pipe->connection), bytes, (DWORD)n, NULL, &going);

		failed = go_on(pipe, begun, &going, &sent);
	}
	return failed;
}

int dnp_pipe_receive(const struct dnp_pipe *pipe, uint8_t *bytes, size_t n)
{
	size_t got = 0;
	int failed = 0;

	for (; n && !failed; bytes += got, n -= got) {
		OVERLAPPED going = {.hEvent = handle_of(pipe->event)};
		BOOL begun = ReadFile(handle_of(pipe->connection), bytes, (DWORD)n, NULL, &going);

		failed = go_on(pipe, begun, &going, &got);
	}
	return failed;
}
