/* SPDX-License-Identifier: MIT */
#include "agent/engines.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "agent/agent.h"
#include "agent/events.h"
#include "agent/methods.h"
#include "agent/pipe.h"
#include "base/framework.h"
#include "clr/hresult.h"
#include "clr/names.h"
#include "os/thread.h"

/*
 * What engines hold on to. Hooks are never taken back: the first recording that had some keeps the
 * first of these, and all later ones use the second.
 */
static struct {
	struct dnp_agent_options options;
	struct dnp_engine_setting setting;
} given[2];

static unsigned chosen;                                  /* of `given` */
static const struct dnp_engine *engines[DNP_EVENTS_MAX]; /* by event index */
static unsigned n_engines;

/* Those that have hooks, or are told for good of what happens; NULL: no more ever had. */
#define HOOKED_MAX 2
static _Atomic(const struct dnp_engine *) hooked[HOOKED_MAX];

const struct dnp_agent_options *dnp_engines_options(void)
{
	return &given[chosen].options;
}

const struct dnp_engine *dnp_engines_get(unsigned i)
{
	return i < n_engines ? engines[i] : NULL;
}

unsigned dnp_engines_count(void)
{
	return n_engines;
}

bool dnp_engines_walk(void)
{
	for (unsigned i = 0; i < n_engines; i++)
		if (engines[i]->walks)
			return true;
	return false;
}

bool dnp_engines_at_once(void)
{
	for (unsigned i = 0; i < n_engines; i++)
		if (engines[i]->at_once && engines[i]->at_once())
			return true;
	return false;
}

bool dnp_engines_only_happen(void)
{
	for (unsigned i = 0; i < n_engines; i++)
		if (!engines[i]->happens)
			return false;
	return true;
}

bool dnp_engines_tell_threads(void)
{
	for (unsigned i = 0; i < n_engines; i++)
		if (engines[i]->tells_threads && engines[i]->tells_threads())
			return true;
	return false;
}

bool dnp_engines_need_managed(void)
{
	for (unsigned i = 0; i < n_engines; i++)
		if (engines[i]->needs_managed)
			return true;
	return false;
}

/* ---- Which */

/* False: there is no room for it. */
static bool add(const struct dnp_engine *engine)
{
	if (n_engines == DNP_EVENTS_MAX)
		return false;
	engines[n_engines++] = engine;
	return true;
}

static bool add_companion(
	const struct dnp_engine *companion, const struct dnp_agent_options *options)
{
	if (!companion || (companion->accompanies && !companion->accompanies(options)))
		return true;
	return add(companion);
}

int dnp_engines_choose(
	const struct dnp_agent_options *options, bool at_startup, struct dnp_err *err)
{
	struct dnp_str rest, event;

	chosen = atomic_load(&hooked[0]) != NULL;
	given[chosen].options = *options;
	rest = dnp_str(given[chosen].options.event);
	n_engines = 0;
	while (dnp_str_cut(&rest, ',', &event)) {
		const struct dnp_engine *engine =
			dnp_engine_find(event, options->engine, options->alloc_exact);

		if (!engine)
			return dnp_err(err, -EINVAL, "'%.*s' cannot be recorded in this way",
				(int)event.n, event.p);
		if (!add(engine) || !add_companion(engine->companion, options))
			return dnp_err(err, -EINVAL,
				"'%.*s' cannot be recorded: a recording holds %d events, and "
				"all are taken",
				(int)event.n, event.p, DNP_EVENTS_MAX);
	}
	if (!n_engines && !at_startup)
		return dnp_err(err, -EINVAL, "the request: says not what to record");
	return 0;
}

static void wanted(uint32_t *low, uint32_t *high)
{
	*low = COR_PRF_MONITOR_THREADS | COR_PRF_MONITOR_MODULE_LOADS |
		COR_PRF_MONITOR_JIT_COMPILATION;
	*high = COR_PRF_HIGH_MONITOR_DYNAMIC_FUNCTION_UNLOADS | COR_PRF_HIGH_BASIC_GC;
	for (unsigned i = 0; i < n_engines; i++) {
		*low |= engines[i]->events_low;
		if (engines[i]->wishes)
			*high |= COR_PRF_HIGH_MONITOR_EVENT_PIPE;
		if (engines[i]->events)
			engines[i]->events(dnp_engines_options(), low, high);
	}
}

static uint32_t own_code_events(void)
{
	uint32_t low = 0;

	for (unsigned i = 0; i < n_engines; i++)
		low |= engines[i]->own_code_events;
	return low;
}

