/* SPDX-License-Identifier: MIT */
/*
 * The runtime's notifications. Each is on the thread that it is about, where not said otherwise;
 * what they do is short and takes no lock that is held across a call into the CLR.
 */
#include "agent/callbacks.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "agent/agent.h"
#include "agent/allowed.h"
#include "agent/beside.h"
#include "agent/engines.h"
#include "agent/knowledge.h"
#include "agent/life.h"
#include "agent/methods.h"
#include "agent/pipe.h"
#include "agent/thread_names.h"
#include "capture/catches.h"
#include "capture/suspension.h"
#include "clr/hresult.h"
#include "format/rec.h"
#include "os/clock.h"
#include "os/thread.h"
#include "unwind/turn.h"
#include "unwind/code.h"

/* Ends of threads and of code wait for walks: those of the parent's threads go on nowhere. */
static void wait_for_walk(int tid)
{
	if (!dnp_allowed_is_forked())
		dnp_target_wait(tid);
}

static bool is_notify(const ICorProfilerCallback *self)
{
	return self == dnp_agent_callback_notify();
}

/* Before anything else; our class says what it is to be. */
static HRESULT DNP_COM on_load(ICorProfilerCallback *self, BOOL *notification_only)
{
	*notification_only = is_notify(self);
	return S_OK;
}

static HRESULT DNP_COM on_initialize(ICorProfilerCallback *self, IUnknown *info)
{
	return dnp_life_load(info, is_notify(self));
}

static HRESULT DNP_COM on_initialize_for_attach(
	ICorProfilerCallback *self, IUnknown *info, void *data, uint32_t bytes)
{
	return dnp_life_attach(info, is_notify(self), (struct dnp_str){data, bytes});
}

static HRESULT DNP_COM on_attached(ICorProfilerCallback *self)
{
	(void)self;
	dnp_life_attached();
	return S_OK;
}

/* The last that is called: when it returns this library is unloaded. */
static HRESULT DNP_COM on_detached(ICorProfilerCallback *self)
{
	(void)self;
	dnp_life_detached();
	return S_OK;
}

static HRESULT DNP_COM on_shutdown(ICorProfilerCallback *self)
{
	(void)self;
	dnp_life_shut_down();
	return S_OK;
}

static void thread_assigned(ThreadID managed, int os_thread)
{
	struct dnp_thread *thread;
	uintptr_t low, high;

	/* One of ours that runs managed code for a moment, see pipe.c. */
	thread = dnp_thread_is_own(os_thread) ? NULL : dnp_engines_thread(os_thread, 0);
	if (!thread)
		return;
	atomic_fetch_or(&thread->flags, DNP_THREAD_MANAGED);
	atomic_store_explicit(&thread->managed, managed, memory_order_relaxed);
	thread->end_ns = 0;
	dnp_thread_names_started(managed, thread);
	if (os_thread == dnp_thread_id() && !dnp_thread_stack(&low, &high))
		dnp_thread_set_stack(thread, low, high);
	dnp_engines_managed_begin(managed, thread);
}

/* On the thread itself: the best place to learn its stack. */
static HRESULT DNP_COM on_thread_assigned(
	ICorProfilerCallback *self, ThreadID managed, uint32_t os_thread)
{
	(void)self;
	if (dnp_allowed_enter(DNP_ALLOWED_THREADS)) {
		thread_assigned(managed, (int)os_thread);
		dnp_allowed_leave();
	}
	return S_OK;
}

/* It may live on for a while, perhaps for long: native code may have lent it. */
static void own_thread_ends(int tid)
{
	struct dnp_thread *thread = dnp_thread_find(tid);

	if (thread) {
		thread->end_cpu_ns = dnp_thread_cpu_ns(0);
		thread->end_ns = dnp_now_ns();
	}
}

/*
 * One that native code has made and that called managed code tells of no end: the finalizer's does,
 * some time after it has gone.
 */
