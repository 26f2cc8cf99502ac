/* SPDX-License-Identifier: MIT */
/*
 * A bell, and events of others: what stands for a descriptor here is the handle of an event, which
 * fits an int. The system tells nobody of threads that begin: they are looked for.
 */
#include "os/watch.h"

#include <errno.h>
#include <stdatomic.h>

#include "os/bell.h"
#include "os/clock.h"
#include "os/windows/timer.h"

static _Atomic int bell = -1;

/* The waiting thread's: the bell, and those that were added. */
static HANDLE objects[1 + DNP_WATCH_FDS];
static unsigned object_count = 1;

static HANDLE handle_of(int event)
{
	return (HANDLE)(intptr_t)event; /* NOLINT(performance-no-int-to-ptr) */
}

int dnp_watch_open(void)
{
	int opened;

	if (atomic_load(&bell) >= 0)
		return 0;
	opened = dnp_bell_open();
	if (opened < 0)
		return opened;
	object_count = 1;
	atomic_store(&bell, opened);
	return 0;
}

void dnp_watch_close(void)
{
	int open = atomic_exchange(&bell, -1);

	if (open >= 0)
		dnp_bell_close(open);
}

int dnp_watch_threads_open(bool at_once)
{
	(void)at_once;
	return -ENOSYS;
}

void dnp_watch_threads_close(void)
{
}

SIGSAFE void dnp_watch_call(void)
{
	int open = atomic_load(&bell);

	if (open >= 0)
		dnp_bell_ring(open);
}

int dnp_watch_add(int event)
{
	if (object_count == DNP_WATCH_FDS + 1)
		return -E2BIG;
	objects[object_count++] = handle_of(event);
	return 0;
}

void dnp_watch_remove(int event)
{
	for (unsigned i = 1; i < object_count; i++)
		if (objects[i] == handle_of(event))
			objects[i--] = objects[--object_count];
}

unsigned dnp_watch_wait(uint64_t deadline_ns, dnp_watch_begun begun)
{
	int ended;

	(void)begun;
	objects[0] = handle_of(atomic_load(&bell));
	ended = dnp_timer_wait_any(objects, object_count, deadline_ns);
	if (ended < 0)
		return 0;
	if (ended)
		return DNP_WATCH_READABLE;
	/* The first counts: a bell that is rung all the time is not to hide the others. */
	return dnp_timer_wait_any(objects + 1, object_count - 1, 0) < 0
		? DNP_WATCH_CALLED
		: DNP_WATCH_CALLED | DNP_WATCH_READABLE;
}
