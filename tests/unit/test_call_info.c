/* SPDX-License-Identifier: MIT */
/*
 * Hooks with information in front of those of depth events, as the runtime would drive them, with
 * the real rings and the real writer. The runtime is a few functions that answer.
 */
#include "capture/call_info.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "capture/call_events.h"
#include "clr/hresult.h"
#include "clr/shapes.h"
#include "format/agent_options.h"
#include "read/calls.h"
#include "read/input.h"
#include "test.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#else
#define __lsan_disable()
#define __lsan_enable()
#endif

#define EVENT  3
#define METHOD 1  /* the function's number */
#define EXACT  10 /* its instantiations' are above */

/* ---- The runtime */

static bool shared;
static FunctionEnter3WithInfo *hook_enter;
static FunctionLeave3WithInfo *hook_leave;
static uint32_t n_results;                       /* that it was asked for */
static ClassID type_arg = 0x1000, next_type_arg; /* how much further that of the next call is */
static int32_t result = 5;

static HRESULT DNP_COM set_hooks(ICorProfilerInfo *self, FunctionEnter3WithInfo *enter,
	FunctionLeave3WithInfo *leave, FunctionTailcall3WithInfo *tailcall)
{
	(void)self;
	(void)tailcall;
	hook_enter = enter;
	hook_leave = leave;
	return S_OK;
}

static HRESULT DNP_COM string_layout(ICorProfilerInfo *self, uint32_t *length, uint32_t *chars)
{
	(void)self;
	*length = 8;
	*chars = 12;
	return S_OK;
}

static HRESULT DNP_COM version(ICorProfilerInfo *self, uint16_t *instance,
	COR_PRF_RUNTIME_TYPE *type, uint16_t *major, uint16_t *minor, uint16_t *build,
	uint16_t *fix, uint32_t cap, uint32_t *n, WCHAR *text)
{
	(void)self;
	(void)cap;
	(void)n;
	(void)text;
	*type = COR_PRF_CORE_CLR;
	*instance = *minor = *build = *fix = 0;
	*major = 10;
	return S_OK;
}

static HRESULT DNP_COM enter_info(ICorProfilerInfo *self, FunctionID function, COR_PRF_ELT_INFO elt,
	COR_PRF_FRAME_INFO *frame, uint32_t *bytes, COR_PRF_FUNCTION_ARGUMENT_INFO *args)
{
	(void)self;
	(void)function;
	(void)elt;
	(void)args;
	*frame = 1;
	*bytes = 0;
	return S_OK;
}

static HRESULT DNP_COM leave_info(ICorProfilerInfo *self, FunctionID function, COR_PRF_ELT_INFO elt,
	COR_PRF_FRAME_INFO *frame, COR_PRF_FUNCTION_ARGUMENT_RANGE *range)
{
	(void)self;
	(void)function;
	(void)elt;
	*frame = 1;
	range->startAddress = (uintptr_t)&result;
	range->length = sizeof(result);
	n_results++;
	return S_OK;
}

static HRESULT DNP_COM instantiation(ICorProfilerInfo *self, FunctionID function,
	COR_PRF_FRAME_INFO frame, ClassID *class_id, ModuleID *module, mdToken *token, uint32_t cap,
	uint32_t *n, ClassID *args)
{
	(void)self;
	(void)function;
	(void)cap;
	if (!frame)
		return E_FAIL;
	*class_id = 0;
	*module = 1;
	*token = 1;
	*n = 1;
	args[0] = type_arg;
	type_arg += next_type_arg;
	return S_OK;
}

bool __wrap_dnp_shapes_shared(const struct dnp_info *info, FunctionID function);
ClassID __wrap_dnp_shapes_string(const struct dnp_info *info);
HRESULT __wrap_dnp_shapes_plan(const struct dnp_info *info, FunctionID function,
	dnp_class_number number, struct dnp_values_plan *plan);

bool __wrap_dnp_shapes_shared(const struct dnp_info *info, FunctionID function)
{
	(void)info;
	(void)function;
	return shared;
}

ClassID __wrap_dnp_shapes_string(const struct dnp_info *info)
{
	(void)info;
	return 0x2000;
}

