/* SPDX-License-Identifier: MIT */
/* A bell is an event that one wait resets; handles of the system fit an int. */
#include "os/bell.h"

#include <windows.h>

#include "os/clock.h"
#include "os/windows/error.h"
#include "os/windows/timer.h"

static HANDLE handle_of(int bell)
{
	return (HANDLE)(intptr_t)bell; /* NOLINT(performance-no-int-to-ptr) */
}

int dnp_bell_open(void)
{
	HANDLE event = CreateEventW(NULL, FALSE, FALSE, NULL);

	return event ? (int)(intptr_t)event : dnp_windows_error();
}

void dnp_bell_close(int bell)
{
	CloseHandle(handle_of(bell));
}

void dnp_bell_ring(int bell)
{
	SetEvent(handle_of(bell));
}

bool dnp_bell_wait(int bell, uint64_t deadline_ns)
{
	return dnp_timer_wait(handle_of(bell), deadline_ns);
}

bool dnp_bell_take(int bell)
{
	return WaitForSingleObject(handle_of(bell), 0) == WAIT_OBJECT_0;
}
