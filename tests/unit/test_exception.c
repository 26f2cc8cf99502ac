/* SPDX-License-Identifier: MIT */
/* What an exception's stack begins with, by a runtime of a few functions that answer. */
#include "agentless.h"
#include "capture/catches.h"
#include "capture/happened.h"
#include "clr/hresult.h"
#include "clr/info.h"
#include "clr/names.h"
#include "test.h"

#define TOP ((dnp_frame_word)DNP_WALK_JIT << DNP_FRAME_SHIFT | 0x7000)

/* ---- The runtime */

static struct {
	HRESULT of_address, of_method, of_class; /* its answers … */
	const char *class_name;
	unsigned asked;
} runtime = {.class_name = "System.Runtime.EH"};

static HRESULT DNP_COM function_of(
	ICorProfilerInfo *self, const uint8_t *address, FunctionID *function)
{
	(void)self;
	(void)address;
	runtime.asked++;
	*function = 1;
	return runtime.of_address;
}

static HRESULT DNP_COM method_info(ICorProfilerInfo *self, FunctionID function,
	COR_PRF_FRAME_INFO frame, ClassID *class_id, ModuleID *module, mdToken *token, uint32_t cap,
	uint32_t *n, ClassID *args)
{
	(void)self;
	(void)function;
	(void)frame;
	(void)cap;
	(void)args;
	*class_id = 2;
	*module = 3;
	*token = 4;
	*n = 0;
	return runtime.of_method;
}

HRESULT __wrap_dnp_class_name(const struct dnp_info *info, ClassID class_id, struct dnp_text *name);

HRESULT __wrap_dnp_class_name(const struct dnp_info *info, ClassID class_id, struct dnp_text *name)
{
	(void)info;
	(void)class_id;
	if (SUCCEEDED(runtime.of_class))
		dnp_text_puts(name, runtime.class_name);
	return runtime.of_class;
}

/* ---- The thread that throws */

static bool is_left_out; /* the topmost managed frame, of the stack of the last exception */

void __wrap_dnp_happened(
	const struct dnp_engine_setting *setting, const struct dnp_happening *happening);
uint64_t __wrap_dnp_catches_thrown(uintptr_t object, uintptr_t class_id);
void __wrap_dnp_catches_search(void);

void __wrap_dnp_happened(
	const struct dnp_engine_setting *setting, const struct dnp_happening *happening)
{
	(void)setting;
	is_left_out = happening->tells(TOP);
}

uint64_t __wrap_dnp_catches_thrown(uintptr_t object, uintptr_t class_id)
{
	(void)object;
	(void)class_id;
	return 1;
}

void __wrap_dnp_catches_search(void)
{
}

static void start(void)
{
	static const struct ICorProfilerInfoVtbl vtbl = {
		.GetFunctionFromIP = function_of, .GetFunctionInfo2 = method_info};
	static ICorProfilerInfo com = {&vtbl};
	static struct dnp_info info = {.com = &com, .version = 15};
	static const struct dnp_agent_options options = {.interval_ns = 1};
	static const struct dnp_engine_setting setting = {
		.info = &info, .options = &options, .is_ours = is_ours, .thread = thread_of};
	struct dnp_err err;

	dnp_threads_init(16, DNP_EVENTS_MAX);
	if (dnp_engine_exception.start(&setting, 0, &err))
		FAIL("%s", err.text);
}

static void throw_one(void)
{
	dnp_engine_exception.thrown(0);
}

static void stop(void)
{
	dnp_engine_exception.stop();
	dnp_engine_exception.forget();
}

/* Each of the questions fails once. */
TEST(who_looks_for_a_catch_is_asked_again_where_the_runtime_did_not_say)
{
	HRESULT *const failing[] = {&runtime.of_address, &runtime.of_method, &runtime.of_class};

	start();
	for (unsigned i = 0; i < DNP_ARRAY_SIZE(failing); i++) {
		*failing[i] = E_FAIL;
		throw_one();
		CHECK(!is_left_out);
		CHECK_EQ(runtime.asked, i + 1);
		*failing[i] = S_OK;
	}
	throw_one();
	CHECK(is_left_out);
	throw_one();
	CHECK(is_left_out);
	CHECK_EQ(runtime.asked, DNP_ARRAY_SIZE(failing) + 1);
	stop();
}

TEST(who_looks_for_a_catch_is_asked_once_where_it_is_not_managed_code)
{
	start();
	runtime.class_name = "App.Program";
	throw_one();
	CHECK(!is_left_out);
	runtime.class_name = "System.Runtime.EH";
	throw_one();
	CHECK(!is_left_out);
	CHECK_EQ(runtime.asked, 1);
	stop();
}
