/* SPDX-License-Identifier: MIT */
/* A bell. The system tells nobody of threads that begin: they are looked for. */
#include "os/watch.h"

#include <errno.h>
#include <stdatomic.h>

#include "os/bell.h"
#include "os/clock.h"

static _Atomic int bell = -1;

int dnp_watch_open(void)
{
	int opened;

	if (atomic_load(&bell) >= 0)
		return 0;
	opened = dnp_bell_open();
	if (opened < 0)
		return opened;
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

unsigned dnp_watch_wait(uint64_t deadline_ns, dnp_watch_begun begun)
{
	(void)begun;
	return dnp_bell_wait(atomic_load(&bell), deadline_ns) ? DNP_WATCH_CALLED : 0;
}
