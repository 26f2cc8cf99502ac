/* SPDX-License-Identifier: MIT */
#include "agent/knowledge.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "agent/agent.h"
#include "agent/allowed.h"
#include "agent/engines.h"
#include "agent/events.h"
#include "agent/finalizer.h"
#include "agent/methods.h"
#include "base/clean.h"
#include "base/u64map.h"
#include "base/vec.h"
#include "clr/hresult.h"
#include "clr/lifetime.h"
#include "clr/names.h"
#include "clr/r2r.h"
#include "os/clock.h"
#include "os/forks.h"
#include "os/generation.h"
#include "os/thread.h"
#include "store/labels.h"
#include "unwind/code.h"
#include "unwind/managed.h"

#define AT_ONCE 64u             /* elements that are taken out of a list at a time */
#define REST_NS UINT64_C(20000) /* between two looks whether something is over */
#define PATIENCE_NS                                                                                \
	UINT64_C(1000000000) /* at most so long an unloading is waited for, or waits               \
			      */
/*
 * At lists that change meanwhile, and for how long: nobody else is served, and the program's end
 * waits (agent/recorder.c).
 */
#define TRIES    10
#define TRIES_NS UINT64_C(3000000000)

/* ---- Modules and methods that were there before */

/*
 * The id of a method is an address in the runtime: once its module has begun to be unloaded it must
 * not be asked for. So an unloading makes the lists of modules and methods void, and waits for what
 * is asked for at that moment. One that began before we could be told of it is waited for before
 * the lists are made (agent/finalizer.h); and since the runtime keeps methods in its list for a
 * moment after their module has gone, only those are asked for whose module is in the other list.
 */
static _Atomic unsigned unloadings; /* that have begun */
static _Atomic int unfinished;      /* … and not ended */
static _Atomic bool asking;

/* Modules that are there: those that were listed, and what the runtime told of since. */
static pthread_mutex_t alive_lock = PTHREAD_MUTEX_INITIALIZER; /* a leaf */
static struct dnp_u64map alive;

static bool begin_alive(ModuleID module)
{
	int result;

	pthread_mutex_lock(&alive_lock);
	result = dnp_u64map_put(&alive, module, 1);
	pthread_mutex_unlock(&alive_lock);
	return !result;
}

static void end_alive(ModuleID module)
{
	pthread_mutex_lock(&alive_lock);
	dnp_u64map_remove(&alive, module);
	pthread_mutex_unlock(&alive_lock);
}

static bool module_is_alive(ModuleID module)
{
	bool there;

	pthread_mutex_lock(&alive_lock);
	there = dnp_u64map_get(&alive, module);
	pthread_mutex_unlock(&alive_lock);
	return there;
}

static void forget_alive(void)
{
	pthread_mutex_lock(&alive_lock);
	dnp_u64map_done(&alive);
	pthread_mutex_unlock(&alive_lock);
}

static void wait_while_asking(void)
{
	uint64_t until_ns = dnp_now_ns() + PATIENCE_NS;

	while (atomic_load(&asking) && dnp_now_ns() < until_ns)
		dnp_sleep_until_ns(dnp_now_ns() + REST_NS);
}

void dnp_knowledge_loaded(ModuleID module)
{
	/* Without memory its methods are not known before the runtime tells of them. */
	begin_alive(module);
}

/*
 * Sequentially consistent with ask: either we see that a method is asked for, or its asker sees
 * that it must not.
 */
void dnp_knowledge_unloading(ModuleID module)
{
	atomic_fetch_add(&unfinished, 1);
	atomic_fetch_add(&unloadings, 1);
	end_alive(module);
	wait_while_asking();
	dnp_labels_unloading(module);
}

void dnp_knowledge_unloaded(void)
{
	int before = atomic_load(&unfinished);

	/* One that had begun before we listened is not counted. */
	while (before > 0 && !atomic_compare_exchange_weak(&unfinished, &before, before - 1))
		;
}