static int refuse(HRESULT hr, struct dnp_err *err)
{
	const char *event = dnp_engines_options()->event;

	return dnp_err(err, -EOPNOTSUPP,
		"'%s' cannot be recorded in a program that runs already: %s (0x%08x); start it "
		"with 'dnprof run -e %s'",
		event, dnp_hresult_name(hr), (unsigned)hr, event);
}

int dnp_engines_events(bool at_startup, struct dnp_err *err)
{
	uint32_t low, high;
	HRESULT hr;

	wanted(&low, &high);
	if (!at_startup && !dnp_events_allowed_late(low | own_code_events(), high))
		return refuse(CORPROF_E_UNSUPPORTED_FOR_ATTACHING_PROFILER, err);
	hr = dnp_events_set(low, high);
	if (FAILED(hr))
		return dnp_err(err, -EINVAL,
			"the runtime refuses the events that dnprof needs: %s (0x%08x)",
			dnp_hresult_name(hr), (unsigned)hr);
	return 0;
}

void dnp_engines_loading(ModuleID module)
{
	uint32_t low = own_code_events();
	char buffer[1024];
	struct dnp_text path;

	if (!low)
		return;
	dnp_text_init(&path, buffer, sizeof(buffer));
	dnp_module_path(&dnp_agent.info, module, &path);
	if (!dnp_framework_has((struct dnp_str){0}, dnp_text_since(&path, 0)))
		dnp_events_add(low);
}

/* ---- Start and stop */

/* The first `n`: they have threads of their own, perhaps, and this library may be unloaded. */
static void stop(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		engines[i]->stop();
}

static bool has_hooks(const struct dnp_engine *engine)
{
	return engine->unwound || engine->transition;
}

static void keep_hooked(const struct dnp_engine *engine)
{
	unsigned i = 0;

	while (atomic_load(&hooked[i]) && atomic_load(&hooked[i]) != engine)
		i++;
	atomic_store(&hooked[i], engine);
}

int dnp_engines_start(const struct dnp_engine_setting *offered, struct dnp_err *err)
{
	struct dnp_engine_setting *setting = &given[chosen].setting, made = *offered;

	made.options = &given[chosen].options;
	made.info = &dnp_agent.info;
	made.runtime = (unsigned)strtoul(dnp_agent.runtime, NULL, 10);
	made.thread = dnp_engines_thread;
	made.is_ours = dnp_thread_is_own;
	made.own_id = dnp_agent_own_id;
	made.traced = dnp_methods_traced;
	made.reserve = dnp_methods_reserve;
	made.exact = dnp_methods_exact;
	*setting = made; /* at once: hooks of earlier recordings may look at it */
	for (unsigned i = 0; i < n_engines; i++) {
		int failed;

		if (has_hooks(engines[i]))
			keep_hooked(engines[i]);
		failed = engines[i]->start(setting, i, err);
		if (failed) {
			stop(i);
			return failed;
		}
	}
	return 0;
}

int dnp_engines_listen(void (*meanwhile)(void), struct dnp_err *err)
{
	struct dnp_provider_wish wishes[DNP_PROVIDERS] = {0};
	int failed;

	for (unsigned i = 0; i < n_engines; i++)
		if (engines[i]->wishes)
			engines[i]->wishes(wishes);
	failed = dnp_pipe_start(wishes, dnp_engines_options()->event, meanwhile, err);
	if (failed)
		stop(n_engines);
	return failed;
}

void dnp_engines_stop(void)
{
	dnp_pipe_stop();
	stop(n_engines);
}

void dnp_engines_forget(void)
{
	for (unsigned i = 0; i < n_engines; i++)
		if (engines[i]->forget)
			engines[i]->forget();
	n_engines = 0;
}

/* ---- What happens */

struct dnp_thread *dnp_engines_thread(int tid, int before)
{
	int is_new;
	struct dnp_thread *thread = dnp_thread_begin(tid, &is_new);

	if (thread && is_new) {
		if (before) {
			atomic_fetch_or(&thread->flags, DNP_THREAD_LATE);
			/* It has one, and may be gone when it is announced. */
			dnp_thread_name(tid, thread->name, sizeof(thread->name));
		}
		for (unsigned i = 0; i < n_engines; i++)
			if (engines[i]->thread_begin)
				engines[i]->thread_begin(thread);
	}
	return thread;
}

void dnp_engines_managed_begin(ThreadID id, struct dnp_thread *thread)
{
	for (unsigned i = 0; i < n_engines; i++)
		if (engines[i]->managed_begin)
			engines[i]->managed_begin(id, thread);
}

