/* SPDX-License-Identifier: MIT */
/* A profiler that prints the stack of each exception, and all threads' when the program ends. */
#include <dnprof/walk.h>
#include <pthread.h>
#include <stdio.h>

#include "clr/callback.h" /* the runtime's interfaces in C; in C++ that is corprof.h */
#include "clr/hresult.h"
#include "com.h" /* the class factory that every profiler has */

static dnprof_walker *walker;

/* ---- Stacks */

static int print_frame(const struct dnprof_frame *frame, void *context)
{
	FILE *out = context;

	if (frame->kind == DNPROF_FRAME_NATIVE_RUN)
		fprintf(out, "    %u native frames\n", frame->native_frames);
	else
		fprintf(out, "    ip %#llx, function %#llx\n", (unsigned long long)frame->ip,
			(unsigned long long)frame->function);
	return 0; /* go on */
}

static HRESULT DNP_COM on_exception(ICorProfilerCallback *self, ObjectID object)
{
	struct dnprof_walk_options options = {
		.struct_size = sizeof(options), .native = DNPROF_NATIVE_LEAF};
	int32_t result;

	(void)self;
	(void)object;
	fprintf(stderr, "thrown:\n");
	result = dnprof_walk_self(walker, &options, print_frame, stderr);
	if (result < 0)
		fprintf(stderr, "    no stack: %s\n", dnprof_result_text(result));
	return S_OK;
}

static int print_thread(uint64_t thread, int32_t result, void *context)
{
	FILE *out = context;

	fprintf(out, "  that was thread %#llx: %s\n", (unsigned long long)thread,
		dnprof_result_name(result));
	return 0;
}

/* Threads that have run managed code, such as the one that ends the program, walk no others. */
static void *walk_all(void *context)
{
	struct dnprof_snapshot snapshot = {.struct_size = sizeof(snapshot)};
	int32_t result =
		dnprof_walk_all(walker, NULL, print_frame, print_thread, context, &snapshot);

	fprintf(context, "all threads: %s, %u of them, the runtime stood still for %llu us\n",
		dnprof_result_name(result), snapshot.threads,
		(unsigned long long)snapshot.suspended_ns / 1000);
	return NULL;
}

/* ---- What the runtime tells */

static HRESULT DNP_COM on_compiled(
	ICorProfilerCallback *self, FunctionID function, HRESULT status, BOOL blocking)
{
	(void)self;
	(void)blocking;
	if (SUCCEEDED(status))
		dnprof_walker_method_compiled(walker, function, 0);
	return S_OK;
}

static HRESULT DNP_COM on_dynamic_compiled(
	ICorProfilerCallback *self, FunctionID function, HRESULT status, BOOL blocking)
{
	(void)self;
	(void)blocking;
	if (SUCCEEDED(status))
		dnprof_walker_method_compiled(walker, function, 1);
	return S_OK;
}

static HRESULT DNP_COM on_dynamic_unloaded(ICorProfilerCallback *self, FunctionID function)
{
	(void)self;
	dnprof_walker_dynamic_method_unloaded(walker, function);
	return S_OK;
}

static HRESULT DNP_COM on_module(ICorProfilerCallback *self, ModuleID module, HRESULT status)
{
	(void)self;
	if (SUCCEEDED(status))
		dnprof_walker_module_loaded(walker, module);
	return S_OK;
}

static HRESULT DNP_COM on_module_unloading(ICorProfilerCallback *self, ModuleID module)
{
	(void)self;
	dnprof_walker_module_unloading(walker, module);
	return S_OK;
}

static HRESULT DNP_COM on_thread(ICorProfilerCallback *self, ThreadID thread, uint32_t os_thread)
{
	(void)self;
	dnprof_walker_thread_assigned(walker, thread, os_thread);
	return S_OK;
}

static HRESULT DNP_COM on_thread_destroyed(ICorProfilerCallback *self, ThreadID thread)
{
	(void)self;
	dnprof_walker_thread_destroyed(walker, thread); /* not while it is walked */
	return S_OK;
}

/* ---- Start and end */

static HRESULT DNP_COM on_initialize(ICorProfilerCallback *self, IUnknown *unknown)
{
	uint32_t low = COR_PRF_MONITOR_JIT_COMPILATION | COR_PRF_MONITOR_MODULE_LOADS |
		COR_PRF_MONITOR_THREADS | COR_PRF_MONITOR_EXCEPTIONS |
		COR_PRF_ENABLE_STACK_SNAPSHOT;
	struct dnp_info info;
	HRESULT hr = dnp_info_open(&info, unknown);

	(void)self;
	if (SUCCEEDED(hr))
		hr = dnp_com(info.com, SetEventMask2, low,
			COR_PRF_HIGH_MONITOR_DYNAMIC_FUNCTION_UNLOADS);
	if (SUCCEEDED(hr))
		hr = dnprof_walker_open(unknown, NULL, &walker);
	return hr;
}

static HRESULT DNP_COM on_shutdown(ICorProfilerCallback *self)
{
	pthread_t thread;

	(void)self;
	if (!pthread_create(&thread, NULL, walk_all, stderr))
		pthread_join(thread, NULL);
	return S_OK;
}

ICorProfilerCallback *profiler_callback(void)
{
	static struct ICorProfilerCallbackVtbl table = {
		.Initialize = on_initialize,
		.Shutdown = on_shutdown,
		.ExceptionThrown = on_exception,
		.JITCompilationFinished = on_compiled,
		.DynamicMethodJITCompilationFinished = on_dynamic_compiled,
		.DynamicMethodUnloaded = on_dynamic_unloaded,
		.ModuleLoadFinished = on_module,
		.ModuleUnloadStarted = on_module_unloading,
		.ThreadAssignedToOSThread = on_thread,
		.ThreadDestroyed = on_thread_destroyed,
	};
	static ICorProfilerCallback callback = {.vtbl = &table};

	dnp_callback_complete(&table);
	return &callback;
}