static void thread_destroyed(ThreadID managed)
{
	int tid = dnp_agent_tid(managed);
	struct dnp_thread *thread = dnp_thread_find(tid);
	uintptr_t its = managed;

	if (thread)
		atomic_compare_exchange_strong(&thread->managed, &its, 0);
	dnp_knowledge_thread_ends(managed);
	dnp_engines_managed_end(managed, tid);
	if (tid == dnp_thread_id())
		own_thread_ends(tid);
}

static HRESULT DNP_COM on_thread_destroyed(ICorProfilerCallback *self, ThreadID managed)
{
	(void)self;
	if (dnp_allowed_enter(DNP_ALLOWED_THREADS)) {
		thread_destroyed(managed);
		dnp_allowed_leave();
	}
	wait_for_walk(dnp_thread_id()); /* the recorder walks, too */
	return S_OK;
}

static HRESULT DNP_COM on_thread_named(
	ICorProfilerCallback *self, ThreadID managed, uint32_t length, WCHAR *name)
{
	(void)self;
	if (name && dnp_allowed_enter(DNP_ALLOWED_THREADS)) {
		dnp_thread_names_set(managed, name, length);
		dnp_allowed_leave();
	}
	return S_OK;
}

static void compiled(FunctionID function, HRESULT status, bool dynamic)
{
	if (SUCCEEDED(status) && dnp_allowed_enter(DNP_ALLOWED_CODE)) {
		dnp_methods_compiled(function, dynamic);
		dnp_allowed_leave();
	}
}

static HRESULT DNP_COM on_compiled(
	ICorProfilerCallback *self, FunctionID function, HRESULT status, BOOL safe_to_block)
{
	(void)self;
	(void)safe_to_block;
	compiled(function, status, false);
	return S_OK;
}

static HRESULT DNP_COM on_inlining(
	ICorProfilerCallback *self, FunctionID caller, FunctionID callee, BOOL *should)
{
	(void)self;
	(void)caller;
	*should = dnp_engines_may_inline(callee);
	return S_OK;
}

static HRESULT DNP_COM on_dynamic_compiled(
	ICorProfilerCallback *self, FunctionID function, HRESULT status, BOOL safe_to_block)
{
	(void)self;
	(void)safe_to_block;
	compiled(function, status, true);
	return S_OK;
}

static HRESULT DNP_COM on_dynamic_unloaded(ICorProfilerCallback *self, FunctionID function)
{
	(void)self;
	if (dnp_allowed_enter(DNP_ALLOWED_CODE)) {
		dnp_methods_dynamic_unloaded(function);
		dnp_allowed_leave();
	}
	return S_OK;
}

static HRESULT DNP_COM on_module_loading(ICorProfilerCallback *self, ModuleID module)
{
	(void)self;
	if (dnp_allowed_enter(DNP_ALLOWED_CODE)) {
		dnp_engines_loading(module);
		dnp_allowed_leave();
	}
	return S_OK;
}

static void loaded(enum dnp_loaded what, uintptr_t id, HRESULT status)
{
	if (SUCCEEDED(status) && dnp_allowed_enter(DNP_ALLOWED_THREADS)) {
		dnp_engines_loaded(what, id);
		dnp_allowed_leave();
	}
}

static HRESULT DNP_COM on_assembly_loaded(
	ICorProfilerCallback *self, AssemblyID assembly, HRESULT status)
{
	(void)self;
	loaded(DNP_LOADED_ASSEMBLY, assembly, status);
	return S_OK;
}

static HRESULT DNP_COM on_class_loaded(ICorProfilerCallback *self, ClassID class_id, HRESULT status)
{
	(void)self;
	loaded(DNP_LOADED_CLASS, class_id, status);
	return S_OK;
}

static HRESULT DNP_COM on_module_loaded(ICorProfilerCallback *self, ModuleID module, HRESULT status)
{
	(void)self;
	if (SUCCEEDED(status) && dnp_allowed_enter(DNP_ALLOWED_CODE)) {
		dnp_methods_module_loaded(module);
		dnp_knowledge_loaded(module);
		dnp_allowed_leave();
	}
	loaded(DNP_LOADED_MODULE, module, status);
	return S_OK;
}

