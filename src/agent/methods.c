/* SPDX-License-Identifier: MIT */
#include "agent/methods.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/clean.h"
#include "base/pool.h"
#include "base/u64map.h"
#include "base/vec.h"
#include "clr/codemap.h"
#include "clr/hresult.h"
#include "clr/lifetime.h"
#include "clr/names.h"
#include "format/rec.h"
#include "os/clock.h"
#include "os/forks.h"
#include "unwind/code.h"
#include "unwind/managed.h"

struct method {
	FunctionID function;
	ModuleID module;    /* eager: that it goes away with; else 0 */
	char *name;         /* owned: raw name, a zero, module; NULL: ask the runtime */
	uint64_t died_ns;   /* the runtime freed it, 0: it lives */
	uint32_t frame[2];  /* the recorder's: frame indices, compiled at run time and ahead */
	uint32_t next_dead; /* in their queue */
	mdToken token;
	unsigned flags; /* enum dnp_frame_flags */
	bool eager;     /* may be freed by the runtime: never ask it again */
	bool traced;    /* stands in the recording by its number */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dnp_pool methods = {.entry_bytes = sizeof(struct method)};
static struct dnp_u64map by_function;
static uint32_t first_dead, last_dead;
static struct dnp_vec_of(uint32_t) untold; /* traced methods that the recording does not know */
static size_t name_bytes;

static struct method *method_at(uint32_t number)
{
	return dnp_pool_at(&methods, number);
}

/* With the lock. 0: no memory. */
static uint32_t add(FunctionID function)
{
	uint32_t number = dnp_pool_new(&methods);

	if (!number || dnp_u64map_put(&by_function, function, number))
		return 0;
	*method_at(number) = (struct method){.function = function};
	return number;
}

uint32_t dnp_methods_number(FunctionID function)
{
	uint32_t *known, number;

	pthread_mutex_lock(&lock);
	known = dnp_u64map_get(&by_function, function);
	number = known ? *known : add(function);
	pthread_mutex_unlock(&lock);
	return number;
}

/*
 * With the lock: its code is not found any more. Samples of it may still be looked at, so it waits
 * in the queue of the dead.
 */
static void bury(uint32_t number, uint64_t now_ns)
{
	struct method *method = method_at(number);
	uint32_t *known = dnp_u64map_get(&by_function, method->function);

	if (method->died_ns)
		return;
	if (known && *known == number)
		dnp_u64map_remove(&by_function, method->function);
	method->died_ns = now_ns;
	method->next_dead = 0;
	if (first_dead)
		method_at(last_dead)->next_dead = number;
	else
		first_dead = number;
	last_dead = number;
	dnp_codemap_retire_method(dnp_walk_codemap(), number, now_ns);
}

/* What the runtime tells of one method. */
struct description {
	struct dnp_method method;
	struct dnp_text name, module;
	char name_buffer[2048], module_buffer[1024];
};

static void begin_description(struct description *out)
{
	dnp_text_init(&out->name, out->name_buffer, sizeof(out->name_buffer));
	dnp_text_init(&out->module, out->module_buffer, sizeof(out->module_buffer));
}

/* Without its module a method still has a name. */
static void describe_module(struct description *out)
{
	char assembly_buffer[256];
	struct dnp_text assembly;
	struct dnp_module module;

	dnp_text_init(&assembly, assembly_buffer, sizeof(assembly_buffer));
	dnp_module_describe(&dnp_agent.info, out->method.module, &module, &out->module, &assembly);
}

static bool describe(FunctionID function, struct description *out)
{
	begin_description(out);
	if (FAILED(dnp_method_describe(&dnp_agent.info, function, 0, &out->method, &out->name)))
		return false;
	describe_module(out);
	return true;
}

/*
 * The same for methods that last, one after the other: their module does, too, and is asked for
 * where it is another one than before. The recorder's, and too large for its stack.
 */
static struct description *describe_lasting(FunctionID function)
{
	static struct description out;
	static ModuleID module; /* whose text out.module is; 0: none's */

