/* SPDX-License-Identifier: MIT */
/*
 * windows_threads HOW [N]: threads whose ways are known, for Windows. What each one did is told at
 * the end, a line a thread: its id, its name, its CPU time in ns by its own reading, and the times
 * between which it ran, if it did so by turns: by the performance counter, in ns.
 *
 *   turns   "runner" computes all along and "sleeper" sleeps; "ping" and "pong" compute by turns
 *   shares  "three" and "one" compute by turns, three times as long the one as the other, and
 * "sleeper" sleeps, until a line is read; says "ready" before short   N threads one after the
 * other, each of which computes for 2 ms of CPU time wait    one thread "waiter", until a line is
 * read; says "ready" before fail    computes for a while and exits with N crash   the same, but
 * reads where nothing is
 */
#include <process.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#define TURNS   6
#define TURN_MS 150

HRESULT WINAPI SetThreadDescription(HANDLE thread, PCWSTR name);

struct thread {
	const wchar_t *name;
	HANDLE handle, mine, others; /* whose turn it is */
	DWORD tid;
	uint64_t cpu_ns;
	uint64_t from_ns[TURNS], until_ns[TURNS];
	int turns;
};

static volatile LONG over;

static uint64_t now_ns(void)
{
	LARGE_INTEGER count, frequency;

	QueryPerformanceFrequency(&frequency);
	QueryPerformanceCounter(&count);
	return (uint64_t)count.QuadPart / (uint64_t)frequency.QuadPart * 1000000000u +
		(uint64_t)count.QuadPart % (uint64_t)frequency.QuadPart * 1000000000u /
		(uint64_t)frequency.QuadPart;
}

static uint64_t cpu_ns(void)
{
	FILETIME begin, end, kernel, user;

	if (!GetThreadTimes(GetCurrentThread(), &begin, &end, &kernel, &user))
		return 0;
	return (((uint64_t)kernel.dwHighDateTime << 32 | kernel.dwLowDateTime) +
		       ((uint64_t)user.dwHighDateTime << 32 | user.dwLowDateTime)) *
		100;
}

/* Mostly in the program itself: few calls, however long. */
static void compute(uint64_t ms)
{
	uint64_t end = cpu_ns() + ms * 1000000;

	while (cpu_ns() < end)
		for (volatile unsigned i = 0; i < 300000; i++)
			;
}

static unsigned WINAPI run(void *context)
{
	struct thread *thread = context;

	SetThreadDescription(GetCurrentThread(), thread->name);
	while (!over)
		compute(20);
	thread->cpu_ns = cpu_ns();
	return 0;
}

static unsigned WINAPI sleep_on(void *context)
{
	struct thread *thread = context;

	SetThreadDescription(GetCurrentThread(), thread->name);
	while (!over)
		Sleep(100);
	thread->cpu_ns = cpu_ns();
	return 0;
}

static unsigned WINAPI take_turns(void *context)
{
	struct thread *thread = context;

	SetThreadDescription(GetCurrentThread(), thread->name);
	for (int i = 0; i < TURNS; i++) {
		WaitForSingleObject(thread->mine, INFINITE);
		thread->from_ns[i] = now_ns();
		compute(TURN_MS);
		thread->until_ns[i] = now_ns();
		thread->turns++;
		SetEvent(thread->others);
	}
	thread->cpu_ns = cpu_ns();
	return 0;
}

#define SHARE_MS 20

static unsigned WINAPI take_share(void *context)
{
	struct thread *thread = context;

	SetThreadDescription(GetCurrentThread(), thread->name);
	while (!over) {
		WaitForSingleObject(thread->mine, INFINITE);
		compute((uint64_t)thread->turns * SHARE_MS);
		SetEvent(thread->others);
	}
	thread->cpu_ns = cpu_ns();
	thread->turns = 0;
	return 0;
}

