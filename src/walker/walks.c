/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/clean.h"
#include "clr/codemap.h"
#include "clr/r2r.h"
#include "os/clock.h"
#include "os/mem.h"
#include "os/stop.h"
#include "os/x86_64/regs.h"
#include "unwind/code.h"
#include "unwind/dss.h"
#include "unwind/managed.h"
#include "unwind/target.h"
#include "walker/walker.h"

/* ---- What the host asks for */

struct wish {
	uint32_t flags;
	enum dnprof_native native;
	bool seeded;
	struct dnp_regs seed;
};

#define KNOWN_FLAGS ((uint32_t)DNPROF_WALK_BY_RUNTIME)

static HRESULT read_seed(const struct dnprof_registers *given, struct wish *wish)
{
	struct dnprof_registers seed = {0};

	if (given->struct_size < offsetof(struct dnprof_registers, bx))
		return E_INVALIDARG;
	memcpy(&seed, given, given->struct_size < sizeof(seed) ? given->struct_size : sizeof(seed));
	wish->seeded = true;
	wish->seed = (struct dnp_regs){
		.pc = seed.pc, .sp = seed.sp, .bp = seed.bp, .bx = seed.bx, .r10 = seed.r10};
	return S_OK;
}

static HRESULT read_wish(const struct dnprof_walk_options *given, struct wish *wish)
{
	struct dnprof_walk_options options = {0};

	*wish = (struct wish){0};
	if (!given)
		return S_OK;
	if (given->struct_size < sizeof(given->struct_size))
		return E_INVALIDARG;
	memcpy(&options, given,
		given->struct_size < sizeof(options) ? given->struct_size : sizeof(options));
	if (options.flags & ~KNOWN_FLAGS || options.native > DNPROF_NATIVE_NONE ||
		(options.seed && options.flags & DNPROF_WALK_BY_RUNTIME))
		return E_INVALIDARG;
	wish->flags = options.flags;
	wish->native = (enum dnprof_native)options.native;
	return options.seed ? read_seed(options.seed, wish) : S_OK;
}

/* ---- Seeds */

#define EPILOG_BYTES_MAX 64u /* more than an epilog's instructions take */

/*
 * Whether pc is in managed code that can be read: the map may have code that is gone, where a host
 * does not forward what is unloaded. While gathering.
 */
static bool in_managed_code(uintptr_t pc)
{
	const struct dnp_code *code = dnp_codemap_find(dnp_walk_codemap(), pc);
	const struct dnp_r2r_image *image;
	struct dnp_r2r_function function;
	uint8_t bytes[EPILOG_BYTES_MAX];
	size_t rest;

	if (code) {
		rest = code->begin + code->bytes - pc;
		return dnp_mem_read(pc, bytes, rest < sizeof(bytes) ? rest : sizeof(bytes)) == 0;
	}
	image = dnp_r2r_find(pc);
	return image && dnp_r2r_function_at(image, pc, &function);
}

static HRESULT check_seed(const struct dnp_regs *seed, const struct dnp_stack_range *stack)
{
	if (!in_managed_code(seed->pc))
		return CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX;
	return seed->sp % 8 || seed->sp < stack->low || seed->sp >= stack->high ? E_INVALIDARG
										: S_OK;
}

/* ---- The runtime's walk */

/* Room for what the runtime reports of one thread. */
static HRESULT open_dss(struct dnprof_walker *walker, struct dnp_dss *dss)
{
	*dss = (struct dnp_dss){.max = walker->depth_max};
	dss->frames = dnp_mem_map(dss->max * sizeof(dss->frames[0]));
	return dss->frames ? S_OK : E_OUTOFMEMORY;
}

static void close_dss(struct dnp_dss *dss)
{
	dnp_mem_unmap(dss->frames, dss->max * sizeof(dss->frames[0]));
}

/* Puts a walk of the runtime's, holes filled, behind what is gathered so far. While gathering. */
STOPPED static HRESULT fill_dss(const struct dnp_dss *dss, enum dnprof_native native,
	const struct dnp_dss_place *place, struct dnp_gathered *gathered)
{
	static const enum dnp_native_mode modes[] = {
		[DNPROF_NATIVE_ALL] = DNP_NATIVE_ALL,
		[DNPROF_NATIVE_LEAF] = DNP_NATIVE_LEAF,
		[DNPROF_NATIVE_NONE] = DNP_NATIVE_NONE,
	};
	size_t before = gathered->n;
	struct dnp_mixed mixed = {
		.frames = gathered->frames + before,
		.registers = gathered->registers + before,
		.functions = gathered->functions + before,
		.max = gathered->max - before,
	};

	if (FAILED(dss->result) && !dss->full)
		return dss->result;
	dnp_dss_fill(dss, modes[native], place, &mixed);
	gathered->n += mixed.n;
	gathered->stop = dss->full ? DNP_STOP_DEPTH : mixed.stop;
	return gathered->stop == DNP_STOP_END ? S_OK : S_FALSE;
}

