/* SPDX-License-Identifier: MIT */
/*
 * A method's number, which the map of code keeps, stands for its FunctionID and for the module that
 * it goes away with: its own, or one whose types a generic is made over.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "base/clean.h"
#include "base/pool.h"
#include "base/u64map.h"
#include "clr/codemap.h"
#include "clr/lifetime.h"
#include "clr/r2r.h"
#include "os/clock.h"
#include "unwind/code.h"
#include "unwind/managed.h"
#include "walker/walker.h"

struct method {
	_Atomic FunctionID function; /* 0: the number is not in use, or its method is dead */
	ModuleID dies_with;          /* 0: lasts */
	bool dead;
};

/* Not held across calls into the CLR, nor while anybody waits; never taken while gathering. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dnp_pool methods = {.entry_bytes = sizeof(struct method)};
static struct dnp_u64map by_function;

/* Held by who takes code away, from the first to the last step; taken before `lock`. */
static pthread_mutex_t retiring = PTHREAD_MUTEX_INITIALIZER;

static struct method *method_at(uint32_t number)
{
	return dnp_pool_at(&methods, number);
}

/* With the lock. */
static void free_number(uint32_t number)
{
	struct method *method = method_at(number);

	method->dies_with = 0;
	method->dead = false;
	dnp_pool_free(&methods, number);
}

static uint32_t number_of(FunctionID function, ModuleID dies_with)
{
	const uint32_t *known;
	uint32_t number;

	pthread_mutex_lock(&lock);
	known = dnp_u64map_get(&by_function, function);
	number = known ? *known : dnp_pool_new(&methods);
	if (number && !known && dnp_u64map_put(&by_function, function, number)) {
		free_number(number);
		number = 0;
	}
	if (number) {
		method_at(number)->dies_with = dies_with;
		atomic_store_explicit(&method_at(number)->function, function, memory_order_relaxed);
	}
	pthread_mutex_unlock(&lock);
	return number;
}

/*
 * The number comes out of the map, whose lock orders it behind what was written; and it is not
 * given again before gathering has ended.
 */
FunctionID dnp_walker_function(
	const struct dnprof_walker *walker, dnp_frame_word frame, uint64_t time_ns)
{
	uintptr_t ip = dnp_code_of_frame(frame);
	FunctionID function = 0;
	struct dnp_code code;

	switch (DNP_FRAME_KIND(frame)) {
	case DNP_WALK_JIT:
	case DNP_WALK_DYNAMIC:
		if (dnp_codemap_find_at(dnp_walk_codemap(), ip, time_ns, &code) && code.method)
			function = atomic_load_explicit(
				&method_at(code.method)->function, memory_order_relaxed);
		return function;
	case DNP_WALK_R2R:
		/* May be called anywhere, unlike its successors (dotnet/runtime, corprof.idl). */
		if (!dnp_code_frame_may_be_asked_for(frame) ||
			FAILED(dnp_com(walker->info.com, GetFunctionFromIP, (const uint8_t *)ip,
				&function)))
			return 0;
		dnp_code_frame_is_known(frame);
		return function;
	default: return 0;
	}
}

/* ---- What comes */

void dnp_walker_compiled(struct dnprof_walker *walker, FunctionID function, bool dynamic)
{
	ModuleID module = 0;
	uint32_t number;

	if (!dynamic)
		dnp_method_ends(&walker->info, function, &module);
	number = number_of(function, module);
	if (number)
		dnp_code_compiled(&walker->info, function, number, dynamic);
}

void dnp_walker_module(struct dnprof_walker *walker, ModuleID module)
{
	/* The runtime does not use precompiled code of modules that can go away. */
	if (!dnp_module_ends(&walker->info, module))
		dnp_code_module_loaded(&walker->info, module);
}

void dnprof_walker_method_compiled(dnprof_walker *walker, uint64_t function, int dynamic)
{
	if (walker && function)
		dnp_walker_compiled(walker, (FunctionID)function, dynamic);
}

