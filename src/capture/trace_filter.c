/* SPDX-License-Identifier: MIT */
#include "capture/trace_filter.h"

#include <pthread.h>

#include "base/framework.h"
#include "base/pattern.h"
#include "base/pretty.h"
#include "base/u64map.h"
#include "capture/left_out.h"
#include "clr/hresult.h"
#include "clr/names.h"

static const struct dnp_engine_setting *setting;

/* Not held across a call into the runtime. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dnp_u64map by_function; /* FunctionID → number, 0: left out */
static struct dnp_u64map by_module;   /* ModuleID → part of .NET */
static struct dnp_u64map native_era;  /* FunctionID → era as of which it is that method's */
static uint32_t era; /* goes on when code is unloaded: FunctionIDs may be others' then */
static uint64_t n_methods, n_left_out, n_unnumbered;

void dnp_trace_filter_open(const struct dnp_engine_setting *with)
{
	setting = with;
}

static bool known_module(ModuleID module, bool *framework)
{
	uint32_t *known;

	pthread_mutex_lock(&lock);
	known = dnp_u64map_get(&by_module, module);
	if (known)
		*framework = *known;
	pthread_mutex_unlock(&lock);
	return known;
}

static bool is_framework(ModuleID id)
{
	char path_buffer[1024], assembly_buffer[256];
	struct dnp_text path, assembly;
	struct dnp_module module;
	bool framework = false;

	if (known_module(id, &framework))
		return framework;
	dnp_text_init(&path, path_buffer, sizeof(path_buffer));
	dnp_text_init(&assembly, assembly_buffer, sizeof(assembly_buffer));
	if (FAILED(dnp_module_describe(setting->info, id, &module, &path, &assembly)))
		return false;
	framework = dnp_framework_has(dnp_text_since(&assembly, 0), dnp_text_since(&path, 0));
	/* What can be unloaded is the program's, and so is what comes in its place. */
	pthread_mutex_lock(&lock);
	dnp_u64map_put(&by_module, id, framework);
	pthread_mutex_unlock(&lock);
	return framework;
}

static bool is_new(FunctionID function)
{
	bool known;

	dnp_trace_filter_find(function, &known);
	return !known;
}

/* Names as the report shows them. */
static bool name_passes(FunctionID function)
{
	struct dnp_str include = dnp_str(setting->options->include);
	struct dnp_str exclude = dnp_str(setting->options->exclude);
	char raw_buffer[2048], pretty_buffer[2048];
	struct dnp_text raw, pretty;
	struct dnp_method method;
	struct dnp_str name;

	if (!include.n && !exclude.n)
		return true;
	dnp_text_init(&raw, raw_buffer, sizeof(raw_buffer));
	dnp_text_init(&pretty, pretty_buffer, sizeof(pretty_buffer));
	if (FAILED(dnp_method_describe(setting->info, function, 0, &method, &raw)))
		return false;
	dnp_text_init(&pretty, pretty_buffer, sizeof(pretty_buffer));
	dnp_pretty_name(dnp_text_since(&raw, 0), method.machine, &pretty);
	name = dnp_text_since(&pretty, 0);
	if ((!include.n || dnp_pattern_list(include, name)) && !dnp_pattern_list(exclude, name))
		return true;
	if (is_new(function))
		dnp_left_out_note(name);
	return false;
}

static bool passes(FunctionID function)
{
	ModuleID module;
	ClassID class;
	mdToken token;
	uint32_t n;

	if (FAILED(dnp_com(setting->info->com, GetFunctionInfo2, function, 0, &class, &module,
		    &token, 0, &n, NULL)))
		return false;
	return (setting->options->framework || !is_framework(module)) && name_passes(function);
}

static void remember(uintptr_t function, bool wanted, uint32_t number)
{
	uint32_t *known;

	pthread_mutex_lock(&lock);
	known = dnp_u64map_get(&by_function, function);
	if (!known || *known != number) {
		n_methods += number != 0;
		n_left_out += !wanted;
		n_unnumbered += wanted && !number;
		dnp_u64map_put(&by_function, function, number);
	}
	pthread_mutex_unlock(&lock);
}

const struct dnp_call_method *dnp_trace_filter_method(uintptr_t function)
{
	bool wanted = passes(function);
	uint32_t number = wanted ? setting->traced(function) : 0;
	struct dnp_call_method *method = &dnp_call_methods[number];

	if (number) {
		method->number = number;
		method->function = function;
	}
	remember(function, wanted, number);
	return number ? method : NULL;
}

/* With the lock. */
static const struct dnp_call_method *find(uintptr_t function, bool *known)
{
	uint32_t *number = dnp_u64map_get(&by_function, function);

	*known = number;
	return number && *number ? &dnp_call_methods[*number] : NULL;
}

const struct dnp_call_method *dnp_trace_filter_find(uintptr_t function, bool *known)
{
	const struct dnp_call_method *method;

	pthread_mutex_lock(&lock);
	method = find(function, known);
	pthread_mutex_unlock(&lock);
	return method;
}

/* Whether *method stands; *now: the era in which it does, or in which it is to be asked for. */
static bool find_native(uintptr_t function, const struct dnp_call_method **method, uint32_t *now)
{
	uint32_t *since;
	bool known;

	pthread_mutex_lock(&lock);
	*now = era;
	since = dnp_u64map_get(&native_era, function);
	*method = find(function, &known);
	known = known && since && *since == era;
	pthread_mutex_unlock(&lock);
	return known;
}

const struct dnp_call_method *dnp_trace_filter_native(uintptr_t function)
{
	const struct dnp_call_method *method;
	uint32_t now;

	if (find_native(function, &method, &now))
		return method;
	method = dnp_trace_filter_method(function);
	pthread_mutex_lock(&lock);
	dnp_u64map_put(&native_era, function, now);
	pthread_mutex_unlock(&lock);
	return method;
}

void dnp_trace_filter_unloading(void)
{
	pthread_mutex_lock(&lock);
	era++;
	pthread_mutex_unlock(&lock);
}

uint64_t dnp_trace_filter_unnumbered(void)
{
	uint64_t n;

	pthread_mutex_lock(&lock);
	n = n_unnumbered;
	pthread_mutex_unlock(&lock);
	return n;
}

void dnp_trace_filter_count(uint64_t *methods, uint64_t *left_out)
{
	pthread_mutex_lock(&lock);
	*methods = n_methods;
	*left_out = n_left_out;
	pthread_mutex_unlock(&lock);
}