/* ---- This thread */

/* Where this thread is, in a function of ours that `caller` has called: its stack pointer then. */
struct here {
	struct dnp_regs regs;
	uintptr_t caller;
};

/* Takes out the frames below the caller. */
static void drop_ours(struct dnp_gathered *gathered, uintptr_t caller)
{
	size_t ours = 0;

	while (ours < gathered->n && gathered->registers[ours].sp &&
		gathered->registers[ours].sp < caller)
		ours++;
	gathered->n -= ours;
	memmove(gathered->frames, gathered->frames + ours,
		gathered->n * sizeof(gathered->frames[0]));
	memmove(gathered->registers, gathered->registers + ours,
		gathered->n * sizeof(gathered->registers[0]));
	memmove(gathered->functions, gathered->functions + ours,
		gathered->n * sizeof(gathered->functions[0]));
}

static void find_functions(struct dnprof_walker *walker, struct dnp_gathered *gathered)
{
	uint64_t now_ns = dnp_now_ns();

	for (size_t i = 0; i < gathered->n; i++)
		gathered->functions[i] = dnp_walker_function(walker, gathered->frames[i], now_ns);
}

/*
 * Nobody else can change this stack, so it is read as it is; but below the stack pointer there may
 * be no memory.
 */
static HRESULT gather_own(struct dnprof_walker *walker, const struct wish *wish,
	const struct here *here, struct dnp_gathered *gathered)
{
	struct dnp_stack_range stack;
	HRESULT hr = S_OK;

	if (!dnp_walker_own_stack(here->regs.sp, &stack))
		return CORPROF_E_STACKSNAPSHOT_UNSAFE;
	stack.low = here->regs.sp;
	if (wish->seeded)
		hr = check_seed(&wish->seed, &stack);
	if (FAILED(hr))
		return hr;
	gathered->n = dnp_walk_registers(wish->seeded ? &wish->seed : &here->regs,
		(struct dnp_stacks){.now = stack}, gathered->frames, gathered->registers,
		gathered->max, &gathered->stop);
	find_functions(walker, gathered);
	return gathered->stop == DNP_STOP_END ? S_OK : S_FALSE;
}

/*
 * Where the walk ended in managed code that the host has not told of: it has not heard of it yet
 * (another thread compiled it a moment ago), or does not forward it. The thread is in it, so that
 * it lives. True: it is known now, go on.
 */
static bool learn_missing(struct dnprof_walker *walker, const struct dnp_gathered *gathered)
{
	dnp_frame_word last = gathered->n ? gathered->frames[gathered->n - 1] : 0;
	uintptr_t ip = dnp_code_of_frame(last);
	FunctionID function = 0;
	struct dnp_code code;
	BOOL dynamic = 0;

	if (gathered->stop != DNP_STOP_UNKNOWN || !last || !dnp_code_may_be_asked_for(ip) ||
		FAILED(dnp_com(
			walker->info.com, GetFunctionFromIP, (const uint8_t *)ip, &function)) ||
		!function)
		return false;
	if (dnp_info_has(&walker->info, IsFunctionDynamic))
		dnp_com(walker->info.com, IsFunctionDynamic, function, &dynamic);
	dnp_walker_compiled(walker, function, dynamic);
	return dnp_codemap_find_at(dnp_walk_codemap(), ip, UINT64_MAX, &code);
}

#define MISSING_MAX 16 /* methods of one stack that are learnt on the way */

static HRESULT gather_own_whole(struct dnprof_walker *walker, const struct wish *wish,
	const struct here *here, struct dnp_gathered *gathered)
{
	HRESULT hr;
	int learnt = 0;

	do {
		unsigned ticket = dnp_gather_begin();

		hr = gather_own(walker, wish, here, gathered);
		dnp_gather_end(ticket);
	} while (hr == S_FALSE && !wish->seeded && learnt++ < MISSING_MAX &&
		learn_missing(walker, gathered));
	return hr;
}

static HRESULT gather_own_by_runtime(struct dnprof_walker *walker, enum dnprof_native native,
	const struct here *here, struct dnp_gathered *gathered)
{
	struct dnp_dss_place place = {.leaf = &here->regs};
	struct dnp_dss dss;
	HRESULT hr = open_dss(walker, &dss);
	unsigned ticket;

	if (FAILED(hr))
		return hr;
	dnp_dss_walk(&walker->info, 0, COR_PRF_SNAPSHOT_REGISTER_CONTEXT, NULL, &dss);
	dnp_walker_own_stack(here->regs.sp, &place.stack);
	ticket = dnp_gather_begin();
	hr = fill_dss(&dss, native, &place, gathered);
	dnp_gather_end(ticket);
	close_dss(&dss);
	return hr;
}

