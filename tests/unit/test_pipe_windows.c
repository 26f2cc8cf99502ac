/* SPDX-License-Identifier: MIT */
/* Who connects to a runtime's pipe, and when: this process is taken for the runtime. */
#include <errno.h>
#include <stdio.h>
#include <windows.h>

#include "launch/windows/pipe.h"
#include "os/clock.h"
#include "os/process.h"

#include "test.h"

#define SECOND_NS UINT64_C(1000000000)

/* For what happens at once, or never. */
#define LONG_NS (60 * SECOND_NS)

struct instance {
	HANDLE pipe;
	OVERLAPPED coming;
};

static void make(struct instance *instance)
{
	wchar_t name[64];

	swprintf(name, 64, L"\\\\.\\pipe\\dotnet-diagnostic-%d", dnp_process_id());
	*instance = (struct instance){
		.pipe = CreateNamedPipeW(name, PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED,
			PIPE_TYPE_BYTE, PIPE_UNLIMITED_INSTANCES, 64, 64, 0, NULL),
		.coming.hEvent = CreateEventW(NULL, TRUE, FALSE, NULL),
	};
	CHECK(instance->pipe != INVALID_HANDLE_VALUE && instance->coming.hEvent);
	CHECK(!ConnectNamedPipe(instance->pipe, &instance->coming));
	CHECK_EQ(GetLastError(), ERROR_IO_PENDING);
}

static bool has_come(const struct instance *instance)
{
	return WaitForSingleObject(instance->coming.hEvent, 0) == WAIT_OBJECT_0;
}

static void leave(struct instance *instance)
{
	DWORD n;

	if (CancelIoEx(instance->pipe, &instance->coming))
		GetOverlappedResult(instance->pipe, &instance->coming, &n, TRUE);
	CloseHandle(instance->pipe);
	CloseHandle(instance->coming.hEvent);
}

static int connect_for(uint64_t ns)
{
	struct dnp_pipe pipe;
	int failed = dnp_pipe_open(&pipe, dnp_process_id(), dnp_now_ns() + ns, -1);

	if (!failed)
		dnp_pipe_close(&pipe);
	return failed;
}

/* On another thread, as the turn is a thread's. */
static DWORD WINAPI connect_briefly(void *failed)
{
	*(int *)failed = connect_for(SECOND_NS / 2);
	return 0;
}

static void run_aside(DWORD(WINAPI *run)(void *context), void *context)
{
	HANDLE thread = CreateThread(NULL, 0, run, context, 0, NULL);

	CHECK(thread);
	CHECK_EQ(WaitForSingleObject(thread, INFINITE), WAIT_OBJECT_0);
	CloseHandle(thread);
}

/* Though there is an instance for him: the runtime may have made it, and not wait at it yet. */
TEST(pipe_is_connected_to_by_one_after_the_other)
{
	struct instance first, second;
	struct dnp_pipe pipe;
	int failed = 1;

	make(&first);
	make(&second);
	CHECK_EQ(dnp_pipe_open(&pipe, dnp_process_id(), dnp_now_ns() + LONG_NS, -1), 0);
	run_aside(connect_briefly, &failed);
	CHECK_EQ(failed, -EBUSY);
	CHECK_EQ(has_come(&first) + has_come(&second), 1);
	dnp_pipe_close(&pipe);
	CHECK_EQ(connect_for(LONG_NS), 0);
	CHECK_EQ(has_come(&first) + has_come(&second), 2);
	leave(&first);
	leave(&second);
}

/* How long an instance has to have been there is longer than that. */
TEST(pipe_is_not_connected_to_when_the_time_is_over)
{
	struct instance only;

	make(&only);
	CHECK_EQ(connect_for(SECOND_NS / 100), -EBUSY);
	CHECK(!has_come(&only));
	leave(&only);
}

static DWORD WINAPI open_it(void *context)
{
	struct dnp_pipe *pipe = context;

	CHECK_EQ(dnp_pipe_open(pipe, dnp_process_id(), dnp_now_ns() + LONG_NS, -1), 0);
	CHECK(pipe->turn);
	return 0;
}

static DWORD WINAPI open_and_close(void *context)
{
	open_it(context);
	dnp_pipe_close(context);
	return 0;
}

TEST(turn_of_one_who_has_ended_is_taken)
{
	struct instance instances[3];
	struct dnp_pipe pipe;

	for (unsigned i = 0; i < 3; i++)
		make(&instances[i]);
	run_aside(open_it, &pipe);
	open_and_close(&pipe);
	run_aside(open_and_close, &pipe); /* which the one before has not kept */
	for (unsigned i = 0; i < 3; i++)
		leave(&instances[i]);
}

TEST(pipe_that_is_not_there_and_pipe_that_is_busy)
{
	struct instance only;
	struct dnp_pipe pipe;

	CHECK_EQ(connect_for(LONG_NS), -ENOENT);
	make(&only);
	CHECK_EQ(dnp_pipe_open(&pipe, dnp_process_id(), dnp_now_ns() + LONG_NS, -1), 0);
	CHECK_EQ(connect_for(SECOND_NS / 5), -EBUSY);
	dnp_pipe_close(&pipe);
	leave(&only);
}