	dnp_text_init(&out.name, out.name_buffer, sizeof(out.name_buffer));
	if (FAILED(dnp_method_describe(&dnp_agent.info, function, 0, &out.method, &out.name)))
		return NULL;
	if (out.method.module != module) {
		dnp_text_init(&out.module, out.module_buffer, sizeof(out.module_buffer));
		describe_module(&out);
		module = out.module.n ? out.method.module : 0;
	}
	return &out;
}

static unsigned machine_flags(enum dnp_machine machine)
{
	switch (machine) {
	case DNP_MACHINE_ASYNC: return DNP_FRAME_ASYNC;
	case DNP_MACHINE_ITERATOR: return DNP_FRAME_ITERATOR;
	default: return 0;
	}
}

/* name, zero, module, zero. */
static char *copy_text(const struct description *text)
{
	size_t name = text->name.n + 1, module = text->module.n + 1;
	char *copy = malloc(name + module);

	if (copy) {
		memcpy(copy, text->name.p, name);
		memcpy(copy + name, text->module.p, module);
	}
	return copy;
}

static size_t text_bytes(const char *name)
{
	size_t n = strlen(name);

	return n + strlen(name + n + 1) + 2;
}

/*
 * The number of a method that can go away. Its FunctionID may have been another method's before: a
 * new name means a new method.
 */
static uint32_t number_eager(FunctionID function, ModuleID module, const struct description *text)
{
	char *copy = copy_text(text);
	struct method *method;
	uint32_t *known, number = 0;

	if (!copy)
		return 0;
	pthread_mutex_lock(&lock);
	known = dnp_u64map_get(&by_function, function);
	if (known) {
		method = method_at(*known);
		/* One that lasts is what it was; so is one that lives and is called the same. */
		if (!method->eager || (!method->died_ns && !strcmp(method->name, copy)))
			number = *known;
		else
			bury(*known, dnp_now_ns());
	}
	if (!number) {
		number = add(function);
		if (number) {
			method = method_at(number);
			method->module = module;
			method->token = text->method.token;
			method->flags = machine_flags(text->method.machine);
			method->eager = true;
			method->name = copy;
			name_bytes += text_bytes(copy);
			copy = NULL;
		}
	}
	pthread_mutex_unlock(&lock);
	free(copy);
	return number;
}

static uint32_t number_of(FunctionID function, bool dynamic)
{
	struct description text;
	ModuleID with = 0;

	if (!dynamic && !dnp_method_ends(&dnp_agent.info, function, &with))
		return dnp_methods_number(function);
	if (!describe(function, &text))
		return 0;
	return number_eager(function, with ? with : text.method.module, &text);
}

uint32_t dnp_methods_traced(FunctionID function)
{
	uint32_t number = number_of(function, false);

	if (!number)
		return 0;
	pthread_mutex_lock(&lock);
	if (!method_at(number)->traced) {
		if (dnp_vec_push(&untold, number))
			number = 0;
		else
			method_at(number)->traced = true;
	}
	pthread_mutex_unlock(&lock);
	return number;
}

uint32_t dnp_methods_reserve(void)
{
	uint32_t number;

	pthread_mutex_lock(&lock);
	number = dnp_pool_new(&methods);
	if (number)
		*method_at(number) = (struct method){.traced = true, .eager = true};
	pthread_mutex_unlock(&lock);
	return number;
}

/* With the lock. `name`: as copy_text makes it; owned. */
static void set_exact(
	uint32_t number, FunctionID function, const struct description *text, char *name)
{
	struct method *method = method_at(number);

	method->name = name;
	method->function = function;
	method->module = text->method.module;
	method->token = text->method.token;
	method->flags = machine_flags(text->method.machine);
	name_bytes += text_bytes(method->name);
}

void dnp_methods_exact(
	uint32_t number, FunctionID function, ClassID class_id, const uintptr_t *args, uint32_t n)
{
	struct description text;
	char *copy;

	begin_description(&text);
	if (FAILED(dnp_method_describe_exact(
		    &dnp_agent.info, function, class_id, args, n, &text.method, &text.name)))
		return;
	describe_module(&text);
	copy = copy_text(&text);
	if (!copy)
		return;
	pthread_mutex_lock(&lock);
	set_exact(number, function, &text, copy);
	/* Without memory it stays a number. */
	dnp_vec_push(&untold, number);
	pthread_mutex_unlock(&lock);
}

/* One that is told, 0: there is none. */
static uint32_t take_untold(FunctionID *function)
{
	uint32_t number = 0;

	pthread_mutex_lock(&lock);
	if (untold.n) {
		number = untold.p[--untold.n];
		*function = method_at(number)->function;
	}
	pthread_mutex_unlock(&lock);
	return number;
}

void dnp_methods_tell_traced(
	void (*tell)(uint32_t number, FunctionID function, void *context), void *context)
{
	FunctionID function;
	uint32_t number;

	while ((number = take_untold(&function)))
		tell(number, function, context);
}

void dnp_methods_compiled(FunctionID function, bool dynamic)
{
	dnp_code_compiled(&dnp_agent.info, function, number_of(function, dynamic), dynamic);
}

void dnp_methods_module_loaded(ModuleID module)
{
	/* The runtime does not use precompiled code of modules that can go away. */
	if (!dnp_module_ends(&dnp_agent.info, module))
		dnp_code_module_loaded(&dnp_agent.info, module);
}

void dnp_methods_dynamic_unloaded(FunctionID function)
{
	uint64_t now_ns = dnp_now_ns();
	uint32_t *known;

	pthread_mutex_lock(&lock);
	known = dnp_u64map_get(&by_function, function);
	if (known)
		bury(*known, now_ns);
	pthread_mutex_unlock(&lock);
}

void dnp_methods_module_unloading(ModuleID module)
{
	uint64_t now_ns = dnp_now_ns();

	pthread_mutex_lock(&lock);
	for (uint32_t number = 1; number <= methods.n; number++)
		if (method_at(number)->eager && method_at(number)->module == module)
			bury(number, now_ns);
	pthread_mutex_unlock(&lock);
}

void dnp_methods_forget_frames(void)
{
	pthread_mutex_lock(&lock);
	for (uint32_t number = 1; number <= methods.n; number++)
		memset(method_at(number)->frame, 0, sizeof(method_at(number)->frame));
	pthread_mutex_unlock(&lock);
}

void dnp_methods_reclaim(uint64_t before_ns)
{
	pthread_mutex_lock(&lock);
	while (first_dead && method_at(first_dead)->died_ns < before_ns) {
		uint32_t number = first_dead;
		struct method *method = method_at(number);

		first_dead = method->next_dead;
		if (method->traced)
			continue;
		name_bytes -= text_bytes(method->name);
		free(method->name);
		method->name = NULL;
		dnp_pool_free(&methods, number);
	}
	pthread_mutex_unlock(&lock);
}

void dnp_methods_forget(void)
{
	uint64_t now_ns = dnp_now_ns();

	pthread_mutex_lock(&lock);
	for (uint32_t number = 1; number <= methods.n; number++)
		if (method_at(number)->eager)
			bury(number, now_ns);
	pthread_mutex_unlock(&lock);
	dnp_methods_reclaim(UINT64_MAX);
}

uint32_t *dnp_methods_frame(uint32_t number, bool precompiled)
{
	return &method_at(number)->frame[precompiled];
}

bool dnp_methods_text(uint32_t number, struct dnp_method_text *text)
{
	struct method *method = method_at(number);
	const struct description *asked;

	if (method->eager) {
		text->name = dnp_str(method->name);
		text->module = dnp_str(method->name + text->name.n + 1);
		text->token = method->token;
		text->flags = method->flags;
		return true;
	}
	dnp_forks_hold();
	asked = describe_lasting(method->function);
	dnp_forks_release();
	if (!asked)
		return false;
	text->name = dnp_text_since(&asked->name, 0);
	text->module = dnp_text_since(&asked->module, 0);
	text->token = asked->method.token;
	text->flags = machine_flags(asked->method.machine);
	return true;
}

void dnp_methods_done(void)
{
	pthread_mutex_lock(&lock);
	for (uint32_t number = 1; number <= methods.n; number++)
		free(method_at(number)->name);
	dnp_pool_done(&methods);
	first_dead = last_dead = 0;
	dnp_u64map_done(&by_function);
	dnp_vec_done(&untold);
	name_bytes = 0;
	pthread_mutex_unlock(&lock);
}

size_t dnp_methods_bytes(void)
{
	size_t bytes;

	pthread_mutex_lock(&lock);
	bytes = methods.n * sizeof(struct method) + name_bytes + by_function.capacity * 16;
	pthread_mutex_unlock(&lock);
	return bytes;
}
