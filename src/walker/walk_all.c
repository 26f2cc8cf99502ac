/* SPDX-License-Identifier: MIT */
/* Walks of all threads, while the runtime is suspended. */
#include <stdlib.h>
#include <string.h>

#include "os/clock.h"
#include "walker/walks.h"

/* What was gathered of one of them: frames from `first` on. */
struct part {
	size_t first, n;
	HRESULT result;
};

struct all {
	struct dnp_walker_thread *threads; /* owned; held while the runtime is suspended */
	struct part *parts;                /* owned */
	size_t n, room;
	struct dnp_gathered gathered;
	struct dnp_dss dss;
	uint64_t suspended_ns;
	uint32_t refused;
};

static void free_room(struct all *all)
{
	free(all->threads);
	free(all->parts);
	dnp_gathered_free(&all->gathered);
	all->threads = NULL;
	all->parts = NULL;
}

/* For the threads that there are, and new ones that may begin until the runtime is suspended. */
static HRESULT make_room(struct dnprof_walker *walker, size_t new_threads, struct all *all)
{
	free_room(all);
	all->room = dnp_walker_threads_count() + new_threads;
	all->threads = calloc(all->room, sizeof(all->threads[0]));
	all->parts = calloc(all->room, sizeof(all->parts[0]));
	if (!all->threads || !all->parts)
		return E_OUTOFMEMORY;
	return dnp_gathered_open(&all->gathered, all->room * (size_t)walker->depth_max);
}

#define NEW_THREADS 16

static HRESULT open_all(struct dnprof_walker *walker, struct all *all)
{
	HRESULT hr = dnp_walker_dss_open(walker, &all->dss);

	return FAILED(hr) ? hr : make_room(walker, NEW_THREADS, all);
}

static void close_all(struct all *all)
{
	free_room(all);
	if (all->dss.frames)
		dnp_walker_dss_close(&all->dss);
}

#define SUSPEND_TRIES   100
#define SUSPEND_REST_NS UINT64_C(1000000)

static HRESULT suspend(struct dnprof_walker *walker, uint32_t *refused)
{
	HRESULT hr = CORPROF_E_SUSPENSION_IN_PROGRESS;

	for (int i = 0; i < SUSPEND_TRIES && hr == CORPROF_E_SUSPENSION_IN_PROGRESS; i++) {
		if (i)
			dnp_sleep_until_ns(dnp_now_ns() + SUSPEND_REST_NS);
		hr = dnp_com(walker->info.com, SuspendRuntime);
		*refused += hr == CORPROF_E_SUSPENSION_IN_PROGRESS;
	}
	return hr;
}

STOPPED static void gather_part(struct dnprof_walker *walker, enum dnprof_native native,
	const struct dnp_walker_thread *thread, struct all *all, struct part *part)
{
	struct dnp_dss_place place = {.stack = thread->stack};

	part->first = all->gathered.n;
	dnp_dss_walk(&walker->info, thread->id, COR_PRF_SNAPSHOT_REGISTER_CONTEXT, NULL, &all->dss);
	part->result = dnp_walker_dss_fill(&all->dss, native, &place, &all->gathered);
	part->n = all->gathered.n - part->first;
}

/* While the runtime is suspended. */
STOPPED static void gather_parts(
	struct dnprof_walker *walker, enum dnprof_native native, struct all *all)
{
	unsigned ticket = dnp_gather_begin();

	for (size_t i = 0; i < all->n; i++)
		gather_part(walker, native, &all->threads[i], all, &all->parts[i]);
	dnp_gather_end(ticket);
}

/*
 * What the runtime sets up for a thread at its first walk (memory, locks) it must not need while
 * others stand still: so that one is of a thread that is not suspended, and until the runtime has
 * answered it nobody is. E_NOTIMPL is an answer, the usual one on Linux: it comes after that.
 */
static HRESULT walk_first(struct dnprof_walker *walker, struct all *all)
{
	HRESULT hr = CORPROF_E_STACKSNAPSHOT_UNSAFE;
	size_t n = dnp_walker_threads_hold(all->threads, all->room);

	dnp_walker_threads_release(all->threads, n);
	for (size_t i = 0; i < n && FAILED(hr) && hr != E_NOTIMPL; i++) {
		struct dnp_walker_thread thread;

		if (!dnp_walker_thread_hold(all->threads[i].id, &thread))
			continue;
		hr = dnp_dss_walk(
			&walker->info, thread.id, COR_PRF_SNAPSHOT_DEFAULT, NULL, &all->dss);
		dnp_walker_thread_release(thread.id);
	}
	return hr == E_NOTIMPL ? S_OK : hr;
}