static void begin(struct thread *thread, unsigned(WINAPI *how)(void *))
{
	unsigned tid;

	thread->handle = (HANDLE)_beginthreadex(NULL, 0, how, thread, 0, &tid);
	if (!thread->handle)
		exit(3);
	thread->tid = tid;
}

static void tell(const struct thread *thread)
{
	printf("%lu %ls %llu", thread->tid, thread->name, (unsigned long long)thread->cpu_ns);
	for (int i = 0; i < thread->turns; i++)
		printf(" %llu-%llu", (unsigned long long)thread->from_ns[i],
			(unsigned long long)thread->until_ns[i]);
	printf("\n");
}

static int turns(void)
{
	HANDLE first = CreateEventW(NULL, FALSE, TRUE, NULL),
	       second = CreateEventW(NULL, FALSE, FALSE, NULL);
	struct thread threads[] = {
		{.name = L"runner"},
		{.name = L"sleeper"},
		{.name = L"ping", .mine = first, .others = second},
		{.name = L"pong", .mine = second, .others = first},
	};

	begin(&threads[0], run);
	begin(&threads[1], sleep_on);
	begin(&threads[2], take_turns);
	begin(&threads[3], take_turns);
	WaitForSingleObject(threads[2].handle, INFINITE);
	WaitForSingleObject(threads[3].handle, INFINITE);
	over = 1;
	for (int i = 0; i < 4; i++) {
		WaitForSingleObject(threads[i].handle, INFINITE);
		tell(&threads[i]);
	}
	return 0;
}

static int shares(void)
{
	HANDLE first = CreateEventW(NULL, FALSE, TRUE, NULL),
	       second = CreateEventW(NULL, FALSE, FALSE, NULL);
	struct thread threads[] = {
		{.name = L"three", .mine = first, .others = second, .turns = 3},
		{.name = L"one", .mine = second, .others = first, .turns = 1},
		{.name = L"sleeper"},
	};
	char line[16];

	begin(&threads[0], take_share);
	begin(&threads[1], take_share);
	begin(&threads[2], sleep_on);
	printf("ready %lu\n", GetCurrentProcessId());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 4;
	over = 1;
	for (int i = 0; i < 3; i++) {
		WaitForSingleObject(threads[i].handle, INFINITE);
		tell(&threads[i]);
	}
	return 0;
}

static unsigned WINAPI work_shortly(void *context)
{
	struct thread *thread = context;

	SetThreadDescription(GetCurrentThread(), thread->name);
	compute(2);
	thread->cpu_ns = cpu_ns();
	return 0;
}

/* Handles of those that have ended are kept, as long as the program runs. */
static int many(int n)
{
	for (int i = 0; i < n; i++) {
		struct thread thread = {.name = L"short"};

		begin(&thread, work_shortly);
		WaitForSingleObject(thread.handle, INFINITE);
		tell(&thread);
	}
	return 0;
}

static unsigned WINAPI wait_for_end(void *context)
{
	struct thread *thread = context;

	SetThreadDescription(GetCurrentThread(), thread->name);
	WaitForSingleObject(thread->mine, INFINITE);
	return 0;
}

static int wait_for_line(void)
{
	struct thread thread = {.name = L"waiter", .mine = CreateEventW(NULL, FALSE, FALSE, NULL)};
	char line[16];

	begin(&thread, wait_for_end);
	printf("ready %lu\n", GetCurrentProcessId());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) && *line == '.')
		compute(30);
	SetEvent(thread.mine);
	WaitForSingleObject(thread.handle, INFINITE);
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 0;

	if (!strcmp(how, "turns"))
		return turns();
	if (!strcmp(how, "shares"))
		return shares();
	if (!strcmp(how, "short"))
		return many(n);
	if (!strcmp(how, "wait"))
		return wait_for_line();
	compute(100);
	if (!strcmp(how, "fail"))
		return n;
	if (!strcmp(how, "crash"))
		*(volatile int *)8 = n;
	return 2;
}
