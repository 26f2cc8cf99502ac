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

/* Which of the objects has ended a wait, a mutex whose owner has ended among them; -1: none did. */
static int number_of(DWORD ended, unsigned n)
{
	if (ended >= WAIT_ABANDONED_0 && ended < WAIT_ABANDONED_0 + n)
		return (int)(ended - WAIT_ABANDONED_0);
	return ended < WAIT_OBJECT_0 + n ? (int)(ended - WAIT_OBJECT_0) : -1;
}

/* Without a timer. */
static int wait_coarsely(const HANDLE *objects, unsigned n, uint64_t ns)
{
	DWORD ms = (DWORD)((ns + NS_PER_MS - 1) / NS_PER_MS);

	if (n)
		return number_of(WaitForMultipleObjects(n, objects, FALSE, ms), n);
	Sleep(ms);
	return -1;
}

static int wait_for(const HANDLE *objects, unsigned n, uint64_t ns)
{
	LARGE_INTEGER due = {.QuadPart = -(LONGLONG)((ns + TICK_NS - 1) / TICK_NS)};
	HANDLE all[MAXIMUM_WAIT_OBJECTS];
	HANDLE timer = new_timer();
	DWORD ended;

	if (!timer || !SetWaitableTimer(timer, &due, 0, NULL, NULL, FALSE)) {
		if (timer)
			CloseHandle(timer);
		return wait_coarsely(objects, n, ns);
	}
	for (unsigned i = 0; i < n; i++)
		all[i] = objects[i];
	all[n] = timer;
	ended = WaitForMultipleObjects(n + 1, all, FALSE, INFINITE);
	CloseHandle(timer);
	return number_of(ended, n);
}

int dnp_timer_wait_any(const HANDLE *objects, unsigned n, uint64_t deadline_ns)
{
	uint64_t now_ns;
	int ended;

	if (n && deadline_ns == UINT64_MAX)
		return number_of(WaitForMultipleObjects(n, objects, FALSE, INFINITE), n);
	while ((now_ns = dnp_now_ns()) < deadline_ns) {
		ended = wait_for(objects, n, deadline_ns - now_ns);
		if (ended >= 0)
			return ended;
	}
	return n ? number_of(WaitForMultipleObjects(n, objects, FALSE, 0), n) : -1;
}

bool dnp_timer_wait(HANDLE object, uint64_t deadline_ns)
{
	return dnp_timer_wait_any(&object, object ? 1 : 0, deadline_ns) >= 0;
}