/* *whole: there was room for each thread; else nothing is gathered. */
static HRESULT gather_suspended(
	struct dnprof_walker *walker, enum dnprof_native native, struct all *all, bool *whole)
{
	uint64_t begin_ns;
	HRESULT hr = suspend(walker, &all->refused);

	if (FAILED(hr))
		return hr;
	begin_ns = dnp_now_ns();
	all->n = dnp_walker_threads_hold(all->threads, all->room);
	*whole = all->n < all->room;
	if (*whole)
		gather_parts(walker, native, all);
	hr = dnp_com(walker->info.com, ResumeRuntime);
	all->suspended_ns += dnp_now_ns() - begin_ns;
	/* Threads may end from here on; nobody asks the runtime about them any more. */
	dnp_walker_threads_release(all->threads, all->n);
	return hr;
}

/*
 * What has to be there is, before anything stands still. Where more threads have begun meanwhile
 * than there is room for, the runtime goes on until there is more.
 */
static HRESULT gather_all(struct dnprof_walker *walker, enum dnprof_native native, struct all *all)
{
	size_t new_threads = NEW_THREADS;
	bool whole = false;
	HRESULT hr = walk_first(walker, all);

	while (SUCCEEDED(hr)) {
		hr = gather_suspended(walker, native, all, &whole);
		if (whole || FAILED(hr))
			return hr;
		new_threads *= 2;
		hr = make_room(walker, new_threads, all);
	}
	return hr;
}

static HRESULT tell_all(const struct all *all, struct dnp_teller *teller,
	dnprof_thread_callback *thread, struct dnprof_snapshot *snapshot)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct part *part = &all->parts[i];
		HRESULT hr;

		teller->thread = all->threads[i].id;
		hr = dnp_tell_result(part->result, teller, &all->gathered, part->first, part->n);
		snapshot->threads++;
		snapshot->failed += FAILED(hr);
		if (hr == CORPROF_E_STACKSNAPSHOT_ABORTED ||
			(thread && thread(teller->thread, hr, teller->context)))
			return CORPROF_E_STACKSNAPSHOT_ABORTED;
	}
	return S_OK;
}

static HRESULT walk_all(struct dnprof_walker *walker, struct dnp_teller *teller,
	dnprof_thread_callback *thread, struct dnprof_snapshot *snapshot)
{
	struct all all = {0};
	HRESULT hr;

	dnprof_walker_refresh(walker);
	pthread_mutex_lock(&dnp_walks_of_others);
	hr = open_all(walker, &all);
	if (SUCCEEDED(hr))
		hr = gather_all(walker, teller->native, &all);
	pthread_mutex_unlock(&dnp_walks_of_others);
	snapshot->suspended_ns = all.suspended_ns;
	snapshot->refused = all.refused;
	if (SUCCEEDED(hr))
		hr = tell_all(&all, teller, thread, snapshot);
	close_all(&all);
	return hr;
}

/* Whether the runtime would walk for us at all. */
static HRESULT may_walk_all(const struct dnprof_walker *walker)
{
	uint32_t events = 0;
	HRESULT hr;

	if (dnp_walker_own_id(walker))
		return CORPROF_E_UNSUPPORTED_CALL_SEQUENCE;
	if (!dnp_info_has(&walker->info, SuspendRuntime))
		return E_NOTIMPL;
	hr = dnp_com(walker->info.com, GetEventMask, &events);
	if (FAILED(hr))
		return hr;
	return events & COR_PRF_ENABLE_STACK_SNAPSHOT ? S_OK : CORPROF_E_INCONSISTENT_WITH_FLAGS;
}

int32_t dnprof_walk_all(dnprof_walker *walker, const struct dnprof_walk_options *options,
	dnprof_frame_callback *frame, dnprof_thread_callback *thread, void *context,
	struct dnprof_snapshot *out)
{
	struct dnp_teller teller = {.frame = frame, .context = context};
	struct dnprof_snapshot snapshot = {0};
	struct dnp_wish wish;
	HRESULT hr;

	if (!walker || !frame || (out && out->struct_size < sizeof(out->struct_size)))
		return E_INVALIDARG;
	hr = dnp_wish_read(walker, options, &wish, &teller);
	if (SUCCEEDED(hr) && wish.seeded)
		hr = E_INVALIDARG;
	if (SUCCEEDED(hr))
		hr = may_walk_all(walker);
	if (SUCCEEDED(hr))
		hr = walk_all(walker, &teller, thread, &snapshot);
	if (out) {
		snapshot.struct_size = out->struct_size;
		memcpy(out, &snapshot,
			out->struct_size < sizeof(snapshot) ? out->struct_size : sizeof(snapshot));
	}
	return hr;
}
