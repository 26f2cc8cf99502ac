/* SPDX-License-Identifier: MIT */
/* Walks of another thread. */
#include <errno.h>

#include "os/stop.h"
#include "unwind/native.h"
#include "unwind/target.h"
#include "walker/walks.h"

pthread_mutex_t dnp_walks_of_others = PTHREAD_MUTEX_INITIALIZER;

static bool may_stop; /* we have a share of the signal; with the lock */

/* With the lock. Without its share of the signal a thread can be walked while it sleeps only. */
static unsigned ways_to_walk(void)
{
	struct dnp_err err;

	if (!may_stop)
		may_stop = dnp_stop_open(&err) == 0;
	return may_stop ? DNP_TARGET_ASLEEP | DNP_TARGET_STOP : DNP_TARGET_ASLEEP;
}

void dnp_walks_of_others_done(void)
{
	pthread_mutex_lock(&dnp_walks_of_others);
	if (may_stop)
		dnp_stop_close();
	may_stop = false;
	pthread_mutex_unlock(&dnp_walks_of_others);
}

static HRESULT result_of(int failed, bool seeded)
{
	switch (failed) {
	case 0: return S_OK;
	case -ESRCH: return CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD;
	case -EFAULT: return seeded ? E_INVALIDARG : CORPROF_E_STACKSNAPSHOT_UNSAFE;
	default: return CORPROF_E_STACKSNAPSHOT_UNSAFE;
	}
}

#define TRIES 4 /* a thread may move while it is read, be about to sleep, or see a library go */

/* -EAGAIN, too, where a library has gone: what came to its place may have been taken for it. */
static int walk_once(const struct dnp_wish *wish, const struct dnp_walker_thread *thread,
	unsigned how, struct dnp_target_stack *stack)
{
	uint64_t gone = dnp_modules_gone();
	int failed = dnp_target_walk(thread->tid, wish->seeded ? &wish->seed : NULL, how, stack);

	dnp_native_refresh();
	return dnp_modules_gone() == gone ? failed : -EAGAIN;
}

static HRESULT gather_other(struct dnprof_walker *walker, const struct dnp_wish *wish,
	const struct dnp_walker_thread *thread, struct dnp_gathered *gathered)
{
	struct dnp_target_stack stack = {
		.frames = gathered->frames,
		.registers = gathered->registers,
		.max = gathered->max,
		.stack = thread->stack,
		.runtime_thread = thread->id,
	};
	unsigned how = ways_to_walk();
	int failed = -EAGAIN;

	if (wish->seeded && !dnp_walker_in_managed_code(wish->seed.pc))
		return CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX;
	for (int i = 0; i < TRIES && failed == -EAGAIN; i++)
		failed = walk_once(wish, thread, how, &stack);
	if (failed)
		return result_of(failed, wish->seeded);
	gathered->n = stack.n;
	gathered->stop = stack.stop;
	dnp_walker_functions(walker, gathered);
	return stack.stop == DNP_STOP_END ? S_OK : S_FALSE;
}

/* Whatever the runtime says to it (dotnet/runtime: E_NOTIMPL but on Windows). */
static HRESULT gather_other_by_runtime(struct dnprof_walker *walker, enum dnprof_native native,
	const struct dnp_walker_thread *thread, struct dnp_gathered *gathered)
{
	struct dnp_dss_place place = {.leaf = NULL};
	struct dnp_dss dss;
	HRESULT hr = dnp_walker_dss_open(walker, &dss);

	if (FAILED(hr))
		return hr;
	dnp_dss_walk(&walker->info, thread->id, COR_PRF_SNAPSHOT_REGISTER_CONTEXT, NULL, &dss);
	hr = dnp_walker_dss_fill(&dss, native, &place, gathered);
	dnp_walker_dss_close(&dss);
	return hr;
}

static HRESULT walk_other(
	struct dnprof_walker *walker, const struct dnp_wish *wish, const struct dnp_teller *teller)
{
	struct dnp_walker_thread thread;
	struct dnp_gathered gathered;
	HRESULT hr = dnp_gathered_open(&gathered, walker->depth_max);
	unsigned ticket;

	if (FAILED(hr))
		return hr;
	dnprof_walker_refresh(walker);
	pthread_mutex_lock(&dnp_walks_of_others);
	if (dnp_walker_thread_hold(teller->thread, &thread)) {
		ticket = dnp_gather_begin();
		hr = wish->flags & DNPROF_WALK_BY_RUNTIME
			? gather_other_by_runtime(walker, wish->native, &thread, &gathered)
			: gather_other(walker, wish, &thread, &gathered);
		dnp_gather_end(ticket);
		dnp_walker_thread_release(thread.id);
	} else {
		hr = CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD;
	}
	pthread_mutex_unlock(&dnp_walks_of_others);
	hr = dnp_tell_result(hr, teller, &gathered, 0, gathered.n);
	dnp_gathered_close(&gathered);
	return hr;
}

int32_t dnprof_walk_thread(dnprof_walker *walker, uint64_t thread,
	const struct dnprof_walk_options *options, dnprof_frame_callback *frame, void *context)
{
	struct dnp_teller teller = {.thread = (ThreadID)thread, .frame = frame, .context = context};
	struct dnp_here here = DNP_HERE();
	struct dnp_wish wish;
	ThreadID self;
	HRESULT hr;

	hr = dnp_wish_read(walker, options, &wish, &teller);
	if (FAILED(hr))
		return hr;
	self = dnp_walker_own_id(walker);
	if (self && self != teller.thread)
		return CORPROF_E_UNSUPPORTED_CALL_SEQUENCE;
	return self ? dnp_walk_here(walker, &wish, &here, &teller)
		    : walk_other(walker, &wish, &teller);
}