HRESULT __wrap_dnp_shapes_plan(const struct dnp_info *info, FunctionID function,
	dnp_class_number number, struct dnp_values_plan *plan)
{
	(void)info;
	(void)function;
	(void)number;
	*plan = (struct dnp_values_plan){.n_shapes = 1};
	plan->shapes[0] = (struct dnp_shape){.kind = DNP_SHAPE_I4, .next = 1, .bytes = 4};
	return S_OK;
}

/* ---- The engine */

static struct dnp_writer writer;
static char path[] = "/tmp/dnprof-test-XXXXXX";

static uint32_t index_of(int tid)
{
	(void)tid;
	return 0;
}

static uint32_t reserve(void)
{
	static _Atomic uint32_t last = EXACT;

	return ++last;
}

static void exact(
	uint32_t number, uintptr_t function, uintptr_t class_id, const uintptr_t *args, uint32_t n)
{
	(void)number;
	(void)function;
	(void)class_id;
	(void)args;
	(void)n;
}

static void start(void)
{
	static const struct ICorProfilerInfoVtbl vtbl = {
		.GetFunctionInfo2 = instantiation,
		.GetStringLayout2 = string_layout,
		.SetEnterLeaveFunctionHooks3WithInfo = set_hooks,
		.GetFunctionEnter3Info = enter_info,
		.GetFunctionLeave3Info = leave_info,
		.GetRuntimeInformation = version,
	};
	static ICorProfilerInfo com = {&vtbl};
	static struct dnp_info info = {.com = &com, .version = 15};
	static const struct dnp_agent_options options = {.calls = DNP_CALLS_EVENTS, .args = true};
	static const struct dnp_engine_setting setting = {
		.info = &info, .options = &options, .reserve = reserve, .exact = exact};
	const struct dnp_call_plain plain = {
		.enter = (void (*)(void))dnp_hook_events_enter,
		.leave = (dnp_call_end_hook *)(void (*)(void))dnp_hook_events_leave,
		.tailcall = (dnp_call_end_hook *)(void (*)(void))dnp_hook_events_tailcall,
	};
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	CHECK_EQ(dnp_writer_open(&writer, fd, 7), 0);
	CHECK_EQ(dnp_calls_open(DNP_CALLS_EVENTS, index_of), 0);
	CHECK_EQ(dnp_call_info_open(&setting, EVENT), 0);
	CHECK_EQ(dnp_call_info_set(&plain), S_OK);
	for (uint32_t i = METHOD; i < METHOD + 2; i++)
		dnp_call_methods[i] = (struct dnp_call_method){.number = i, .function = i};
	/* Its plan stays while the program runs, in memory that is not searched for leaks. */
	__lsan_disable();
	CHECK(dnp_call_info_prepare(&dnp_call_methods[METHOD]));
	__lsan_enable();
	dnp_call_events_start(EVENT);
	CHECK_EQ(dnp_call_events_write(&writer, 0), 0);
	dnp_calls_switch(true);
}

static void stop(void)
{
	dnp_calls_switch(false);
	dnp_call_events_stop();
}

static void finish(void)
{
	CHECK_EQ(dnp_call_events_write(&writer, 1), 0);
	dnp_call_info_write(&writer, 1);
	CHECK_EQ(dnp_writer_close(&writer), 0);
}

/* ---- What compiled methods do */

#define CALLER_BYTES 64 /* of the stack, for each call */
#define TOP          (UINTPTR_MAX / 2 / CALLER_BYTES * CALLER_BYTES)

typedef void DNP_COM info_hook(FunctionIDOrClientID id, COR_PRF_ELT_INFO elt);

/* The depth-th call from the outside, from 0. */
static void call_hook(info_hook *hook, uint32_t method, size_t depth)
{
	uintptr_t sp = TOP - depth * CALLER_BYTES;
	/* As the runtime has it: function, rbp, the hook's sp, ip, the caller's sp. */
	const uintptr_t frame[] = {method, sp - 16, sp - 32, 0, sp};
	const uintptr_t *elt = frame;

	hook((FunctionIDOrClientID){.clientID = (uintptr_t)&dnp_call_methods[method]},
		(COR_PRF_ELT_INFO)&elt);
}

/* ---- What was recorded */

struct seen {
	uint64_t n[DNP_CALL_LOST + 1]; /* events, by kind */
	uint64_t inexact;              /* of the function itself, not of an instantiation */
	uint32_t depth;                /* of the last event */
};