static void wait_for_unloadings(void)
{
	uint64_t until_ns = dnp_now_ns() + PATIENCE_NS;

	while (atomic_load(&unfinished) > 0 && dnp_now_ns() < until_ns)
		dnp_sleep_until_ns(dnp_now_ns() + REST_NS);
}

/* False: what was listed is void. Else nothing of it is unloaded until end_asking. */
static bool begin_asking(unsigned listed)
{
	atomic_store(&asking, true);
	if (atomic_load(&unloadings) == listed)
		return true;
	atomic_store(&asking, false);
	return false;
}

static void end_asking(void)
{
	atomic_store(&asking, false);
}

/* ---- Types */

uint32_t dnp_knowledge_type_label(ClassID class_id, struct dnp_str name)
{
	return dnp_label_of_type(name, class_id, atomic_load(&unloadings));
}

/*
 * Labels of classes that the runtime was asked for. Of an object's class, in a callback about the
 * object, neither goes away meanwhile; but afterwards its ClassID may become another's, so an
 * unloading makes all of them void. A leaf lock.
 */
static pthread_mutex_t classes_lock = PTHREAD_MUTEX_INITIALIZER;
static struct dnp_u64map classes; /* ClassID → label */
static unsigned classes_as_of;    /* of `unloadings` */

static void forget_classes(void)
{
	pthread_mutex_lock(&classes_lock);
	dnp_u64map_done(&classes);
	pthread_mutex_unlock(&classes_lock);
}

/* False: not known yet. */
static bool find_class(ClassID class_id, unsigned now, uint32_t *label)
{
	const uint32_t *found;

	pthread_mutex_lock(&classes_lock);
	if (classes_as_of != now) {
		dnp_u64map_done(&classes);
		classes_as_of = now;
	}
	found = dnp_u64map_get(&classes, class_id);
	if (found)
		*label = *found;
	pthread_mutex_unlock(&classes_lock);
	return found;
}

/* Without memory it is asked for again. */
static void keep_class(ClassID class_id, unsigned as_of, uint32_t label)
{
	pthread_mutex_lock(&classes_lock);
	if (classes_as_of == as_of)
		dnp_u64map_put(&classes, class_id, label);
	pthread_mutex_unlock(&classes_lock);
}

uint32_t dnp_knowledge_class_label(ClassID class_id)
{
	unsigned now = atomic_load(&unloadings);
	char buffer[DNP_LABEL_BYTES_MAX];
	struct dnp_text name;
	uint32_t label;

	if (find_class(class_id, now, &label))
		return label;
	dnp_text_init(&name, buffer, sizeof(buffer));
	if (FAILED(dnp_class_name(&dnp_agent.info, class_id, &name)))
		return dnp_label(dnp_str("[unknown type]"));
	label = dnp_label(dnp_text_since(&name, 0));
	keep_class(class_id, now, label);
	return label;
}

/*
 * False: it may be unloaded by now. Else it is not before end_asking, and who finds the label for
 * what comes in its place finds that it has passed.
 */
static bool ask_type(uint32_t number, const struct dnp_label *label, struct dnp_text *text)
{
	size_t from = text->n;
	ModuleID with;
	bool passes;
	HRESULT hr;

	if (!label->type || !begin_asking(label->unloadings))
		return false;
	dnp_forks_hold();
	hr = dnp_class_name(&dnp_agent.info, label->type, text);
	passes = hr == S_OK && !dnp_str_eq(dnp_text_since(text, from), label->text) &&
		dnp_class_ends_with(&dnp_agent.info, label->type, &with);
	dnp_forks_release();
	if (passes)
		dnp_label_passes(number, with);
	end_asking();
	return hr == S_OK;
}

void dnp_knowledge_label(uint32_t number, struct dnp_text *text)
{
	struct dnp_label label = dnp_label_get(number);
	size_t from = text->n;

	if (ask_type(number, &label, text))
		return;
	dnp_text_rewind(text, from); /* what the runtime knows of it may be a part alone */
	dnp_text_put(text, label.text);
}

/* ---- Methods that were there before */

