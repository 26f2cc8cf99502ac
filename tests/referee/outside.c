/* SPDX-License-Identifier: MIT */
/*
 * The product's snapshot engine suspends the runtime and has it walk a thread; while the thread
 * stands still, we walk it from outside: asleep, or stopped if it runs native code.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "clr/hresult.h"
#include "os/clock.h"
#include "os/thread.h"
#include "referee.h"
#include "unwind/dss.h"
#include "unwind/target.h"

HRESULT __real_dnp_dss_walk(const struct dnp_info *info, ThreadID thread, uint32_t flags,
	const struct dnp_regs *seed, struct dnp_dss *dss);
HRESULT __wrap_dnp_dss_walk(const struct dnp_info *info, ThreadID thread, uint32_t flags,
	const struct dnp_regs *seed, struct dnp_dss *dss);
void __real_dnp_engines_managed_begin(ThreadID id, struct dnp_thread *thread);
void __wrap_dnp_engines_managed_begin(ThreadID id, struct dnp_thread *thread);

/* ---- Which of the system's threads one of the runtime's is */

#define THREADS_MAX 8192 /* of all that there ever were; the last one of an id counts */

static struct {
	ThreadID id;
	int tid;
	struct dnp_stack_range stack;
} threads[THREADS_MAX];
static _Atomic size_t n_threads;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void __wrap_dnp_engines_managed_begin(ThreadID id, struct dnp_thread *thread)
{
	pthread_mutex_lock(&lock);
	if (n_threads < THREADS_MAX) {
		threads[n_threads].id = id;
		threads[n_threads].tid = thread->tid;
		threads[n_threads].stack = thread->stack;
		n_threads++;
	}
	pthread_mutex_unlock(&lock);
	__real_dnp_engines_managed_begin(id, thread);
}

/* Its place, or -1. Without the lock: a thread that is suspended may hold it. */
static int find(ThreadID id)
{
	for (size_t i = n_threads; i-- > 0;)
		if (threads[i].id == id)
			return (int)i;
	return -1;
}

/* ---- Both walks */

static struct snapshot theirs;
static dnp_frame_word own[REFEREE_DEPTH_MAX];

static void take_theirs(const struct dnp_dss *dss)
{
	theirs.result = dss->result;
	theirs.n = dss->n < REFEREE_DEPTH_MAX ? dss->n : REFEREE_DEPTH_MAX;
	for (size_t i = 0; i < theirs.n; i++)
		theirs.frames[i] =
			(struct snapshot_frame){dss->frames[i].function, dss->frames[i].ip};
}

static int take_ours(size_t place, struct dnp_target_stack *out)
{
	uint64_t begin_ns = dnp_now_ns();
	int failed;

	*out = (struct dnp_target_stack){
		.frames = own,
		.max = REFEREE_DEPTH_MAX,
		.stack = threads[place].stack,
	};
	failed =
		dnp_target_walk(threads[place].tid, NULL, DNP_TARGET_ASLEEP | DNP_TARGET_STOP, out);
	if (failed) {
		referee_failed(failed);
		return failed;
	}
	referee_took(out->asleep ? WALKER_ASLEEP : WALKER_STOPPED, out->n, dnp_now_ns() - begin_ns);
	referee_count(&referee.stops[out->stop]);
	return 0;
}

static void compare_with_ours(size_t place)
{
	struct dnp_target_stack out;

	if (!take_ours(place, &out) && !referee_same(own, out.n, &theirs))
		referee_keep(own, out.n, out.stop, &theirs, true);
}

/* Has the thread no managed frame, the runtime says E_FAIL: so must our walk. */
HRESULT __wrap_dnp_dss_walk(const struct dnp_info *info, ThreadID thread, uint32_t flags,
	const struct dnp_regs *seed, struct dnp_dss *dss)
{
	uint64_t begin_ns = dnp_now_ns();
	HRESULT hr = __real_dnp_dss_walk(info, thread, flags, seed, dss);
	uint64_t ns = dnp_now_ns() - begin_ns;
	int place;

	if (!referee.path || referee.engine != REFEREE_SNAPSHOT || hr == E_NOTIMPL)
		return hr;
	referee_count(&referee.samples);
	place = find(thread);
	/* What else may fail is counted by the engine itself. */
	if (place >= 0 && (SUCCEEDED(hr) || hr == E_FAIL)) {
		referee_took(WALKER_SNAPSHOT, dss->n, ns);
		take_theirs(dss);
		if (hr == E_FAIL)
			theirs.n = 0;
		compare_with_ours((size_t)place);
	}
	return hr;
}

/* ---- Stopped, without a suspension */

static struct dnp_own_thread stopper;
static _Atomic int stopper_ends;

static void *stop_and_walk(void *context)
{
	uint64_t interval_ns = *(uint64_t *)context, due_ns = dnp_now_ns();
	struct dnp_target_stack out;

	while (!stopper_ends) {
		due_ns += interval_ns;
		dnp_sleep_until_ns(due_ns);
		for (size_t i = 0; i < n_threads; i++)
			if (dnp_thread_exists(threads[i].tid))
				take_ours(i, &out);
	}
	return NULL;
}

int referee_stopper_start(uint64_t interval_ns)
{
	static uint64_t interval;

	interval = interval_ns;
	return dnp_own_thread_start(&stopper, stop_and_walk, &interval);
}

void referee_stopper_end(void)
{
	stopper_ends = 1;
	dnp_own_thread_join(&stopper);
}