static struct seen read_back(void)
{
	struct seen seen = {.inexact = 0};
	struct dnp_call_cursor *cursor;
	struct dnp_call_event event;
	struct dnp_call_log *log;
	struct dnp_input input;
	uint64_t damaged = 0;

	dnp_input_init(&input);
	CHECK_EQ(dnp_input_add_file(&input, path, NULL), 0);
	CHECK_EQ(dnp_input_finish(&input, NULL), 0);
	unlink(path);
	CHECK_EQ(dnp_call_log_new(&input.recordings.p[0], EVENT, &log, &damaged), 0);
	CHECK_EQ(dnp_call_cursor_new(log, 0, &cursor), 0);
	while (dnp_call_cursor_next(cursor, &event) > 0) {
		seen.n[event.kind]++;
		seen.inexact += event.method == METHOD;
		seen.depth = event.depth;
	}
	CHECK_EQ(damaged + dnp_call_cursor_damaged(cursor), 0);
	dnp_call_cursor_free(cursor);
	dnp_call_log_free(log);
	dnp_input_done(&input);
	return seen;
}

#define DEEP 100000

TEST(shared_code_ends_as_it_began_however_deep_it_goes)
{
	struct seen seen;

	shared = true;
	start();
	for (size_t i = 0; i < DEEP; i++)
		call_hook(hook_enter, METHOD, i);
	for (size_t i = DEEP; i-- > 0;)
		call_hook(hook_leave, METHOD, i);
	call_hook(hook_enter, METHOD + 1, 0);
	call_hook(hook_leave, METHOD + 1, 0);
	stop();
	finish();
	seen = read_back();
	CHECK_EQ(seen.n[DNP_CALL_ENTER], DEEP + 1);
	CHECK_EQ(seen.n[DNP_CALL_LEAVE], DEEP + 1);
	CHECK_EQ(seen.n[DNP_CALL_UNWOUND] + seen.n[DNP_CALL_CUT] + seen.n[DNP_CALL_LOST], 0);
	CHECK_EQ(seen.inexact, 0);
	CHECK_EQ(seen.depth, 0);
}

/* Nobody tells that those within the first have ended. */
TEST(shared_code_ends_as_it_began_behind_an_exception)
{
	struct seen seen;

	shared = true;
	start();
	for (size_t i = 0; i < 4; i++)
		call_hook(hook_enter, i == 2 ? METHOD + 1 : METHOD, i);
	call_hook(hook_leave, METHOD, 0);
	stop();
	finish();
	seen = read_back();
	CHECK_EQ(seen.n[DNP_CALL_ENTER], 4);
	CHECK_EQ(seen.n[DNP_CALL_LEAVE], 1);
	CHECK_EQ(seen.n[DNP_CALL_UNWOUND], 3);
	CHECK_EQ(seen.inexact, 0);
	CHECK_EQ(seen.depth, 0);
}

static void check_problem(const char *want)
{
	static char bytes[1 << 22];
	FILE *file = fopen(path, "r");
	size_t n;

	CHECK(file);
	n = fread(bytes, 1, sizeof(bytes), file);
	CHECK(n < sizeof(bytes));
	fclose(file);
	CHECK(memmem(bytes, n, want, strlen(want)));
}

/* All new, before the recorder comes to it. */
TEST(instantiations_that_come_faster_than_numbers_are_told_of)
{
	const size_t more = 7, n = 4096 + more;

	shared = true;
	next_type_arg = 0x100;
	start();
	for (size_t i = 0; i < n; i++) {
		call_hook(hook_enter, METHOD, 0);
		call_hook(hook_leave, METHOD, 0);
	}
	stop();
	finish();
	check_problem("7 calls stand with those of their method's other instantiations");
	CHECK_EQ(read_back().inexact, 2 * more);
}

/* Compiled code goes on calling hooks. */
TEST(results_are_not_asked_for_behind_the_end)
{
	start();
	for (size_t i = 0; i < 3; i++)
		call_hook(hook_enter, METHOD, i);
	call_hook(hook_leave, METHOD, 2);
	CHECK_EQ(n_results, 1);
	stop();
	call_hook(hook_leave, METHOD, 1);
	finish();
	call_hook(hook_leave, METHOD, 0);
	CHECK_EQ(n_results, 1);
	CHECK_EQ(read_back().n[DNP_CALL_LEAVE], 1);
}
