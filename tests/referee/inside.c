/* SPDX-License-Identifier: MIT */
/*
 * A thread walks its own stack in a callback of the runtime, once by the runtime and once by our
 * walker, which begins in the callback itself.
 */
#include <string.h>
#include <ucontext.h>

#include "clr/hresult.h"
#include "os/clock.h"
#include "os/mem.h"
#include "os/thread.h"
#include "os/x86_64/context.h"
#include "referee.h"
#include "unwind/dss.h"

void __real_dnp_callback_complete(struct ICorProfilerCallbackVtbl *table);
void __wrap_dnp_callback_complete(struct ICorProfilerCallbackVtbl *table);
size_t __real_dnp_walk(const struct dnp_regs *regs, struct dnp_stacks stacks,
	dnp_frame_word *frames, size_t max, enum dnp_walk_stop *stop);
HRESULT __real_dnp_dss_walk(const struct dnp_info *info, ThreadID thread, uint32_t flags,
	const struct dnp_regs *seed, struct dnp_dss *dss);

struct walks {
	bool busy; /* a callback in a callback */
	struct dnp_stack_range stack;
	dnp_frame_word own[REFEREE_DEPTH_MAX];
	struct dnp_dss_frame frames[REFEREE_DEPTH_MAX];
	struct snapshot theirs;
};

/* One of each thread that ever came by; a test does not give them back. */
static __thread struct walks *walks __attribute__((tls_model("initial-exec")));

static struct walks *walks_of_thread(void)
{
	if (!walks) {
		walks = dnp_mem_map(sizeof(*walks));
		if (walks)
			dnp_thread_stack(&walks->stack.low, &walks->stack.high);
	}
	return walks && walks->stack.high && !walks->busy ? walks : NULL;
}

static size_t walk_self(struct walks *w, enum dnp_walk_stop *stop)
{
	struct dnp_regs regs;
	uint64_t begin_ns;
	ucontext_t here;
	size_t n;

	getcontext(&here);
	regs = dnp_regs_of(&here);
	begin_ns = dnp_now_ns();
	n = __real_dnp_walk(
		&regs, (struct dnp_stacks){.now = w->stack}, w->own, REFEREE_DEPTH_MAX, stop);
	referee_took(WALKER_SYNC, n, dnp_now_ns() - begin_ns);
	return n;
}

static void ask_the_runtime(struct walks *w)
{
	struct dnp_dss dss = {.frames = w->frames, .max = REFEREE_DEPTH_MAX};
	uint64_t begin_ns = dnp_now_ns();

	w->theirs.result =
		__real_dnp_dss_walk(&dnp_agent.info, 0, COR_PRF_SNAPSHOT_DEFAULT, NULL, &dss);
	referee_took(WALKER_DSS, dss.n, dnp_now_ns() - begin_ns);
	w->theirs.n = w->theirs.result == E_FAIL ? 0 : dss.n;
	for (size_t i = 0; i < w->theirs.n; i++)
		w->theirs.frames[i] =
			(struct snapshot_frame){dss.frames[i].function, dss.frames[i].ip};
}

static void walk_both(void)
{
	struct walks *w;
	enum dnp_walk_stop stop;
	size_t n;

	if (!referee.path || referee.engine != REFEREE_SYNC)
		return;
	w = walks_of_thread();
	if (!w)
		return;
	w->busy = true;
	referee_count(&referee.samples);
	ask_the_runtime(w);
	n = walk_self(w, &stop);
	referee_count(&referee.stops[stop]);
	if (FAILED(w->theirs.result) && w->theirs.result != E_FAIL)
		referee_failed(w->theirs.result);
	else if (!referee_same(w->own, n, &w->theirs))
		referee_keep(w->own, n, stop, &w->theirs, true);
	w->busy = false;
}

/* ---- The callbacks */

#pragma GCC diagnostic ignored "-Wunused-parameter"

static HRESULT DNP_COM on_class(ICorProfilerCallback *self, ClassID class)
{
	walk_both();
	return S_OK;
}

static HRESULT DNP_COM on_jit(ICorProfilerCallback *self, FunctionID function, BOOL safe_to_block)
{
	walk_both();
	return S_OK;
}

static HRESULT DNP_COM on_thrown(ICorProfilerCallback *self, ObjectID object)
{
	walk_both();
	return S_OK;
}

static HRESULT DNP_COM on_search(ICorProfilerCallback *self, FunctionID function)
{
	walk_both();
	return S_OK;
}

static HRESULT DNP_COM on_catcher(ICorProfilerCallback *self, FunctionID function, ObjectID object)
{
	walk_both();
	return S_OK;
}

/* There are millions. */
static HRESULT DNP_COM on_allocated(ICorProfilerCallback *self, ObjectID object, ClassID class)
{
	static _Atomic uint32_t number;

	if (atomic_fetch_add_explicit(&number, 1, memory_order_relaxed) % 64 == 0)
		walk_both();
	return S_OK;
}

static HRESULT (*DNP_COM agent_on_gc)(ICorProfilerCallback *, int, BOOL *, COR_PRF_GC_REASON);

static HRESULT DNP_COM on_gc(
	ICorProfilerCallback *self, int n_generations, BOOL *generations, COR_PRF_GC_REASON reason)
{
	walk_both();
	return agent_on_gc(self, n_generations, generations, reason);
}

void __wrap_dnp_callback_complete(struct ICorProfilerCallbackVtbl *table)
{
	if (table->Initialize && table->GarbageCollectionStarted != on_gc) {
		agent_on_gc = table->GarbageCollectionStarted;
		table->GarbageCollectionStarted = on_gc;
		table->ClassLoadStarted = on_class;
		table->JITCompilationStarted = on_jit;
		table->ExceptionThrown = on_thrown;
		table->ExceptionUnwindFinallyEnter = on_search;
		table->ExceptionSearchFunctionEnter = on_search;
		table->ExceptionCatcherEnter = on_catcher;
		table->ObjectAllocated = on_allocated;
	}
	__real_dnp_callback_complete(table);
}
