/* SPDX-License-Identifier: MIT */
/*
 * The engine that counts calls, driven as by the runtime and the recorder. The runtime is a few
 * functions that answer.
 */
#include <pthread.h>
#include <stdio.h>

#include "capture/call_times.h"
#include "capture/calls.h"
#include "capture/engine.h"
#include "clr/hresult.h"
#include "clr/info.h"
#include "format/agent_options.h"
#include "os/clock.h"
#include "os/thread.h"
#include "os/ticks.h"
#include "test.h"

#define EVENT 3
#define TOP   ((uintptr_t)0x7fff00000000) /* where the stack of these tests begins */

static const struct dnp_engine *const trace = &dnp_engine_trace;

/* ---- The runtime */

static HRESULT DNP_COM set_mapper(ICorProfilerInfo *self, FunctionIDMapper2 *map, void *data)
{
	(void)self;
	(void)map;
	(void)data;
	return S_OK;
}

static HRESULT DNP_COM set_hooks(ICorProfilerInfo *self, FunctionEnter3 *enter,
	FunctionLeave3 *leave, FunctionTailcall3 *tailcall)
{
	(void)self;
	(void)enter;
	(void)leave;
	(void)tailcall;
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

static HRESULT DNP_COM clause_of(ICorProfilerInfo *self, COR_PRF_EX_CLAUSE_INFO *clause)
{
	(void)self;
	*clause = (COR_PRF_EX_CLAUSE_INFO){.framePointer = TOP - 1024};
	return S_OK;
}

static HRESULT DNP_COM function_info(ICorProfilerInfo *self, FunctionID function,
	COR_PRF_FRAME_INFO frame, ClassID *class_id, ModuleID *module, mdToken *token, uint32_t cap,
	uint32_t *n, ClassID *args)
{
	(void)self;
	(void)function;
	(void)frame;
	(void)cap;
	(void)args;
	*class_id = *module = 1;
	*token = 1;
	*n = 0;
	return S_OK;
}

/* ---- The system */

static _Thread_local unsigned locks; /* that this thread has asked for */

int __real_pthread_mutex_lock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_lock(pthread_mutex_t *lock);

int __wrap_pthread_mutex_lock(pthread_mutex_t *lock)
{
	locks++;
	return __real_pthread_mutex_lock(lock);
}

/* ---- The agent */

static int is_ours(int tid)
{
	(void)tid;
	return 0;
}

static struct dnp_thread *thread_of(int tid, int before)
{
	int is_new;

	(void)before;
	return dnp_thread_begin(tid, &is_new);
}

static uint32_t next_number = 100; /* of the next method that is asked for */

static uint32_t number_of(uintptr_t function)
{
	(void)function;
	return next_number++;
}

static struct dnp_writer writer;

static void start_with(enum dnp_calls_choice depth)
{
	static const struct ICorProfilerInfoVtbl vtbl = {
		.SetFunctionIDMapper2 = set_mapper,
		.SetEnterLeaveFunctionHooks3 = set_hooks,
		.GetRuntimeInformation = version,
		.GetNotifiedExceptionClauseInfo = clause_of,
		.GetFunctionInfo2 = function_info,
	};
	static ICorProfilerInfo com = {&vtbl};
	static struct dnp_info info = {.com = &com, .version = 15};
	static struct dnp_agent_options options = {.framework = true, .transitions = true};
	static const struct dnp_engine_setting setting = {
		.info = &info,
		.options = &options,
		.is_ours = is_ours,
		.thread = thread_of,
		.traced = number_of,
	};

	options.calls = depth;
	dnp_threads_init(16, DNP_EVENTS_MAX);
	CHECK_EQ(dnp_writer_open(&writer, fileno(tmpfile()), 1), 0);
	CHECK_EQ(trace->start(&setting, EVENT, NULL), 0);
	for (uint32_t i = 1; i < 10; i++)
		dnp_call_methods[i] = (struct dnp_call_method){.number = i, .function = 0x1000 + i};
	trace->write(&writer, 0);
}

static void start(void)
{
	start_with(DNP_CALLS_TREE);
}

static void stop(void)
{
	trace->stop();
	dnp_writer_close(&writer);
}

/* ---- What compiled methods do */

static void enter(uint32_t method, uintptr_t sp)
{
	dnp_calls_enter_miss(&dnp_call_methods[method], sp);
}

/* ---- Threads with the same number */

/* From now on this is another thread with the number of the one before. */
static void be_another(void)
{
	dnp_calls_own = NULL;
}

static void tell_end(uint64_t gone_ns)
{
	struct dnp_thread *thread = dnp_thread_find(dnp_thread_id());

	CHECK(thread);
	thread->gone_ns = gone_ns;
	trace->thread_end(thread);
	dnp_thread_release(thread);
}

/* Its first hook ran before it was noticed that the one before has gone. */
TEST(state_of_a_thread_that_lives_stays_its_own)
{
	struct dnp_calls *calls;
	uint64_t gone_ns;

	start();
	enter(1, TOP);
	calls = dnp_calls_own;
	gone_ns = dnp_now_ns();
	be_another();
	enter(2, TOP);
	enter(3, TOP - 64);
	CHECK(dnp_calls_own == calls);
	tell_end(gone_ns);
	CHECK_EQ(calls->tid, dnp_thread_id());
	CHECK_EQ(dnp_calls_open_now(calls), 2);
	dnp_calls_leave_miss(TOP - 64);
	dnp_calls_leave_miss(TOP);
	CHECK_EQ(calls->leaves, 2);
	/* When it has gone, too, it is known by another record. */
	CHECK(thread_of(dnp_thread_id(), 0));
	tell_end(dnp_now_ns() + 1);
	CHECK_EQ(calls->tid, 0);
	stop();
}

/* What was told as one thread's calls does not go on as another's. */
TEST(state_is_not_continued_with_another_record)
{
	struct dnp_calls *calls;

	start();
	enter(1, TOP);
	calls = dnp_calls_own;
	trace->write(&writer, 1);
	dnp_thread_release(dnp_thread_find(dnp_thread_id()));
	be_another();
	enter(2, TOP);
	CHECK(dnp_calls_own != calls && dnp_calls_own->thread != calls->thread);
	CHECK_EQ(dnp_calls_own->n_nodes, 2);
	tell_end(dnp_now_ns() + 1);
	CHECK(!calls->tid && !dnp_calls_own->tid);
	stop();
}

/* CPU time that the sampler has found of the thread of a state. */
static uint64_t seen_ns(const struct dnp_calls *calls)
{
	uint64_t ns;

	dnp_call_times_lock();
	ns = calls->seen_cpu_ns;
	dnp_call_times_unlock();
	return ns;
}

/* Runs until it is found that this thread has. */
static void run_until_seen(void)
{
	uint64_t before = seen_ns(dnp_calls_own);

	while (seen_ns(dnp_calls_own) == before)
		continue;
}

/* Nobody has noticed yet that the one before has gone. */
TEST(thread_that_has_gone_takes_no_time_of_another_with_its_number)
{
	struct dnp_calls *gone;
	uint64_t before;

	start();
	enter(1, TOP);
	gone = dnp_calls_own;
	dnp_thread_release(dnp_thread_find(dnp_thread_id()));
	be_another();
	enter(2, TOP);
	CHECK(dnp_calls_own != gone && gone->tid == dnp_calls_own->tid);
	before = seen_ns(gone);
	for (int i = 0; i < 3; i++)
		run_until_seen();
	CHECK_EQ(seen_ns(gone), before);
	/* What it has called is told when the other one ends at the latest. */
	tell_end(dnp_now_ns() + 1);
	CHECK(!gone->tid && gone->told_calls == 1);
	stop();
}

/* ---- Copies of the recording */

static uint64_t told_total(void)
{
	return dnp_call_told_of(dnp_calls_own, 1)->total;
}

/* The thread makes no other call, and ends none. */
TEST(copy_has_the_time_of_a_call_that_goes_on)
{
	uint64_t before;

	if (!dnp_ticks_steady())
		SKIP("the time stamp counter of this processor is not steady");
	start_with(DNP_CALLS_TIME);
	enter(1, TOP);
	trace->hurry();
	trace->write(&writer, 0);
	before = told_total();
	CHECK(before);
	trace->hurry();
	trace->write(&writer, 0);
	CHECK(told_total() > before);
	before = told_total();
	trace->write(&writer, 0); /* which nobody waits for */
	CHECK_EQ(told_total(), before);
	stop();
}

/* ---- Forked children */

#define NATIVE 0x2000 /* a function */

static void call_native(void)
{
	trace->transition(NATIVE, true, false);
	trace->transition(NATIVE, false, true);
}

/* An exception that a function throws ends it, and is caught by its caller. */
static void throw(uintptr_t function)
{
	trace->throwing();
	trace->unwinding(function);
	trace->in_finally();
	trace->unwound();
	trace->unwinding(function + 1);
	trace->caught();
	trace->filtering(function);
	trace->filtering(0);
	trace->unloading();
}

/*
 * It may have forked amid a call to native code that is still open, while another thread had any of
 * the locks.
 */
TEST(forked_child_waits_for_no_lock)
{
	unsigned before;

	start();
	call_native();
	for (uint32_t i = 1; i < 5; i++)
		enter(i, TOP - 64 * i);
	trace->transition(NATIVE, true, false);
	before = locks;
	call_native();
	CHECK(locks > before);
	trace->forked();
	before = locks;
	trace->transition(NATIVE, false, true);
	call_native();
	throw(0x1000 + 4);
	/* Deeper than there is memory for. */
	for (uint32_t i = 0; i < 10000; i++)
		enter(1, TOP - 1024 - 64 * i);
	be_another();
	enter(1, TOP);
	call_native();
	CHECK(!dnp_calls_own);
	CHECK_EQ(locks, before);
	stop();
}

/* ---- Code that is unloaded */

static uint32_t innermost_method(void)
{
	const struct dnp_calls *calls = dnp_calls_own;
	const struct dnp_call_node *node = calls->top->node;

	return dnp_call_method_of(calls, dnp_call_index_of(calls, node))->number;
}

static uint32_t called_native(void)
{
	uint32_t method;

	trace->transition(NATIVE, true, false);
	method = innermost_method();
	trace->transition(NATIVE, false, true);
	CHECK_EQ(dnp_calls_open_now(dnp_calls_own), 0);
	return method;
}

/* Another method may be where one was that native code stood behind. */
TEST(native_method_in_place_of_an_unloaded_one_is_another)
{
	uint32_t first;

	start();
	first = called_native();
	CHECK_EQ(called_native(), first);
	trace->unloading();
	CHECK_EQ(called_native(), first + 1);
	CHECK_EQ(called_native(), first + 1);
	stop();
}

/* One that is open has not gone, whatever else has. */
TEST(native_call_ends_as_it_began_where_others_are_unloaded)
{
	start();
	trace->transition(NATIVE, true, false);
	trace->unloading();
	trace->transition(NATIVE, false, true);
	CHECK_EQ(dnp_calls_open_now(dnp_calls_own), 0);
	CHECK_EQ(dnp_calls_own->leaves, 1);
	stop();
}
