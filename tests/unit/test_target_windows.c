/* SPDX-License-Identifier: MIT */
/* Pipes of agents at which there is no place: who waits for one, and for how long. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <windows.h>

#include "launch/process.h"
#include "launch/target.h"
#include "os/process.h"

#include "test.h"

#define SECOND_NS UINT64_C(1000000000)

/* For one who waits in vain. */
#define LONG_NS (60 * SECOND_NS)

static bool has_agent;

/* ld's --wrap. */
bool __wrap_dnp_process_has_agent(pid_t pid);

bool __wrap_dnp_process_has_agent(pid_t pid)
{
	CHECK_EQ(pid, dnp_process_id());
	return has_agent;
}

/* The only instance of a pipe, and who has connected to it. */
struct pair {
	HANDLE server, client;
};

static struct pair take_all_places(const struct dnp_target *target)
{
	struct pair pair;
	wchar_t name[128];

	swprintf(name, 128, L"\\\\.\\pipe\\dnprof-%d-%llu-socket", (int)target->pid,
		(unsigned long long)target->process.start_ticks);
	pair.server =
		CreateNamedPipeW(name, PIPE_ACCESS_DUPLEX, PIPE_TYPE_MESSAGE, 1, 64, 64, 0, NULL);
	CHECK(pair.server != INVALID_HANDLE_VALUE);
	pair.client =
		CreateFileW(name, GENERIC_READ | GENERIC_WRITE, 0, NULL, OPEN_EXISTING, 0, NULL);
	CHECK(pair.client != INVALID_HANDLE_VALUE);
	return pair;
}

static void leave_places(struct pair pair)
{
	CloseHandle(pair.client);
	CloseHandle(pair.server);
}

/* A program of another start, for which this one is taken then. */
static int connect_when_full(uint64_t other_start, uint64_t patience_ns, struct dnp_err *err)
{
	struct dnp_target target;
	struct pair pair;
	int ret;

	CHECK_EQ(dnp_target_find(&target, dnp_process_id(), err), 0);
	target.process.start_ticks += other_start;
	pair = take_all_places(&target);
	ret = dnp_target_connect_agent(&target, patience_ns, err);
	leave_places(pair);
	return ret;
}

TEST(agent_that_has_left_is_not_waited_for)
{
	struct dnp_err err = {0};

	CHECK_EQ(connect_when_full(0, LONG_NS, &err), -ENOENT);
}

TEST(agent_of_a_process_that_has_ended_is_not_waited_for)
{
	struct dnp_err err = {0};

	has_agent = true;
	CHECK_EQ(connect_when_full(1, LONG_NS, &err), -ESRCH);
	CHECK(strstr(err.text, "it ended meanwhile"));
}

TEST(agent_that_is_busy_is_waited_for)
{
	struct dnp_err err = {0};

	has_agent = true;
	CHECK_EQ(connect_when_full(0, SECOND_NS / 2, &err), -ETIMEDOUT);
	CHECK(strstr(err.text, "no answer within 0.5 s"));
}

/* Of a program in one file no library tells that a runtime is in it. */
TEST(runtime_is_known_by_its_pipe)
{
	struct dnp_err err = {0};
	struct dnp_target target;
	wchar_t name[64];
	HANDLE pipe;

	CHECK(!dnp_process_has_runtime(dnp_process_id()));
	swprintf(name, 64, L"\\\\.\\pipe\\dotnet-diagnostic-%d", dnp_process_id());
	pipe = CreateNamedPipeW(name, PIPE_ACCESS_DUPLEX, PIPE_TYPE_BYTE, 1, 64, 64, 0, NULL);
	CHECK(pipe != INVALID_HANDLE_VALUE);
	CHECK(dnp_process_has_runtime(dnp_process_id()));
	CHECK_EQ(dnp_target_find(&target, dnp_process_id(), &err), 0);
	CHECK_EQ(dnp_target_connect_agent(&target, LONG_NS, &err), -ENOENT);
	CHECK(strstr(err.text, "the agent is not in it"));
	CloseHandle(pipe);
}

static DWORD WINAPI leave_soon(void *context)
{
	Sleep(500);
	leave_places(*(struct pair *)context);
	return 0;
}

/* The name goes with the last one who has an end of it. */
TEST(agent_that_leaves_meanwhile_is_told)
{
	struct dnp_err err = {0};
	struct dnp_target target;
	struct pair pair;
	HANDLE thread;

	has_agent = true;
	CHECK_EQ(dnp_target_find(&target, dnp_process_id(), &err), 0);
	pair = take_all_places(&target);
	thread = CreateThread(NULL, 0, leave_soon, &pair, 0, NULL);
	CHECK(thread);
	CHECK_EQ(dnp_target_connect_agent(&target, LONG_NS, &err), -ENOENT);
	WaitForSingleObject(thread, INFINITE);
	CloseHandle(thread);
}