static HRESULT DNP_COM on_module_unloading(ICorProfilerCallback *self, ModuleID module)
{
	(void)self;
	dnp_engines_unloading();
	if (dnp_allowed_enter(DNP_ALLOWED_CODE)) {
		dnp_knowledge_unloading(module);
		dnp_methods_module_unloading(module);
		dnp_code_module_unloading(&dnp_agent.info, module);
		dnp_allowed_leave();
	}
	wait_for_walk(0); /* it may be reading the module's tables where they are */
	return S_OK;
}

static HRESULT DNP_COM on_module_unloaded(
	ICorProfilerCallback *self, ModuleID module, HRESULT status)
{
	(void)self;
	(void)module;
	(void)status;
	if (dnp_allowed_enter(DNP_ALLOWED_CODE)) {
		dnp_knowledge_unloaded();
		dnp_allowed_leave();
	}
	return S_OK;
}

static void mark_collecting(bool now)
{
	struct dnp_thread *thread = dnp_thread_find(dnp_thread_id());

	if (thread)
		atomic_store(&thread->collecting, now);
}

/*
 * These two come on the thread that does the collection; the end of one in the background on that
 * of the runtime's: a sample sees that the one that began it has gone on.
 */
static HRESULT DNP_COM on_gc_started(
	ICorProfilerCallback *self, int n_generations, BOOL *generations, COR_PRF_GC_REASON reason)
{
	(void)self;
	(void)n_generations;
	(void)generations;
	(void)reason;
	if (dnp_allowed_enter(DNP_ALLOWED_THREADS)) {
		mark_collecting(true);
		dnp_allowed_leave();
	}
	return S_OK;
}

static HRESULT DNP_COM on_gc_finished(ICorProfilerCallback *self)
{
	(void)self;
	if (dnp_allowed_enter(DNP_ALLOWED_THREADS)) {
		mark_collecting(false);
		dnp_allowed_leave();
	}
	return S_OK;
}

static HRESULT DNP_COM on_suspending(ICorProfilerCallback *self, COR_PRF_SUSPEND_REASON reason)
{
	(void)self;
	dnp_beside_told();
	if (dnp_allowed_enter(DNP_ALLOWED_THREADS)) {
		dnp_engines_suspending(reason);
		dnp_allowed_leave();
	}
	dnp_suspension_begin(
		reason == COR_PRF_SUSPEND_FOR_GC || reason == COR_PRF_SUSPEND_FOR_GC_PREP,
		dnp_thread_id());
	return S_OK;
}

static HRESULT DNP_COM on_suspended(ICorProfilerCallback *self)
{
	(void)self;
	if (dnp_allowed_enter(DNP_ALLOWED_THREADS)) {
		dnp_engines_suspended();
		dnp_allowed_leave();
	}
	return S_OK;
}

/* Threads are about to go on, or were not stopped after all. */
static HRESULT DNP_COM on_resuming(ICorProfilerCallback *self)
{
	(void)self;
	dnp_suspension_end();
	return S_OK;
}

/*
 * On Windows who stops the others says it of them, too, each time that it has suspended one, to
 * look where that is and mostly to let it go on. It does not stand then, and may have any lock.
 */
static bool says_it_of_itself(ThreadID managed)
{
	return managed && dnp_agent_own_id() == managed;
}

static void hold(ThreadID managed, bool now)
{
	struct dnp_thread *thread = dnp_thread_find(dnp_thread_id());

	if (thread)
		atomic_store(&thread->held, now);
	if (now)
		dnp_engines_safepoint(managed);
}

static void held(ThreadID managed, bool now)
{
	if (!dnp_allowed_enter(DNP_ALLOWED_THREADS))
		return;
	if (says_it_of_itself(managed))
		hold(managed, now);
	dnp_allowed_leave();
}