void dnprof_walker_module_loaded(dnprof_walker *walker, uint64_t module)
{
	if (walker && module)
		dnp_walker_module(walker, (ModuleID)module);
}

/* ---- What goes */

/* With the lock: takes its code out of the map. */
static void bury(uint32_t number)
{
	struct method *method = method_at(number);

	dnp_u64map_remove(&by_function, method->function);
	atomic_store_explicit(&method->function, 0, memory_order_relaxed);
	method->dead = true;
	dnp_codemap_retire_method(dnp_walk_codemap(), number, dnp_now_ns());
}

/* Nobody reads the code of the buried any more when this returns. */
static void forget_buried(void)
{
	dnp_gather_settle();
	pthread_mutex_lock(&lock);
	for (uint32_t number = 1; number <= methods.n; number++)
		if (method_at(number)->dead)
			free_number(number);
	pthread_mutex_unlock(&lock);
}

/* The same for one method: what that takes does not grow with the number of others. */
static void forget_one(uint32_t number)
{
	dnp_gather_settle();
	pthread_mutex_lock(&lock);
	free_number(number);
	pthread_mutex_unlock(&lock);
}

void dnprof_walker_dynamic_method_unloaded(dnprof_walker *walker, uint64_t function)
{
	uint32_t *known, number = 0;

	if (!walker)
		return;
	pthread_mutex_lock(&retiring);
	pthread_mutex_lock(&lock);
	known = dnp_u64map_get(&by_function, function);
	if (known) {
		number = *known;
		bury(number);
	}
	pthread_mutex_unlock(&lock);
	if (number)
		forget_one(number);
	pthread_mutex_unlock(&retiring);
}

void dnprof_walker_module_unloading(dnprof_walker *walker, uint64_t module)
{
	bool any = false;

	if (!walker || !module)
		return;
	pthread_mutex_lock(&retiring);
	pthread_mutex_lock(&lock);
	for (uint32_t number = 1; number <= methods.n; number++) {
		if (method_at(number)->function && method_at(number)->dies_with == module) {
			bury(number);
			any = true;
		}
	}
	pthread_mutex_unlock(&lock);
	if (any)
		forget_buried();
	pthread_mutex_unlock(&retiring);
}

void dnp_walker_methods_done(void)
{
	dnp_pool_done(&methods);
	dnp_u64map_done(&by_function);
	by_function = (struct dnp_u64map){0};
	dnp_lifetime_forget();
}

void dnp_walker_functions(struct dnprof_walker *walker, struct dnp_gathered *gathered)
{
	uint64_t now_ns = dnp_now_ns();

	for (size_t i = 0; i < gathered->n; i++)
		gathered->functions[i] = dnp_walker_function(walker, gathered->frames[i], now_ns);
	gathered->time_ns = dnp_now_ns();
}

/* Precompiled code, and what the host has not told of, does not go away as far as is known. */
FunctionID dnp_walker_function_left(const struct dnp_gathered *gathered, size_t i)
{
	dnp_frame_word frame = gathered->frames[i];
	FunctionID function = gathered->functions[i];
	struct dnp_code code;
	unsigned ticket;

	if (!function ||
		(DNP_FRAME_KIND(frame) != DNP_WALK_JIT &&
			DNP_FRAME_KIND(frame) != DNP_WALK_DYNAMIC))
		return function;
	/* Meanwhile no number is given to another method. */
	ticket = dnp_gather_begin();
	if (!dnp_codemap_find_at(
		    dnp_walk_codemap(), dnp_code_of_frame(frame), gathered->time_ns, &code) ||
		code.born_ns > gathered->time_ns || !code.method ||
		!atomic_load_explicit(&method_at(code.method)->function, memory_order_relaxed))
		function = 0;
	dnp_gather_end(ticket);
	return function;
}