/* Whether it is a method of a module that is there; one without metadata is of none. */
static bool is_alive(FunctionID function, bool *dynamic)
{
	uint32_t n_type_args = 0;
	ModuleID module = 0;
	mdToken token = 0;
	ClassID class;

	*dynamic = FAILED(dnp_com(dnp_agent.info.com, GetFunctionInfo2, function, 0, &class,
			   &module, &token, 0, &n_type_args, NULL)) ||
		!(token & 0xffffff);
	return *dynamic || module_is_alive(module);
}

/* False: the list that it comes from is void. */
static bool ask(FunctionID function, unsigned listed)
{
	bool dynamic;

	if (!begin_asking(listed))
		return false;
	dnp_forks_hold();
	if (is_alive(function, &dynamic))
		dnp_methods_compiled(function, dynamic);
	dnp_forks_release();
	end_asking();
	return true;
}

/* False: it has changed meanwhile. */
static bool ask_all(ICorProfilerFunctionEnum *list, unsigned listed)
{
	COR_PRF_FUNCTION functions[AT_ONCE];
	uint32_t n = 0;

	while (SUCCEEDED(dnp_com(list, Next, AT_ONCE, functions, &n)) && n) {
		for (uint32_t i = 0; i < n; i++)
			if (!ask(functions[i].functionId, listed))
				return false;
		if (n < AT_ONCE)
			break;
	}
	return true;
}

static bool learn_methods(unsigned listed)
{
	ICorProfilerFunctionEnum *list = NULL;
	bool whole;
	HRESULT hr;

	dnp_forks_hold();
	hr = dnp_com(dnp_agent.info.com, EnumJITedFunctions2, &list);
	dnp_forks_release();
	if (FAILED(hr))
		return true;
	whole = ask_all(list, listed);
	dnp_com(list, Release);
	return whole;
}

static bool ask_for_module(ModuleID module, unsigned listed)
{
	if (!begin_asking(listed))
		return false;
	dnp_forks_hold();
	dnp_methods_module_loaded(module);
	dnp_forks_release();
	end_asking();
	return begin_alive(module);
}

static bool ask_for_modules(ICorProfilerModuleEnum *list, unsigned listed)
{
	ModuleID modules[AT_ONCE];
	uint32_t n = 0;

	while (SUCCEEDED(dnp_com(list, Next, AT_ONCE, modules, &n)) && n) {
		for (uint32_t i = 0; i < n; i++)
			if (!ask_for_module(modules[i], listed))
				return false;
		if (n < AT_ONCE)
			break;
	}
	return true;
}

static bool learn_modules(unsigned listed)
{
	ICorProfilerModuleEnum *list = NULL;
	bool whole;
	HRESULT hr;

	forget_alive();
	dnp_forks_hold();
	hr = dnp_com(dnp_agent.info.com, EnumModules, &list);
	dnp_forks_release();
	if (FAILED(hr))
		return true;
	whole = ask_for_modules(list, listed);
	dnp_com(list, Release);
	return whole;
}

/* False: something was unloaded meanwhile. */
static bool learn(void)
{
	unsigned listed;

	wait_for_unloadings();
	listed = atomic_load(&unloadings);
	/* If it works for so long, it is not any more what it was at when we came. */
	dnp_finalizer_rests(PATIENCE_NS);
	return learn_modules(listed) && learn_methods(listed);
}

enum dnp_knowledge_of dnp_knowledge_ask(uintptr_t pc)
{
	unsigned listed = atomic_load(&unloadings);
	FunctionID function = 0;
	ReJITID rejit;
	HRESULT hr;

	/* What is being unloaded at this moment may be what is at `pc`. */
	if (atomic_load(&unfinished) > 0 || !dnp_code_may_be_asked_for(pc))
		return DNP_KNOWLEDGE_NONE;
	dnp_forks_hold();
	hr = dnp_com(
		dnp_agent.info.com, GetFunctionFromIP3, (const uint8_t *)pc, &function, &rejit);
	dnp_forks_release();
	if (FAILED(hr) || !function)
		return DNP_KNOWLEDGE_STUB;
	return ask(function, listed) ? DNP_KNOWLEDGE_METHOD : DNP_KNOWLEDGE_NONE;
}

