/* SPDX-License-Identifier: MIT */
#include "os/thread.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "os/own_threads.h"
#include "os/process.h"
#include "os/windows/error.h"
#include "os/windows/nt.h"
#include "os/windows/thread_name.h"
#include "os/windows/wide.h"

SIGSAFE int dnp_thread_id(void)
{
	return (int)GetCurrentThreadId();
}

int dnp_thread_exists(int tid)
{
	HANDLE thread =
		OpenThread(SYNCHRONIZE | THREAD_QUERY_LIMITED_INFORMATION, FALSE, (DWORD)tid);
	int exists = thread && GetProcessIdOfThread(thread) == GetCurrentProcessId() &&
		WaitForSingleObject(thread, 0) == WAIT_TIMEOUT;

	if (thread)
		CloseHandle(thread);
	return exists;
}

int dnp_thread_stack(uintptr_t *low, uintptr_t *high)
{
	ULONG_PTR from, to;

	GetCurrentThreadStackLimits(&from, &to);
	*low = from;
	*high = to;
	return 0;
}

/*
 * What a thread has used of its stack lies in one piece, up to the stack's end; below it is what it
 * may still use.
 */
SIGSAFE int dnp_thread_stack_find(uintptr_t sp, uintptr_t *low, uintptr_t *high)
{
	MEMORY_BASIC_INFORMATION region;

	/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
	if (!VirtualQuery((void *)sp, &region, sizeof(region)) || region.State != MEM_COMMIT ||
		region.Type != MEM_PRIVATE)
		return -ENOENT;
	*low = (uintptr_t)region.AllocationBase;
	*high = (uintptr_t)region.BaseAddress + region.RegionSize;
	return 0;
}

void dnp_windows_thread_name(HANDLE thread, char *name, size_t size)
{
	wchar_t *wide = NULL;
	struct dnp_str text;
	char *narrow;

	name[0] = '\0';
	if (FAILED(GetThreadDescription(thread, &wide)))
		return;
	narrow = dnp_narrow(wide);
	if (narrow) {
		text = dnp_str(narrow);
		snprintf(name, size, "%.*s", (int)dnp_utf8_fit(text, size - 1), narrow);
	}
	free(narrow);
	LocalFree(wide);
}

void dnp_thread_name(int tid, char *name, size_t size)
{
	HANDLE thread = OpenThread(THREAD_QUERY_LIMITED_INFORMATION, FALSE, (DWORD)tid);

	name[0] = '\0';
	if (!thread)
		return;
	dnp_windows_thread_name(thread, name, size);
	CloseHandle(thread);
}

/* There are no handlers here, in which it may not be asked for. */
SIGSAFE void dnp_thread_own_name(char name[16])
{
	name[0] = '\0';
	dnp_windows_thread_name(GetCurrentThread(), name, 16);
}

void dnp_thread_set_name(const char *name)
{
	wchar_t *wide = dnp_wide(name);

	if (wide)
		SetThreadDescription(GetCurrentThread(), wide);
	free(wide);
}

void dnp_thread_hurry(void)
{
	SetThreadPriority(GetCurrentThread(), THREAD_PRIORITY_HIGHEST);
}

/* One that has ended stays in the list as long as somebody has a handle to it. */
void dnp_thread_each(int (*visit)(int tid, void *context), void *context)
{
	HANDLE thread = NULL, next;
	bool more = true;

	while (more &&
		NT_SUCCESS(NtGetNextThread(GetCurrentProcess(), thread,
			SYNCHRONIZE | THREAD_QUERY_LIMITED_INFORMATION, 0, 0, &next))) {
		if (thread)
			CloseHandle(thread);
		thread = next;
		if (WaitForSingleObject(thread, 0) != WAIT_OBJECT_0)
			more = !visit((int)GetThreadId(thread), context);
	}
	if (thread)
		CloseHandle(thread);
}

const bool dnp_process_threads_counted = false;

static int count(int tid, void *context)
{
	(void)tid;
	++*(unsigned *)context;
	return 0;
}

unsigned dnp_process_thread_count(void)
{
	unsigned n = 0;

	dnp_thread_each(count, &n);
	return n;
}

/* ---- Threads of our own */

#define STACK_BYTES ((size_t)2 << 20) /* used as far as it is touched; the runtime is called */

struct birth {
	void *(*run)(void *);
	void *context;
};

static DWORD WINAPI live(void *context)
{
	struct birth birth = *(struct birth *)context;

	free(context);
	birth.run(birth.context);
	dnp_own_threads_end();
	return 0;
}

int dnp_own_thread_start(struct dnp_own_thread *thread, void *(*run)(void *), void *context)
{
	struct birth *birth = malloc(sizeof(*birth));
	HANDLE handle;
	DWORD tid;

	if (!birth)
		return -ENOMEM;
	*birth = (struct birth){run, context};
	handle = CreateThread(NULL, STACK_BYTES, live, birth,
		CREATE_SUSPENDED | STACK_SIZE_PARAM_IS_A_RESERVATION, &tid);
	if (!handle) {
		free(birth);
		return dnp_windows_error();
	}
	/* It is known as ours before it does anything. */
	dnp_own_threads_add((int)tid);
	*thread =
		(struct dnp_own_thread){.handle = (uintptr_t)handle, .running = 1, .tid = (int)tid};
	ResumeThread(handle);
	return 0;
}

/* There are none: faults are exceptions of the thread itself. */
void dnp_own_thread_open_signals(void)
{
}

void dnp_own_thread_join(struct dnp_own_thread *thread)
{
	HANDLE handle = (HANDLE)thread->handle; /* NOLINT(performance-no-int-to-ptr) */

	if (!thread->running)
		return;
	WaitForSingleObject(handle, INFINITE);
	CloseHandle(handle);
	dnp_own_threads_remove(thread->tid);
	*thread = (struct dnp_own_thread){0};
}
