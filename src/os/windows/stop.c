/* SPDX-License-Identifier: MIT */
/* Threads are suspended by the system, at any instruction, and notice nothing of it. */
#include "os/stop.h"

#include <errno.h>
#include <windows.h>

#include "os/clock.h"
#include "os/windows/error.h"

static uint64_t stopped_ns; /* of the one caller */

int dnp_stop_open(struct dnp_err *err)
{
	(void)err;
	return 0;
}

int dnp_stop_close(void)
{
	return 0;
}

/*
 * SuspendThread only asks for it; who has the thread's registers knows that it stands.
 */
STOPPED static int look_at(HANDLE thread, dnp_stop_look look, void *arg)
{
	_Alignas(16) CONTEXT context;

	context.ContextFlags = CONTEXT_CONTROL | CONTEXT_INTEGER;
	if (!GetThreadContext(thread, &context))
		return -ESRCH;
	/* sigsafe: a function marked so, see os/stop.h */
	look(&context, arg);
	return 0;
}

static int stop_while(HANDLE thread, dnp_stop_look look, void *arg)
{
	uint64_t begin_ns = dnp_now_ns();
	int result;

	if (GetProcessIdOfThread(thread) != GetCurrentProcessId() ||
		SuspendThread(thread) == (DWORD)-1)
		return -ESRCH;
	result = look_at(thread, look, arg);
	ResumeThread(thread);
	stopped_ns = dnp_now_ns() - begin_ns;
	return result;
}

int dnp_stop_while(int tid, uint64_t patience_ns, dnp_stop_look look, void *arg)
{
	HANDLE thread;
	int result;

	(void)patience_ns;
	if ((DWORD)tid == GetCurrentThreadId())
		return -EDEADLK;
	thread = OpenThread(
		THREAD_SUSPEND_RESUME | THREAD_GET_CONTEXT | THREAD_QUERY_LIMITED_INFORMATION,
		FALSE, (DWORD)tid);
	if (!thread)
		return -ESRCH;
	result = stop_while(thread, look, arg);
	CloseHandle(thread);
	return result;
}

uint64_t dnp_stop_last_ns(void)
{
	return stopped_ns;
}
