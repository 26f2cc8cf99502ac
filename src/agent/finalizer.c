/* SPDX-License-Identifier: MIT */
#include "agent/finalizer.h"

#include <string.h>

#include "os/clock.h"
#include "os/thread.h"
#include "os/thread_state.h"

#define NAME    ".NET Finalizer"
#define LOOK_NS UINT64_C(1000000) /* between two looks that must find it in the same sleep */

static int find(int tid, void *context)
{
	char name[16];

	dnp_thread_name(tid, name, sizeof(name));
	if (strcmp(name, NAME) != 0)
		return 0;
	*(int *)context = tid;
	return 1;
}

static bool rests(int tid)
{
	uint64_t cpu_ns = dnp_thread_cpu_ns(tid);
	struct dnp_thread_state before, after;

	if (dnp_thread_state(tid, &before) || !dnp_thread_waits_for_event(&before))
		return false;
	dnp_sleep_until_ns(dnp_now_ns() + LOOK_NS);
	return !dnp_thread_state(tid, &after) && !memcmp(&before, &after, sizeof(before)) &&
		dnp_thread_cpu_ns(tid) == cpu_ns;
}

bool dnp_finalizer_rests(uint64_t patience_ns)
{
	uint64_t deadline_ns = dnp_now_ns() + patience_ns;
	int tid = 0;

	dnp_thread_each(find, &tid);
	if (!tid)
		return true;
	while (!rests(tid)) {
		if (dnp_now_ns() >= deadline_ns)
			return false;
		dnp_sleep_until_ns(dnp_now_ns() + LOOK_NS);
	}
	return true;
}
