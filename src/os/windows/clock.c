/* SPDX-License-Identifier: MIT */
#include "os/clock.h"

#include <stdio.h>
#include <windows.h>

#include "os/windows/timer.h"

#define NS_PER_S UINT64_C(1000000000)
#define TICK_NS  100 /* of a FILETIME */

/* Ticks from 1601, where a FILETIME begins, to 1970. */
#define TICKS_TO_1970 UINT64_C(116444736000000000)

static uint64_t ticks_of(FILETIME time)
{
	return (uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime;
}

static FILETIME file_time(uint64_t ticks)
{
	return (FILETIME){(DWORD)ticks, (DWORD)(ticks >> 32)};
}

SIGSAFE uint64_t dnp_now_ns(void)
{
	LARGE_INTEGER now, frequency;
	uint64_t count, per_s;

	QueryPerformanceFrequency(&frequency);
	QueryPerformanceCounter(&now);
	count = (uint64_t)now.QuadPart;
	per_s = (uint64_t)frequency.QuadPart;
	/* In two parts: the product of all of it has no room. */
	return count / per_s * NS_PER_S + count % per_s * NS_PER_S / per_s;
}

uint64_t dnp_unix_ns(void)
{
	FILETIME now;

	GetSystemTimePreciseAsFileTime(&now);
	return (ticks_of(now) - TICKS_TO_1970) * TICK_NS;
}

#define LOOKS 3 /* at two clocks: who is interrupted between them finds too early a time */

/* Times of a FILETIME. */
uint64_t dnp_ticks_begin_ns(uint64_t ticks)
{
	uint64_t began_unix_ns = ticks > TICKS_TO_1970 ? (ticks - TICKS_TO_1970) * TICK_NS : 0;
	int64_t latest_ns = 0;

	for (int i = 0; i < LOOKS; i++) {
		int64_t now_ns = (int64_t)dnp_now_ns();
		int64_t begin_ns = now_ns - (int64_t)(dnp_unix_ns() - began_unix_ns);

		if (begin_ns > latest_ns)
			latest_ns = begin_ns;
	}
	return (uint64_t)latest_ns;
}

/* Zones have long names in the user's language here: the distance to UTC says the same. */
static void put_zone(int64_t minutes, char *out, size_t capacity)
{
	int64_t size = minutes < 0 ? -minutes : minutes;

	if (!minutes)
		snprintf(out, capacity, "UTC");
	else
		snprintf(out, capacity, "%c%02d:%02d", minutes < 0 ? '-' : '+', (int)(size / 60),
			(int)(size % 60));
}

bool dnp_unix_text(uint64_t unix_ns, char *out, size_t capacity)
{
	uint64_t ticks = unix_ns / TICK_NS + TICKS_TO_1970;
	FILETIME time = file_time(ticks), utc_time, local_time;
	SYSTEMTIME utc, local;
	char zone[16];

	if (!FileTimeToSystemTime(&time, &utc) ||
		!SystemTimeToTzSpecificLocalTime(NULL, &utc, &local) ||
		!SystemTimeToFileTime(&utc, &utc_time) ||
		!SystemTimeToFileTime(&local, &local_time))
		return false;
	put_zone((int64_t)(ticks_of(local_time) - ticks_of(utc_time)) /
			(int64_t)(60 * NS_PER_S / TICK_NS),
		zone, sizeof(zone));
	return snprintf(out, capacity, "%04u-%02u-%02u %02u:%02u:%02u %s", local.wYear,
		       local.wMonth, local.wDay, local.wHour, local.wMinute, local.wSecond,
		       zone) < (int)capacity;
}

/*
 * By the system's ticks; what is finer, the processor's cycles that a thread has used
 * (QueryThreadCycleTime), is of no known length.
 */
SIGSAFE uint64_t dnp_thread_cpu_ns(int tid)
{
	FILETIME begin, end, kernel, user;
	HANDLE thread = tid ? OpenThread(THREAD_QUERY_LIMITED_INFORMATION, FALSE, (DWORD)tid)
			    : GetCurrentThread();
	BOOL known = thread && GetThreadTimes(thread, &begin, &end, &kernel, &user);

	if (tid && thread)
		CloseHandle(thread);
	return known ? (ticks_of(kernel) + ticks_of(user)) * TICK_NS : 0;
}

/* When it ended says nothing of one that has not. */
static SIGSAFE int read_times(HANDLE thread, uint64_t *cpu_ns)
{
	FILETIME begin, end, kernel, user;

	if (!GetThreadTimes(thread, &begin, &end, &kernel, &user) ||
		(ticks_of(end) && WaitForSingleObject(thread, 0) == WAIT_OBJECT_0))
		return -ESRCH;
	*cpu_ns = (ticks_of(kernel) + ticks_of(user)) * TICK_NS;
	return 0;
}

/* One that has ended can be asked about as long as somebody has a handle to it. */
SIGSAFE int dnp_thread_cpu_of(int tid, uint64_t *cpu_ns)
{
	HANDLE thread =
		OpenThread(SYNCHRONIZE | THREAD_QUERY_LIMITED_INFORMATION, FALSE, (DWORD)tid);
	int result = thread ? read_times(thread, cpu_ns) : -ESRCH;

	if (thread)
		CloseHandle(thread);
	return result;
}

void dnp_sleep_until_ns(uint64_t deadline_ns)
{
	dnp_timer_wait(NULL, deadline_ns);
}
