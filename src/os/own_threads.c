/* SPDX-License-Identifier: MIT */
#include "os/own_threads.h"

#include <stdatomic.h>
#include <stddef.h>

#include "os/thread.h"

#define OWN_MAX 8

static _Atomic int own_tids[OWN_MAX]; /* 0: a free place */

static void replace(int before, int after)
{
	for (size_t i = 0; i < OWN_MAX; i++) {
		int expected = before;

		if (atomic_compare_exchange_strong(&own_tids[i], &expected, after))
			return;
	}
}

void dnp_own_threads_add(int tid)
{
	replace(0, tid);
}

void dnp_own_threads_remove(int tid)
{
	replace(tid, 0);
}

int dnp_thread_is_own(int tid)
{
	for (size_t i = 0; i < OWN_MAX; i++)
		if (tid && atomic_load(&own_tids[i]) == tid)
			return 1;
	return 0;
}

unsigned dnp_own_thread_count(void)
{
	unsigned n = 0;

	for (size_t i = 0; i < OWN_MAX; i++)
		n += atomic_load(&own_tids[i]) != 0;
	return n;
}