/* ---- Begin and end */

int dnp_knowledge_begin(bool at_startup, struct dnp_err *err)
{
	uint64_t until_ns;

	if (!dnp_walk_codemap())
		return dnp_err(err, -ENOMEM, "no memory for the map of managed code");
	dnp_allowed_set(DNP_ALLOWED_CODE);
	if (at_startup)
		return 0;
	until_ns = dnp_now_ns() + TRIES_NS;
	for (unsigned i = 0; i < TRIES && !learn() && dnp_now_ns() < until_ns; i++)
		;
	return 0;
}

void dnp_knowledge_end(void)
{
	dnp_events_set(COR_PRF_MONITOR_NONE, COR_PRF_HIGH_MONITOR_NONE);
	dnp_allowed_set(DNP_ALLOWED_NONE);
	atomic_store(&unfinished, 0);
	dnp_methods_forget();
	dnp_walk_codemap_done();
	dnp_r2r_done();
	forget_alive();
	forget_classes();
	dnp_generation_bump();
}

/* ---- Threads that were there before */

/* Those that have ended since the list was made. A leaf lock but for the engines' own. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dnp_vec_of(ThreadID) ended;
static bool listing;

void dnp_knowledge_thread_ends(ThreadID thread)
{
	pthread_mutex_lock(&lock);
	/* Without memory none of those that follow can be trusted. */
	if (listing && dnp_vec_push(&ended, thread))
		listing = false;
	pthread_mutex_unlock(&lock);
}

static bool has_ended(ThreadID thread)
{
	for (size_t i = 0; i < ended.n; i++)
		if (ended.p[i] == thread)
			return true;
	return !listing;
}

/*
 * With the lock, so that it cannot end meanwhile: what the runtime is asked for here it reads from
 * the thread's object, without a lock of its own.
 */
static void begin_thread(ThreadID managed)
{
	int tid = dnp_agent_tid(managed);
	struct dnp_thread *thread;

	if (!tid || !dnp_thread_exists(tid))
		return;
	thread = dnp_engines_thread(tid, 1);
	if (!thread)
		return;
	atomic_fetch_or(&thread->flags, DNP_THREAD_MANAGED);
	atomic_store_explicit(&thread->managed, managed, memory_order_relaxed);
	dnp_engines_managed_begin(managed, thread);
}

static void begin_threads(ICorProfilerThreadEnum *list)
{
	ThreadID threads[AT_ONCE];
	uint32_t n = 0;

	while (SUCCEEDED(dnp_com(list, Next, AT_ONCE, threads, &n)) && n) {
		for (uint32_t i = 0; i < n; i++) {
			pthread_mutex_lock(&lock);
			if (!has_ended(threads[i]))
				begin_thread(threads[i]);
			pthread_mutex_unlock(&lock);
		}
		if (n < AT_ONCE)
			break;
	}
}

static void list_threads(bool on)
{
	pthread_mutex_lock(&lock);
	listing = on;
	dnp_vec_done(&ended);
	pthread_mutex_unlock(&lock);
}

/*
 * The runtime makes its list only while no thread is suspended: of a program that hangs in a
 * collection it would never come. So only who cannot do without asks for it.
 */
void dnp_knowledge_threads(bool at_startup)
{
	ICorProfilerThreadEnum *list = NULL;
	bool wanted = !at_startup && dnp_engines_need_managed();
	HRESULT hr;

	list_threads(wanted);
	dnp_allowed_set(DNP_ALLOWED_CODE | DNP_ALLOWED_THREADS);
	if (!wanted)
		return;
	dnp_forks_hold();
	hr = dnp_com(dnp_agent.info.com, EnumThreads, &list);
	dnp_forks_release();
	if (SUCCEEDED(hr)) {
		begin_threads(list);
		dnp_com(list, Release);
	}
	list_threads(false);
}