/* Tells what was gathered with that result, if it was; returns the result of both. */
static HRESULT tell(HRESULT gathering, const struct dnp_teller *teller,
	const struct dnp_gathered *gathered, size_t first, size_t n)
{
	HRESULT telling = SUCCEEDED(gathering) ? dnp_tell(teller, gathered, first, n) : S_OK;

	return FAILED(telling) ? telling : gathering;
}

static HRESULT walk_here(struct dnprof_walker *walker, const struct wish *wish,
	const struct here *here, const struct dnp_teller *teller)
{
	struct dnp_gathered gathered;
	HRESULT hr = dnp_gathered_open(&gathered, walker->depth_max);

	if (FAILED(hr))
		return hr;
	if (wish->flags & DNPROF_WALK_BY_RUNTIME)
		hr = gather_own_by_runtime(walker, wish->native, here, &gathered);
	else
		hr = gather_own_whole(walker, wish, here, &gathered);
	if (!wish->seeded)
		drop_ours(&gathered, here->caller);
	hr = tell(hr, teller, &gathered, 0, gathered.n);
	dnp_gathered_close(&gathered);
	return hr;
}

/* The runtime's id of the calling thread, 0: it does not know it. */
static ThreadID own_id(const struct dnprof_walker *walker)
{
	ThreadID id = 0;

	return SUCCEEDED(dnp_com(walker->info.com, GetCurrentThreadID, &id)) ? id : 0;
}

/* A macro, for it has to be in the function that the host calls. */
#define HERE()                                                                                     \
	(struct here)                                                                              \
	{                                                                                          \
		dnp_regs_here(), (uintptr_t)__builtin_dwarf_cfa()                                  \
	}

int32_t dnprof_walk_self(dnprof_walker *walker, const struct dnprof_walk_options *options,
	dnprof_frame_callback *frame, void *context)
{
	struct dnp_teller teller = {.frame = frame, .context = context};
	struct here here = HERE();
	struct wish wish;
	HRESULT hr;

	if (!walker || !frame)
		return E_INVALIDARG;
	hr = read_wish(options, &wish);
	if (FAILED(hr))
		return hr;
	teller.native = wish.native;
	teller.thread = own_id(walker);
	return walk_here(walker, &wish, &here, &teller);
}

/* ---- Another thread */

static pthread_mutex_t others = PTHREAD_MUTEX_INITIALIZER; /* walks of others take turns */

