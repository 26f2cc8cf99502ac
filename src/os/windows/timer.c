/* SPDX-License-Identifier: MIT */
#include "os/windows/timer.h"

#include "os/clock.h"

/* Since Windows 10 1803; not in all headers. */
#define HIGH_RESOLUTION 2

#define TICK_NS   100 /* of due times */
#define NS_PER_MS UINT64_C(1000000)

/* Older ones than that have no finer ones. */
static HANDLE new_timer(void)
{
	HANDLE timer = CreateWaitableTimerExW(
		NULL, NULL, CREATE_WAITABLE_TIMER_MANUAL_RESET | HIGH_RESOLUTION, TIMER_ALL_ACCESS);

	return timer ? timer
		     : CreateWaitableTimerExW(
			       NULL, NULL, CREATE_WAITABLE_TIMER_MANUAL_RESET, TIMER_ALL_ACCESS);
}

/* Without a timer. */
static bool wait_coarsely(HANDLE object, uint64_t ns)
{
	DWORD ms = (DWORD)((ns + NS_PER_MS - 1) / NS_PER_MS);

	if (object)
		return WaitForSingleObject(object, ms) == WAIT_OBJECT_0;
	Sleep(ms);
	return false;
}

static bool wait_for(HANDLE object, uint64_t ns)
{
	LARGE_INTEGER due = {.QuadPart = -(LONGLONG)((ns + TICK_NS - 1) / TICK_NS)};
	HANDLE both[2] = {new_timer(), object};
	DWORD ended;

	if (!both[0] || !SetWaitableTimer(both[0], &due, 0, NULL, NULL, FALSE)) {
		if (both[0])
			CloseHandle(both[0]);
		return wait_coarsely(object, ns);
	}
	ended = WaitForMultipleObjects(object ? 2 : 1, both, FALSE, INFINITE);
	CloseHandle(both[0]);
	return ended == WAIT_OBJECT_0 + 1;
}

bool dnp_timer_wait(HANDLE object, uint64_t deadline_ns)
{
	uint64_t now_ns;

	if (object && deadline_ns == UINT64_MAX)
		return WaitForSingleObject(object, INFINITE) == WAIT_OBJECT_0;
	while ((now_ns = dnp_now_ns()) < deadline_ns)
		if (wait_for(object, deadline_ns - now_ns))
			return true;
	return object && WaitForSingleObject(object, 0) == WAIT_OBJECT_0;
}
