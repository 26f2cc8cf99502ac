/* SPDX-License-Identifier: MIT */
#include "walker/walker.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean.h"
#include "clr/r2r.h"
#include "os/library.h"
#include "unwind/code.h"
#include "unwind/managed.h"
#include "unwind/native.h"

/* What the header says in numbers is what the CLR says. */
_Static_assert(DNPROF_S_OK == S_OK && DNPROF_S_FALSE == S_FALSE, "successes");
_Static_assert(DNPROF_E_NOTIMPL == E_NOTIMPL && DNPROF_E_FAIL == E_FAIL &&
		DNPROF_E_UNEXPECTED == E_UNEXPECTED && DNPROF_E_OUTOFMEMORY == E_OUTOFMEMORY &&
		DNPROF_E_INVALIDARG == E_INVALIDARG,
	"failures of COM");
#define SAME(name) _Static_assert(DNPROF_##name == (int32_t)name, #name)
SAME(CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD);
SAME(CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX);
SAME(CORPROF_E_STACKSNAPSHOT_UNSAFE);
SAME(CORPROF_E_STACKSNAPSHOT_ABORTED);
SAME(CORPROF_E_UNSUPPORTED_CALL_SEQUENCE);
SAME(CORPROF_E_PROFILER_ALREADY_ACTIVE);
SAME(CORPROF_E_INCONSISTENT_WITH_FLAGS);
SAME(CORPROF_E_SUSPENSION_IN_PROGRESS);

const char *dnprof_result_name(int32_t result)
{
	return dnp_hresult_name(result);
}

const char *dnprof_result_text(int32_t result)
{
	return dnp_hresult_text(result);
}

/* ---- Open and close */

static _Atomic bool is_open;

#define DEPTH_LEAST   16u
#define DEPTH_MOST    65536u
#define DEPTH_DEFAULT 2048u

static HRESULT read_options(struct dnprof_walker *walker, const struct dnprof_walker_options *given)
{
	struct dnprof_walker_options options = {0};

	if (given && given->struct_size < sizeof(given->struct_size))
		return E_INVALIDARG;
	if (given)
		memcpy(&options, given,
			given->struct_size < sizeof(options) ? given->struct_size
							     : sizeof(options));
	walker->depth_max = options.depth_max ? options.depth_max : DEPTH_DEFAULT;
	return walker->depth_max < DEPTH_LEAST || walker->depth_max > DEPTH_MOST ? E_INVALIDARG
										 : S_OK;
}

static HRESULT open_info(struct dnprof_walker *walker, IUnknown *unknown)
{
	HRESULT hr = dnp_info_open(&walker->info, unknown);

	if (FAILED(hr))
		return hr;
	if (dnp_info_has(&walker->info, GetCodeInfo4))
		return dnp_walk_codemap() ? S_OK : E_OUTOFMEMORY;
	return E_NOTIMPL;
}

int32_t dnprof_walker_open(
	void *info, const struct dnprof_walker_options *options, dnprof_walker **out)
{
	struct dnprof_walker *walker;
	HRESULT hr;

	if (!info || !out)
		return E_INVALIDARG;
	*out = NULL;
	if (atomic_exchange(&is_open, true))
		return CORPROF_E_PROFILER_ALREADY_ACTIVE;
	walker = calloc(1, sizeof(*walker));
	hr = walker ? read_options(walker, options) : E_OUTOFMEMORY;
	if (SUCCEEDED(hr))
		hr = open_info(walker, info);
	if (FAILED(hr)) {
		if (walker)
			dnp_info_close(&walker->info);
		free(walker);
		atomic_store(&is_open, false);
		return hr;
	}
	walker->jit = dnp_code_load_jit();
	dnprof_walker_refresh(walker);
	*out = walker;
	return S_OK;
}

void dnprof_walker_close(dnprof_walker *walker)
{
	if (!walker)
		return;
	dnp_walks_of_others_done();
	dnp_walk_codemap_done();
	dnp_r2r_done();
	dnp_native_done();
	dnp_walker_methods_done();
	dnp_walker_threads_done();
	dnp_gathered_done();
	if (walker->jit)
		dnp_library_close(walker->jit);
	dnp_info_close(&walker->info);
	free(walker);
	atomic_store(&is_open, false);
}

/* Own walks saw something come or go, so that there may be something to reclaim. */
static _Atomic bool unclaimed;

void dnp_walker_look(void)
{
	if (dnp_modules_refresh() > 0)
		atomic_store(&unclaimed, true);
}

void dnprof_walker_refresh(dnprof_walker *walker)
{
	if (walker && (dnp_native_refresh() > 0 || atomic_load(&unclaimed))) {
		atomic_store(&unclaimed, false);
		dnp_native_reclaim(dnp_gather_settle());
	}
}

/* ---- Catching up */

#define AT_ONCE 256u

static HRESULT catch_up_modules(struct dnprof_walker *walker)
{
	ICorProfilerModuleEnum *all = NULL;
	ModuleID modules[AT_ONCE];
	uint32_t n = 0;
	HRESULT hr = dnp_com(walker->info.com, EnumModules, &all);

	if (FAILED(hr))
		return hr;
	do {
		n = 0;
		hr = dnp_com(all, Next, AT_ONCE, modules, &n);
		for (uint32_t i = 0; SUCCEEDED(hr) && i < n; i++)
			dnp_walker_module(walker, modules[i]);
	} while (hr == S_OK && n);
	dnp_com(all, Release);
	return hr;
}

static HRESULT catch_up_methods(struct dnprof_walker *walker)
{
	ICorProfilerFunctionEnum *all = NULL;
	COR_PRF_FUNCTION functions[AT_ONCE];
	uint32_t n = 0;
	HRESULT hr = dnp_com(walker->info.com, EnumJITedFunctions2, &all);

	if (FAILED(hr))
		return hr;
	do {
		n = 0;
		hr = dnp_com(all, Next, AT_ONCE, functions, &n);
		for (uint32_t i = 0; SUCCEEDED(hr) && i < n; i++) {
			BOOL dynamic = 0;

			dnp_com(walker->info.com, IsFunctionDynamic, functions[i].functionId,
				&dynamic);
			dnp_walker_compiled(walker, functions[i].functionId, dynamic);
		}
	} while (hr == S_OK && n);
	dnp_com(all, Release);
	return hr;
}

static HRESULT catch_up_threads(struct dnprof_walker *walker)
{
	ICorProfilerThreadEnum *all = NULL;
	ThreadID threads[AT_ONCE];
	uint32_t n = 0, tid;
	HRESULT hr = dnp_com(walker->info.com, EnumThreads, &all);

	if (FAILED(hr))
		return hr;
	do {
		n = 0;
		hr = dnp_com(all, Next, AT_ONCE, threads, &n);
		for (uint32_t i = 0; SUCCEEDED(hr) && i < n; i++)
			if (SUCCEEDED(dnp_com(walker->info.com, GetThreadInfo, threads[i], &tid)))
				dnprof_walker_thread_assigned(walker, threads[i], tid);
	} while (hr == S_OK && n);
	dnp_com(all, Release);
	return hr;
}

int32_t dnprof_walker_catch_up(dnprof_walker *walker)
{
	static HRESULT (*const parts[])(struct dnprof_walker * walker) = {
		catch_up_modules, catch_up_methods, catch_up_threads};
	HRESULT result = S_OK;

	if (!walker)
		return E_INVALIDARG;
	dnprof_walker_refresh(walker);
	for (size_t i = 0; i < DNP_ARRAY_SIZE(parts); i++)
		if (FAILED(parts[i](walker)))
			result = S_FALSE;
	return result;
}
