/* SPDX-License-Identifier: MIT */
#include "win_threads.h"

#include <stdlib.h>
#include <windows.h>

#include "test.h"

struct start {
	void (*run)(void *context);
	void *context;
};

static DWORD WINAPI run_it(void *context)
{
	struct start start = *(struct start *)context;

	free(context);
	start.run(start.context);
	return 0;
}

void *win_thread_new(void (*run)(void *context), void *context)
{
	struct start *start = malloc(sizeof(*start));
	HANDLE thread;

	CHECK(start);
	*start = (struct start){run, context};
	thread = CreateThread(NULL, 0, run_it, start, 0, NULL);
	CHECK(thread);
	return thread;
}

void win_thread_wait(void *thread)
{
	CHECK_EQ(WaitForSingleObject(thread, INFINITE), WAIT_OBJECT_0);
}

void win_thread_join(void *thread)
{
	win_thread_wait(thread);
	CloseHandle(thread);
}

unsigned win_thread_suspensions(void *thread)
{
	DWORD before = SuspendThread(thread);

	CHECK(before != (DWORD)-1);
	ResumeThread(thread);
	return before;
}

void win_thread_suspend_fully(void *thread)
{
	for (int i = 0; i < MAXIMUM_SUSPEND_COUNT; i++)
		CHECK(SuspendThread(thread) != (DWORD)-1);
	CHECK_EQ(SuspendThread(thread), (DWORD)-1);
}

void win_sleep_for_ever(void)
{
	for (;;)
		Sleep(INFINITE);
}

uint8_t *win_code_new(size_t bytes)
{
	uint8_t *code = VirtualAlloc(NULL, bytes, MEM_COMMIT | MEM_RESERVE, PAGE_EXECUTE_READWRITE);

	CHECK(code);
	return code;
}

void win_heap_lock(void)
{
	CHECK(HeapLock(GetProcessHeap()));
}

void win_heap_unlock(void)
{
	HeapUnlock(GetProcessHeap());
}

typedef LONG(NTAPI *lock_loader)(ULONG flags, ULONG *state, ULONG_PTR *cookie);
typedef LONG(NTAPI *unlock_loader)(ULONG flags, ULONG_PTR cookie);

static void *of_ntdll(const char *name)
{
	void *found = (void *)(uintptr_t)GetProcAddress(GetModuleHandleW(L"ntdll.dll"), name);

	CHECK(found);
	return found;
}

uintptr_t win_loader_lock(void)
{
	lock_loader lock = (lock_loader)of_ntdll("LdrLockLoaderLock");
	ULONG_PTR cookie;

	CHECK_EQ(lock(0, NULL, &cookie), 0);
	return cookie;
}

void win_loader_unlock(uintptr_t cookie)
{
	unlock_loader unlock = (unlock_loader)of_ntdll("LdrUnlockLoaderLock");

	unlock(0, cookie);
}

uintptr_t win_ntdll(void)
{
	return (uintptr_t)GetModuleHandleW(L"ntdll.dll");
}
