/* SPDX-License-Identifier: MIT */
#include "agent/methods.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/clean.h"
#include "base/u64map.h"
#include "clr/codemap.h"
#include "clr/hresult.h"
#include "clr/names.h"
#include "format/rec.h"
#include "os/clock.h"
#include "unwind/code.h"
#include "unwind/managed.h"

#define CHUNK_METHODS 512u
#define CHUNKS        2048u /* a million methods */

struct method {
	FunctionID function;
	ModuleID module;    /* known for eager ones, else 0 */
	char *name;         /* owned: raw name, a zero, module; NULL: ask the runtime */
	uint64_t died_ns;   /* the runtime freed it, 0: it lives */
	uint32_t frame[2];  /* the recorder's: frame indices, compiled at run time and ahead */
	uint32_t next_dead; /* in the queue of the dead, or in the list of unused numbers */
	mdToken token;
	unsigned flags; /* enum dnp_frame_flags */
	bool eager;     /* may be freed by the runtime: never ask it again */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct method *chunks[CHUNKS]; /* number n is entry n - 1; entries never move */
static uint32_t n_methods;
static struct dnp_u64map by_function;
static uint32_t unused; /* numbers to be used again */
static uint32_t first_dead, last_dead;
static size_t name_bytes;

/* Set once code that can go away has been seen: generics may be made over its types. */
static _Atomic bool collectible_seen;

static struct method *method_at(uint32_t number)
{
	return &chunks[(number - 1) / CHUNK_METHODS][(number - 1) % CHUNK_METHODS];
}

/* With the lock: a number that nobody has. 0: no memory. */
static uint32_t new_number(void)
{
	uint32_t chunk = n_methods / CHUNK_METHODS, number = unused;

	if (number) {
		unused = method_at(number)->next_dead;
		*method_at(number) = (struct method){0};
		return number;
	}
	if (chunk == CHUNKS)
		return 0;
	if (!chunks[chunk])
		chunks[chunk] = calloc(CHUNK_METHODS, sizeof(struct method));
	return chunks[chunk] ? ++n_methods : 0;
}

/* With the lock. 0: no memory. */
static uint32_t add(FunctionID function)
{
	uint32_t number = new_number();

	if (!number || dnp_u64map_put(&by_function, function, number))
		return 0;
	method_at(number)->function = function;
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

/* With the lock: its samples may still be looked at, so it waits in the queue of the dead. */
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
}

/* What the runtime tells of one method. */
struct description {
	struct dnp_method method;
	struct dnp_text name, module;
	char name_buffer[2048], module_buffer[1024];
};

static bool describe(FunctionID function, struct description *out)
{
	char assembly_buffer[256];
	struct dnp_text assembly;
	struct dnp_module module;

	dnp_text_init(&out->name, out->name_buffer, sizeof(out->name_buffer));
	dnp_text_init(&out->module, out->module_buffer, sizeof(out->module_buffer));
	dnp_text_init(&assembly, assembly_buffer, sizeof(assembly_buffer));
	if (FAILED(dnp_method_describe(&dnp_agent.info, function, 0, &out->method, &out->name)))
		return false;
	/* Without its module a method still has a name. */
	dnp_module_describe(&dnp_agent.info, out->method.module, &module, &out->module, &assembly);
	return true;
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
static uint32_t number_eager(FunctionID function, const struct description *text)
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
			method->module = text->method.module;
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

static bool is_generic(ClassID class_id)
{
	ClassID parent;
	ModuleID module;
	mdTypeDef token;
	uint32_t n = 0;

	return class_id &&
		SUCCEEDED(dnp_com(dnp_agent.info.com, GetClassIDInfo2, class_id, &module, &token,
			&parent, 0, &n, NULL)) &&
		n > 0;
}

/* Whether the runtime may free the method while we still have samples of it. */
static bool can_go_away(FunctionID function, bool dynamic)
{
	uint32_t n_type_args = 0, flags = 0, length;
	const uint8_t *base;
	AssemblyID assembly;
	ModuleID module = 0;
	ClassID class = 0;
	mdToken token;

	if (dynamic)
		return true;
	if (FAILED(dnp_com(dnp_agent.info.com, GetFunctionInfo2, function, 0, &class, &module,
		    &token, 0, &n_type_args, NULL)))
		return true;
	if (FAILED(dnp_com(dnp_agent.info.com, GetModuleInfo2, module, &base, 0, &length, NULL,
		    &assembly, &flags)))
		return true;
	if (flags & COR_PRF_MODULE_COLLECTIBLE) {
		atomic_store_explicit(&collectible_seen, true, memory_order_relaxed);
		return true;
	}
	/* A generic of a lasting module may be made over types of one that goes. */
	return atomic_load_explicit(&collectible_seen, memory_order_relaxed) &&
		(n_type_args || is_generic(class));
}

static uint32_t number_of(FunctionID function, bool dynamic)
{
	struct description text;

	if (!can_go_away(function, dynamic))
		return dnp_methods_number(function);
	return describe(function, &text) ? number_eager(function, &text) : 0;
}

void dnp_methods_compiled(FunctionID function, bool dynamic)
{
	dnp_code_compiled(&dnp_agent.info, function, number_of(function, dynamic), dynamic);
}

static bool is_dead(uint32_t number, void *context)
{
	(void)context;
	return number && method_at(number)->died_ns;
}

static void retire_dead(uint64_t now_ns)
{
	/* Numbers are not used again before dnp_methods_reclaim, so the map can be asked unlocked.
	 */
	dnp_codemap_retire_methods(dnp_walk_codemap(), is_dead, NULL, now_ns);
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
	if (known)
		retire_dead(now_ns);
}

void dnp_methods_module_unloading(ModuleID module)
{
	uint64_t now_ns = dnp_now_ns();

	pthread_mutex_lock(&lock);
	for (uint32_t number = 1; number <= n_methods; number++)
		if (method_at(number)->eager && method_at(number)->module == module)
			bury(number, now_ns);
	pthread_mutex_unlock(&lock);
	retire_dead(now_ns);
}

void dnp_methods_reclaim(uint64_t before_ns)
{
	pthread_mutex_lock(&lock);
	while (first_dead && method_at(first_dead)->died_ns < before_ns) {
		uint32_t number = first_dead;
		struct method *method = method_at(number);

		first_dead = method->next_dead;
		name_bytes -= text_bytes(method->name);
		free(method->name);
		method->name = NULL;
		method->next_dead = unused;
		unused = number;
	}
	pthread_mutex_unlock(&lock);
}

uint32_t *dnp_methods_frame(uint32_t number, bool precompiled)
{
	return &method_at(number)->frame[precompiled];
}

bool dnp_methods_text(uint32_t number, struct dnp_method_text *text)
{
	static struct description asked; /* the recorder's, too large for its stack */
	struct method *method = method_at(number);

	if (method->eager) {
		text->name = dnp_str(method->name);
		text->module = dnp_str(method->name + text->name.n + 1);
		text->token = method->token;
		text->flags = method->flags;
		return true;
	}
	if (!describe(method->function, &asked))
		return false;
	text->name = dnp_text_since(&asked.name, 0);
	text->module = dnp_text_since(&asked.module, 0);
	text->token = asked.method.token;
	text->flags = machine_flags(asked.method.machine);
	return true;
}

size_t dnp_methods_bytes(void)
{
	size_t bytes;

	pthread_mutex_lock(&lock);
	bytes = n_methods * sizeof(struct method) + name_bytes + by_function.capacity * 16;
	pthread_mutex_unlock(&lock);
	return bytes;
}