/* These two are around the sleep in which a thread waits for the end of a suspension. */
static HRESULT DNP_COM on_thread_suspended(ICorProfilerCallback *self, ThreadID managed)
{
	(void)self;
	held(managed, true);
	return S_OK;
}

static HRESULT DNP_COM on_thread_resumed(ICorProfilerCallback *self, ThreadID managed)
{
	(void)self;
	held(managed, false);
	return S_OK;
}

static HRESULT DNP_COM on_delivered(ICorProfilerCallback *self, EVENTPIPE_PROVIDER provider,
	uint32_t id, uint32_t version, uint32_t metadata_bytes, const uint8_t *metadata,
	uint32_t bytes, const uint8_t *data, const struct dnp_guid *activity,
	const struct dnp_guid *related, ThreadID thread, uint32_t n_frames, uintptr_t *frames)
{
	(void)self;
	(void)metadata_bytes;
	(void)metadata;
	(void)activity;
	(void)related;
	(void)thread;
	(void)n_frames;
	(void)frames;
	if (dnp_allowed_enter(DNP_ALLOWED_THREADS)) {
		dnp_pipe_delivered(provider, id, version, data, bytes, dnp_engines_delivered);
		dnp_allowed_leave();
	}
	return S_OK;
}

static HRESULT DNP_COM on_allocated(ICorProfilerCallback *self, ObjectID object, ClassID class_id)
{
	(void)self;
	if (dnp_allowed_enter(DNP_ALLOWED_THREADS)) {
		dnp_engines_allocated(object, class_id);
		dnp_allowed_leave();
	}
	return S_OK;
}

static HRESULT DNP_COM on_thrown(ICorProfilerCallback *self, ObjectID object)
{
	(void)self;
	dnp_engines_throwing();
	if (dnp_allowed_enter(DNP_ALLOWED_THREADS)) {
		dnp_engines_thrown(object);
		dnp_allowed_leave();
	}
	return S_OK;
}

static void handling(enum dnp_handling what, FunctionID function, ObjectID object)
{
	if (dnp_allowed_enter(DNP_ALLOWED_THREADS)) {
		dnp_engines_handling(what, function, object);
		dnp_allowed_leave();
	}
}

static HRESULT DNP_COM on_unwinding(ICorProfilerCallback *self, FunctionID function)
{
	(void)self;
	dnp_engines_unwinding(function);
	if (dnp_catches_is_root(function))
		handling(DNP_HANDLING_ROOT_UNWIND, function, 0);
	return S_OK;
}

static HRESULT DNP_COM on_unwound(ICorProfilerCallback *self)
{
	(void)self;
	dnp_engines_unwound();
	return S_OK;
}

/* These two come for each frame. */
static HRESULT DNP_COM on_searching(ICorProfilerCallback *self, FunctionID function)
{
	(void)self;
	if (dnp_catches_is_root(function))
		handling(DNP_HANDLING_ROOT, function, 0);
	return S_OK;
}

static HRESULT DNP_COM on_searched(ICorProfilerCallback *self)
{
	(void)self;
	if (dnp_catches_is_root(0))
		handling(DNP_HANDLING_ROOT_DONE, 0, 0);
	return S_OK;
}

static HRESULT DNP_COM on_catcher_found(ICorProfilerCallback *self, FunctionID function)
{
	(void)self;
	(void)function;
	handling(DNP_HANDLING_FOUND, 0, 0);
	return S_OK;
}

static HRESULT DNP_COM on_caught(
	ICorProfilerCallback *self, FunctionID function, ObjectID exception)
{
	(void)self;
	handling(DNP_HANDLING_CATCH, function, exception);
	dnp_engines_caught();
	return S_OK;
}

static HRESULT DNP_COM on_finally(ICorProfilerCallback *self, FunctionID function)
{
	(void)self;
	(void)function;
	dnp_engines_in_finally();
	return S_OK;
}