/* With the lock. Without its share of the signal a thread can be walked while it sleeps only. */
static unsigned ways_to_walk(void)
{
	static bool opened;
	struct dnp_err err;

	if (!opened)
		opened = dnp_stop_open(&err) == 0;
	return opened ? DNP_TARGET_ASLEEP | DNP_TARGET_STOP : DNP_TARGET_ASLEEP;
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

#define TRIES 4 /* a thread may move while it is read, or be about to sleep */

static HRESULT gather_other(struct dnprof_walker *walker, const struct wish *wish,
	const struct dnp_walker_thread *thread, struct dnp_gathered *gathered)
{
	struct dnp_target_stack stack = {
		.frames = gathered->frames,
		.registers = gathered->registers,
		.max = gathered->max,
		.stack = thread->stack,
	};
	unsigned how = ways_to_walk();
	int failed = -EAGAIN;

	if (wish->seeded && !in_managed_code(wish->seed.pc))
		return CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX;
	for (int i = 0; i < TRIES && failed == -EAGAIN; i++)
		failed = dnp_target_walk(
			thread->tid, wish->seeded ? &wish->seed : NULL, how, &stack);
	if (failed)
		return result_of(failed, wish->seeded);
	gathered->n = stack.n;
	gathered->stop = stack.stop;
	find_functions(walker, gathered);
	return stack.stop == DNP_STOP_END ? S_OK : S_FALSE;
}

/* Whatever the runtime says to it (dotnet/runtime: E_NOTIMPL but on Windows). */
static HRESULT gather_other_by_runtime(struct dnprof_walker *walker, enum dnprof_native native,
	const struct dnp_walker_thread *thread, struct dnp_gathered *gathered)
{
	struct dnp_dss_place place = {.leaf = NULL};
	struct dnp_dss dss;
	HRESULT hr = open_dss(walker, &dss);

	if (FAILED(hr))
		return hr;
	dnp_dss_walk(&walker->info, thread->id, COR_PRF_SNAPSHOT_REGISTER_CONTEXT, NULL, &dss);
	hr = fill_dss(&dss, native, &place, gathered);
	close_dss(&dss);
	return hr;
}

static HRESULT walk_other(
	struct dnprof_walker *walker, const struct wish *wish, const struct dnp_teller *teller)
{
	struct dnp_walker_thread thread;
	struct dnp_gathered gathered;
	HRESULT hr = dnp_gathered_open(&gathered, walker->depth_max);
	unsigned ticket;

	if (FAILED(hr))
		return hr;
	dnprof_walker_refresh(walker);
	pthread_mutex_lock(&others);
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
	pthread_mutex_unlock(&others);
	hr = tell(hr, teller, &gathered, 0, gathered.n);
	dnp_gathered_close(&gathered);
	return hr;
}

int32_t dnprof_walk_thread(dnprof_walker *walker, uint64_t thread,
	const struct dnprof_walk_options *options, dnprof_frame_callback *frame, void *context)
{
	struct dnp_teller teller = {.thread = (ThreadID)thread, .frame = frame, .context = context};
	struct here here = HERE();
	struct wish wish;
	ThreadID self;
	HRESULT hr;

	if (!walker || !frame)
		return E_INVALIDARG;
	hr = read_wish(options, &wish);
	if (FAILED(hr))
		return hr;
	teller.native = wish.native;
	self = own_id(walker);
	if (self && self != teller.thread)
		return CORPROF_E_UNSUPPORTED_CALL_SEQUENCE;
	return self ? walk_here(walker, &wish, &here, &teller) : walk_other(walker, &wish, &teller);
}

/* ---- All threads */

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

#define NEW_THREADS 16 /* that may begin until the runtime is suspended */

static HRESULT open_all(struct dnprof_walker *walker, struct all *all)
{
	HRESULT hr = open_dss(walker, &all->dss);

	if (FAILED(hr))
		return hr;
	all->room = dnp_walker_threads_count() + NEW_THREADS;
	all->threads = calloc(all->room, sizeof(all->threads[0]));
	all->parts = calloc(all->room, sizeof(all->parts[0]));
	if (!all->threads || !all->parts)
		return E_OUTOFMEMORY;
	return dnp_gathered_open(&all->gathered, all->room * (size_t)walker->depth_max);
}

static void close_all(struct all *all)
{
	free(all->threads);
	free(all->parts);
	dnp_gathered_free(&all->gathered);
	if (all->dss.frames)
		close_dss(&all->dss);
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
	part->result = fill_dss(&all->dss, native, &place, &all->gathered);
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

/* What has to be there is, before anything stands still. */
static HRESULT gather_all(struct dnprof_walker *walker, enum dnprof_native native, struct all *all)
{
	uint64_t begin_ns;
	HRESULT hr = walk_first(walker, all);

	if (FAILED(hr))
		return hr;
	hr = suspend(walker, &all->refused);
	if (FAILED(hr))
		return hr;
	begin_ns = dnp_now_ns();
	all->n = dnp_walker_threads_hold(all->threads, all->room);
	gather_parts(walker, native, all);
	hr = dnp_com(walker->info.com, ResumeRuntime);
	all->suspended_ns = dnp_now_ns() - begin_ns;
	/* Threads may end from here on; nobody asks the runtime about them any more. */
	dnp_walker_threads_release(all->threads, all->n);
	return hr;
}

static HRESULT tell_all(const struct all *all, struct dnp_teller *teller,
	dnprof_thread_callback *thread, struct dnprof_snapshot *snapshot)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct part *part = &all->parts[i];
		HRESULT hr;

		teller->thread = all->threads[i].id;
		hr = tell(part->result, teller, &all->gathered, part->first, part->n);
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
	pthread_mutex_lock(&others);
	hr = open_all(walker, &all);
	if (SUCCEEDED(hr))
		hr = gather_all(walker, teller->native, &all);
	pthread_mutex_unlock(&others);
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

	if (own_id(walker))
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
	struct wish wish;
	HRESULT hr;

	if (!walker || !frame || (out && out->struct_size < sizeof(out->struct_size)))
		return E_INVALIDARG;
	hr = read_wish(options, &wish);
	if (SUCCEEDED(hr) && wish.seeded)
		hr = E_INVALIDARG;
	if (SUCCEEDED(hr))
		hr = may_walk_all(walker);
	teller.native = wish.native;
	if (SUCCEEDED(hr))
		hr = walk_all(walker, &teller, thread, &snapshot);
	if (out) {
		snapshot.struct_size = out->struct_size;
		memcpy(out, &snapshot,
			out->struct_size < sizeof(snapshot) ? out->struct_size : sizeof(snapshot));
	}
	return hr;
}
