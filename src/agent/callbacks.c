/* SPDX-License-Identifier: MIT */
/*
 * The runtime's notifications. Each is on the thread that it is about, where not said otherwise;
 * what they do is short and takes no lock that is held across a call into the CLR.
 */
#include <stdatomic.h>

#include "agent/agent.h"
#include "agent/methods.h"
#include "agent/thread_names.h"
#include "clr/hresult.h"
#include "format/rec.h"
#include "os/clock.h"
#include "os/thread.h"
#include "unwind/target.h"
#include "unwind/code.h"

static _Atomic int recording;

static HRESULT DNP_COM on_initialize(ICorProfilerCallback *self, IUnknown *info)
{
	int started;
	HRESULT hr = dnp_agent_start(info, &started);

	(void)self;
	atomic_store(&recording, started);
	return hr;
}

static HRESULT DNP_COM on_shutdown(ICorProfilerCallback *self)
{
	(void)self;
	if (atomic_exchange(&recording, 0))
		dnp_agent_stop(DNP_END_EXIT);
	return S_OK;
}

/* On the thread itself: the best place to learn its stack. */
static HRESULT DNP_COM on_thread_assigned(
	ICorProfilerCallback *self, ThreadID managed, uint32_t os_thread)
{
	struct dnp_thread *thread;
	uintptr_t low, high;

	(void)self;
	if (!atomic_load_explicit(&recording, memory_order_relaxed))
		return S_OK;
	thread = dnp_agent_thread((int)os_thread, 0);
	if (!thread)
		return S_OK;
	atomic_fetch_or(&thread->flags, DNP_THREAD_MANAGED);
	thread->end_ns = 0;
	dnp_thread_names_started(managed, thread);
	if ((int)os_thread == dnp_thread_id() && !dnp_thread_stack(&low, &high))
		dnp_thread_set_stack(thread, low, high);
	dnp_agent_managed_begin(managed, thread);
	return S_OK;
}

/* The thread lives on for a while, perhaps for long: native code may have lent it. */
static HRESULT DNP_COM on_thread_destroyed(ICorProfilerCallback *self, ThreadID managed)
{
	struct dnp_thread *thread;

	(void)self;
	dnp_agent_managed_end(managed, dnp_thread_id());
	if (!atomic_load_explicit(&recording, memory_order_relaxed))
		return S_OK;
	thread = dnp_thread_find(dnp_thread_id());
	if (thread) {
		thread->end_cpu_ns = dnp_thread_cpu_ns(0);
		thread->end_ns = dnp_now_ns();
	}
	return S_OK;
}

static HRESULT DNP_COM on_thread_named(
	ICorProfilerCallback *self, ThreadID managed, uint32_t length, WCHAR *name)
{
	(void)self;
	if (name && atomic_load_explicit(&recording, memory_order_relaxed))
		dnp_thread_names_set(managed, name, length);
	return S_OK;
}

static HRESULT DNP_COM on_compiled(
	ICorProfilerCallback *self, FunctionID function, HRESULT status, BOOL safe_to_block)
{
	(void)self;
	(void)safe_to_block;
	if (SUCCEEDED(status) && atomic_load_explicit(&recording, memory_order_relaxed))
		dnp_methods_compiled(function, false);
	return S_OK;
}

static HRESULT DNP_COM on_dynamic_compiled(
	ICorProfilerCallback *self, FunctionID function, HRESULT status, BOOL safe_to_block)
{
	(void)self;
	(void)safe_to_block;
	if (SUCCEEDED(status) && atomic_load_explicit(&recording, memory_order_relaxed))
		dnp_methods_compiled(function, true);
	return S_OK;
}

static HRESULT DNP_COM on_dynamic_unloaded(ICorProfilerCallback *self, FunctionID function)
{
	(void)self;
	dnp_methods_dynamic_unloaded(function);
	return S_OK;
}

static HRESULT DNP_COM on_module_loaded(ICorProfilerCallback *self, ModuleID module, HRESULT status)
{
	(void)self;
	if (SUCCEEDED(status) && atomic_load_explicit(&recording, memory_order_relaxed))
		dnp_code_module_loaded(&dnp_agent.info, module);
	return S_OK;
}

static HRESULT DNP_COM on_module_unloading(ICorProfilerCallback *self, ModuleID module)
{
	(void)self;
	dnp_methods_module_unloading(module);
	dnp_target_wait(0); /* it may be reading the module's tables where they are */
	return S_OK;
}

/* These two come on the thread that does the collection. */
static HRESULT DNP_COM on_gc_started(
	ICorProfilerCallback *self, int n_generations, BOOL *generations, COR_PRF_GC_REASON reason)
{
	struct dnp_thread *thread = dnp_thread_find(dnp_thread_id());

	(void)self;
	(void)n_generations;
	(void)generations;
	(void)reason;
	if (thread)
		atomic_store(&thread->collecting, 1);
	return S_OK;
}

static HRESULT DNP_COM on_gc_finished(ICorProfilerCallback *self)
{
	struct dnp_thread *thread = dnp_thread_find(dnp_thread_id());

	(void)self;
	if (thread)
		atomic_store(&thread->collecting, 0);
	return S_OK;
}

ICorProfilerCallback *dnp_agent_callback(void)
{
	static struct ICorProfilerCallbackVtbl table = {
		.Initialize = on_initialize,
		.Shutdown = on_shutdown,
		.ThreadAssignedToOSThread = on_thread_assigned,
		.ThreadDestroyed = on_thread_destroyed,
		.ThreadNameChanged = on_thread_named,
		.JITCompilationFinished = on_compiled,
		.DynamicMethodJITCompilationFinished = on_dynamic_compiled,
		.DynamicMethodUnloaded = on_dynamic_unloaded,
		.ModuleLoadFinished = on_module_loaded,
		.ModuleUnloadStarted = on_module_unloading,
		.GarbageCollectionStarted = on_gc_started,
		.GarbageCollectionFinished = on_gc_finished,
	};
	static ICorProfilerCallback callback = {.vtbl = &table};

	dnp_callback_complete(&table);
	return &callback;
}
