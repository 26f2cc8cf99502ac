/* SPDX-License-Identifier: MIT */
#include "launch/interrupt.h"

#include <errno.h>
#include <stdatomic.h>
#include <windows.h>

#include "os/windows/channel.h"
#include "os/windows/error.h"
#include "os/windows/timer.h"

static HANDLE came; /* owned: set when there are some that were not counted */
static _Atomic unsigned uncounted;

static HANDLE handle_of(int event)
{
	return (HANDLE)(intptr_t)event; /* NOLINT(performance-no-int-to-ptr) */
}

/* On a thread of the system's. */
static BOOL WINAPI on_control(DWORD what)
{
	if (what != CTRL_C_EVENT && what != CTRL_BREAK_EVENT)
		return FALSE;
	atomic_fetch_add(&uncounted, 1);
	SetEvent(came);
	return TRUE;
}

int dnp_interrupt_take(struct dnp_interrupt *interrupt, struct dnp_err *err)
{
	interrupt->fd = -1;
	came = CreateEventW(NULL, TRUE, FALSE, NULL);
	if (!came)
		return dnp_err(err, dnp_windows_error(),
			"cannot receive ctrl-C: Windows gives its error %lu; close other programs",
			GetLastError());
	atomic_store(&uncounted, 0);
	SetConsoleCtrlHandler(on_control, TRUE);
	interrupt->fd = (int)(intptr_t)came;
	return 0;
}

unsigned dnp_interrupt_count(const struct dnp_interrupt *interrupt)
{
	if (interrupt->fd < 0)
		return 0;
	ResetEvent(came);
	return atomic_exchange(&uncounted, 0);
}

/* As the system's own handler ends a process. */
void dnp_interrupt_give_back(struct dnp_interrupt *interrupt)
{
	if (interrupt->fd < 0)
		return;
	interrupt->fd = -1;
	SetConsoleCtrlHandler(on_control, FALSE);
	if (atomic_load(&uncounted))
		ExitProcess((UINT)STATUS_CONTROL_C_EXIT);
	CloseHandle(came);
}

bool dnp_interrupt_sleep(int fd, uint64_t until_ns)
{
	return dnp_timer_wait(fd < 0 ? NULL : handle_of(fd), until_ns);
}

int dnp_interrupt_await(int fd, int interrupt, uint64_t until_ns)
{
	HANDLE objects[] = {
		handle_of(dnp_channel_event(fd)),
		handle_of(interrupt),
	};

	switch (dnp_timer_wait_any(objects, interrupt < 0 ? 1 : 2, until_ns)) {
	case 0: return 0;
	case 1: return -EINTR;
	default: return -EAGAIN;
	}
}