static HRESULT DNP_COM on_filter(ICorProfilerCallback *self, FunctionID function)
{
	(void)self;
	dnp_engines_filtering(function);
	handling(DNP_HANDLING_FILTER, 0, 0);
	return S_OK;
}

static HRESULT DNP_COM on_filtered(ICorProfilerCallback *self)
{
	(void)self;
	dnp_engines_filtering(0);
	handling(DNP_HANDLING_ANSWER, 0, 0);
	return S_OK;
}

/* What native code has left in errno is still to be read by who called it. */
static void transition(FunctionID function, int to_native, COR_PRF_TRANSITION_REASON reason)
{
	int saved = errno;

	dnp_engines_transition(function, to_native, reason == COR_PRF_TRANSITION_RETURN);
	errno = saved;
}

static HRESULT DNP_COM on_to_native(
	ICorProfilerCallback *self, FunctionID function, COR_PRF_TRANSITION_REASON reason)
{
	(void)self;
	transition(function, 1, reason);
	return S_OK;
}

static HRESULT DNP_COM on_to_managed(
	ICorProfilerCallback *self, FunctionID function, COR_PRF_TRANSITION_REASON reason)
{
	(void)self;
	transition(function, 0, reason);
	return S_OK;
}

static struct ICorProfilerCallbackVtbl table = {
	.LoadAsNotificationOnly = on_load,
	.Initialize = on_initialize,
	.InitializeForAttach = on_initialize_for_attach,
	.ProfilerAttachComplete = on_attached,
	.ProfilerDetachSucceeded = on_detached,
	.Shutdown = on_shutdown,
	.ThreadAssignedToOSThread = on_thread_assigned,
	.ThreadDestroyed = on_thread_destroyed,
	.ThreadNameChanged = on_thread_named,
	.JITCompilationFinished = on_compiled,
	.JITInlining = on_inlining,
	.DynamicMethodJITCompilationFinished = on_dynamic_compiled,
	.DynamicMethodUnloaded = on_dynamic_unloaded,
	.AssemblyLoadFinished = on_assembly_loaded,
	.ClassLoadFinished = on_class_loaded,
	.ModuleLoadStarted = on_module_loading,
	.ModuleLoadFinished = on_module_loaded,
	.ModuleUnloadStarted = on_module_unloading,
	.ModuleUnloadFinished = on_module_unloaded,
	.RuntimeSuspendStarted = on_suspending,
	.EventPipeEventDelivered = on_delivered,
	.RuntimeSuspendFinished = on_suspended,
	.RuntimeSuspendAborted = on_resuming,
	.RuntimeResumeStarted = on_resuming,
	.RuntimeThreadSuspended = on_thread_suspended,
	.RuntimeThreadResumed = on_thread_resumed,
	.ObjectAllocated = on_allocated,
	.ExceptionThrown = on_thrown,
	.ExceptionUnwindFunctionEnter = on_unwinding,
	.ExceptionUnwindFunctionLeave = on_unwound,
	.ExceptionUnwindFinallyEnter = on_finally,
	.ExceptionSearchFunctionEnter = on_searching,
	.ExceptionSearchFunctionLeave = on_searched,
	.ExceptionSearchCatcherFound = on_catcher_found,
	.ExceptionCatcherEnter = on_caught,
	.ExceptionSearchFilterEnter = on_filter,
	.ExceptionSearchFilterLeave = on_filtered,
	.ManagedToUnmanagedTransition = on_to_native,
	.UnmanagedToManagedTransition = on_to_managed,
	.GarbageCollectionStarted = on_gc_started,
	.GarbageCollectionFinished = on_gc_finished,
};

ICorProfilerCallback *dnp_agent_callback(void)
{
	static ICorProfilerCallback callback = {.vtbl = &table};

	dnp_callback_complete(&table);
	return &callback;
}

ICorProfilerCallback *dnp_agent_callback_notify(void)
{
	static ICorProfilerCallback callback = {.vtbl = &table};

	dnp_callback_complete(&table);
	return &callback;
}