void dnp_engines_managed_end(ThreadID id, int tid)
{
	for (unsigned i = 0; i < n_engines; i++)
		if (engines[i]->managed_end)
			engines[i]->managed_end(id, tid);
}

void dnp_engines_delivered(const struct dnp_delivered *delivered)
{
	for (unsigned i = 0; i < n_engines; i++)
		if (engines[i]->delivered)
			engines[i]->delivered(delivered);
}

void dnp_engines_thrown(ObjectID object)
{
	for (unsigned i = 0; i < n_engines; i++)
		if (engines[i]->thrown)
			engines[i]->thrown(object);
}

void dnp_engines_handling(enum dnp_handling what, FunctionID function, ObjectID object)
{
	for (unsigned i = 0; i < n_engines; i++)
		if (engines[i]->handling)
			engines[i]->handling(what, function, object);
}

void dnp_engines_loaded(enum dnp_loaded what, uintptr_t id)
{
	for (unsigned i = 0; i < n_engines; i++)
		if (engines[i]->loaded)
			engines[i]->loaded(what, id);
}

void dnp_engines_suspending(COR_PRF_SUSPEND_REASON reason)
{
	for (unsigned i = 0; i < n_engines; i++)
		if (engines[i]->suspending)
			engines[i]->suspending(reason);
}

void dnp_engines_suspended(void)
{
	for (unsigned i = 0; i < n_engines; i++)
		if (engines[i]->suspended)
			engines[i]->suspended();
}

void dnp_engines_safepoint(ThreadID id)
{
	for (unsigned i = 0; i < n_engines; i++)
		if (engines[i]->safepoint)
			engines[i]->safepoint(id);
}

void dnp_engines_allocated(ObjectID object, ClassID class_id)
{
	for (unsigned i = 0; i < n_engines; i++)
		if (engines[i]->allocated)
			engines[i]->allocated(object, class_id);
}

/*
 * Hooks and what belongs to them stay until the program's end, also when nobody records them. The
 * next such engine, NULL: there is none; *i counts from 0.
 */
static const struct dnp_engine *next_hooked(unsigned *i)
{
	return *i < HOOKED_MAX ? atomic_load_explicit(&hooked[(*i)++], memory_order_relaxed) : NULL;
}

void dnp_engines_unloading(void)
{
	const struct dnp_engine *engine;

	for (unsigned i = 0; (engine = next_hooked(&i));)
		if (engine->unloading)
			engine->unloading();
}

void dnp_engines_forked(void)
{
	const struct dnp_engine *engine;

	for (unsigned i = 0; (engine = next_hooked(&i));)
		if (engine->forked)
			engine->forked();
	for (unsigned i = 0; i < n_engines; i++)
		if (!has_hooks(engines[i]) && engines[i]->forked)
			engines[i]->forked();
}

void dnp_engines_throwing(void)
{
	const struct dnp_engine *engine;

	for (unsigned i = 0; (engine = next_hooked(&i));)
		if (engine->throwing)
			engine->throwing();
}

void dnp_engines_unwinding(FunctionID function)
{
	const struct dnp_engine *engine;

	for (unsigned i = 0; (engine = next_hooked(&i));)
		if (engine->unwinding)
			engine->unwinding(function);
}

void dnp_engines_unwound(void)
{
	const struct dnp_engine *engine;

	for (unsigned i = 0; (engine = next_hooked(&i));)
		if (engine->unwound)
			engine->unwound();
}

void dnp_engines_in_finally(void)
{
	const struct dnp_engine *engine;

	for (unsigned i = 0; (engine = next_hooked(&i));)
		if (engine->in_finally)
			engine->in_finally();
}

void dnp_engines_caught(void)
{
	const struct dnp_engine *engine;

	for (unsigned i = 0; (engine = next_hooked(&i));)
		if (engine->caught)
			engine->caught();
}

void dnp_engines_filtering(FunctionID function)
{
	const struct dnp_engine *engine;

	for (unsigned i = 0; (engine = next_hooked(&i));)
		if (engine->filtering)
			engine->filtering(function);
}

void dnp_engines_transition(FunctionID function, int to_native, int back)
{
	const struct dnp_engine *engine;

	for (unsigned i = 0; (engine = next_hooked(&i));)
		if (engine->transition)
			engine->transition(function, to_native, back);
}

bool dnp_engines_may_inline(FunctionID function)
{
	const struct dnp_engine *engine;

	for (unsigned i = 0; (engine = next_hooked(&i));)
		if (engine->may_inline && !engine->may_inline(function))
			return false;
	return true;
}
