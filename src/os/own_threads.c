/* SPDX-License-Identifier: MIT */
#include "os/own_threads.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "os/clock.h"
#include "os/thread.h"

#define OWN_MAX  8
#define GONE_MAX 64u

static _Atomic int own_tids[OWN_MAX]; /* 0: a free place */
static _Atomic uint64_t begun_ns[OWN_MAX];
/* What the one in that place has used, once it is over, else 0; and all that had a place. */
static _Atomic uint64_t spent_ns[OWN_MAX], spent_before_ns;

/* Those that were joined, in a circle. tid 0: one is being written. */
static struct gone {
	_Atomic int tid;
	_Atomic uint64_t begin_ns, end_ns;
} gone[GONE_MAX];
static _Atomic unsigned n_gone;

/* OWN_MAX: in none. */
static size_t place_of(int tid)
{
	size_t i = 0;

	while (i < OWN_MAX && atomic_load(&own_tids[i]) != tid)
		i++;
	return i;
}

void dnp_own_threads_add(int tid)
{
	for (size_t i = 0; i < OWN_MAX; i++) {
		int free_place = 0;

		if (!atomic_compare_exchange_strong(&own_tids[i], &free_place, tid))
			continue;
		atomic_store(&begun_ns[i], dnp_now_ns());
		return;
	}
}

void dnp_own_threads_end(void)
{
	int tid = dnp_thread_id();
	size_t i = place_of(tid);

	if (i < OWN_MAX)
		atomic_store(&spent_ns[i], dnp_thread_cpu_ns(tid));
}

static void remember(int tid, uint64_t begin_ns)
{
	struct gone *one = &gone[atomic_fetch_add(&n_gone, 1) % GONE_MAX];

	atomic_store(&one->tid, 0);
	atomic_store(&one->begin_ns, begin_ns);
	atomic_store(&one->end_ns, dnp_now_ns());
	atomic_store(&one->tid, tid);
}

bool dnp_thread_was_own(int tid, uint64_t begin_ns, uint64_t end_ns)
{
	if (dnp_thread_is_own(tid))
		return true;
	for (size_t i = 0; i < GONE_MAX; i++)
		if (tid && atomic_load(&gone[i].tid) == tid &&
			begin_ns <= atomic_load(&gone[i].end_ns) &&
			(!end_ns || end_ns >= atomic_load(&gone[i].begin_ns)))
			return true;
	return false;
}

void dnp_own_threads_remove(int tid)
{
	size_t i = place_of(tid);

	if (i == OWN_MAX)
		return;
	remember(tid, atomic_load(&begun_ns[i]));
	atomic_fetch_add(&spent_before_ns, atomic_exchange(&spent_ns[i], 0));
	atomic_store(&own_tids[i], 0);
}

uint64_t dnp_own_threads_cpu_ns(void)
{
	uint64_t sum_ns = atomic_load(&spent_before_ns);

	for (size_t i = 0; i < OWN_MAX; i++) {
		int tid = atomic_load(&own_tids[i]);
		uint64_t ended_ns = atomic_load(&spent_ns[i]);

		if (tid)
			sum_ns += ended_ns ? ended_ns : dnp_thread_cpu_ns(tid);
	}
	return sum_ns;
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
