/* SPDX-License-Identifier: MIT */
/*
 * Small profilers to compare with: the same methods are hooked as by `dnprof run -e trace`, and
 *
 *	BENCH_HOOKS=empty     nothing is done
 *	BENCH_HOOKS=clock     the processor's clock is read at each enter and leave, and forgotten
 *	BENCH_HOOKS=article   what the article "Creating a custom .NET profiler" does: a map from
 *ids to names, counts, and at each enter a line that is formatted and written to LOG_FILENAME; with
 *a lock, since there are threads now BENCH_FRAMEWORK=1     methods of .NET itself, too
 *
 * Its class id is that of tests/walker/com.c.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../tests/walker/com.h"
#include "base/framework.h"
#include "base/text.h"
#include "base/u64map.h"
#include "clr/hresult.h"
#include "clr/info.h"
#include "clr/names.h"

typedef void hook(FunctionIDOrClientID id);
hook hook_empty, hook_clock_enter, hook_clock_leave, hook_article_enter, hook_article_leave;

static const struct way {
	const char *name;
	hook *enter, *leave;
} ways[] = {
	{"empty", hook_empty, hook_empty},
	{"clock", hook_clock_enter, hook_clock_leave},
	{"article", hook_article_enter, hook_article_leave},
};

static struct dnp_info info;
static const struct way *way;
static bool framework;

/* ---- The article's way */

struct function {
	char *name;
	uint64_t calls;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dnp_u64map numbers; /* of functions, by FunctionID */
static struct function *functions;
static uint32_t n_functions, capacity;
static int depth, log_fd = -1;

static void write_log(const char *line, int bytes)
{
	if (write(log_fd, line, (size_t)bytes) != bytes) {
		perror("bench: cannot write the log");
		exit(1);
	}
}

void article_enter(FunctionID id);
void article_enter(FunctionID id)
{
	char line[1024];
	struct function *function;
	const uint32_t *number;
	int n;

	pthread_mutex_lock(&lock);
	number = dnp_u64map_get(&numbers, id);
	if (number) {
		function = &functions[*number];
		function->calls++;
		n = snprintf(line, sizeof(line), "%*s%.800s, id=0x%lx, call count = %lu\r\n",
			depth > 100 ? 100 : depth, "", function->name, id, function->calls);
		write_log(line, n);
	}
	depth++;
	pthread_mutex_unlock(&lock);
}

void article_leave(void);
void article_leave(void)
{
	pthread_mutex_lock(&lock);
	if (depth > 0)
		depth--;
	pthread_mutex_unlock(&lock);
}

static void keep_name(FunctionID id, const char *name)
{
	pthread_mutex_lock(&lock);
	if (!dnp_u64map_get(&numbers, id)) {
		if (n_functions == capacity) {
			capacity = capacity ? 2 * capacity : 1024;
			functions = realloc(functions, capacity * sizeof(*functions));
		}
		functions[n_functions] = (struct function){strdup(name), 0};
		dnp_u64map_put(&numbers, id, n_functions++);
	}
	pthread_mutex_unlock(&lock);
}

static void write_summary(void)
{
	char line[1024];
	int n;

	for (uint32_t i = 0; i < n_functions; i++) {
		n = snprintf(line, sizeof(line), "%.800s : call count = %lu\r\n", functions[i].name,
			functions[i].calls);
		write_log(line, n);
	}
}

/* ---- What is hooked */

static bool is_wanted(ModuleID id)
{
	char path[4096], name[1024];
	struct dnp_text path_text, name_text;
	struct dnp_module module;

	if (framework)
		return true;
	dnp_text_init(&path_text, path, sizeof(path));
	dnp_text_init(&name_text, name, sizeof(name));
	if (FAILED(dnp_module_describe(&info, id, &module, &path_text, &name_text)))
		return false;
	return !dnp_framework_has(dnp_text_since(&name_text, 0), dnp_text_since(&path_text, 0));
}

static uintptr_t DNP_COM map_function(FunctionID id, void *data, BOOL *hooked)
{
	char name[2048];
	struct dnp_text text;
	struct dnp_method method;

	(void)data;
	dnp_text_init(&text, name, sizeof(name));
	*hooked = SUCCEEDED(dnp_method_describe(&info, id, 0, &method, &text)) &&
		is_wanted(method.module);
	if (*hooked && log_fd >= 0)
		keep_name(id, name);
	return id;
}

/* ---- Start and end */

static const struct way *find_way(void)
{
	const char *name = getenv("BENCH_HOOKS");

	for (size_t i = 0; name && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(name, ways[i].name))
			return &ways[i];
	return NULL;
}

static int open_log(void)
{
	const char *name = getenv("LOG_FILENAME");
	char path[4096];

	if (snprintf(path, sizeof(path), "%s.%d", name ? name : "ICorProfilerCallback Log.log",
		    (int)getpid()) >= (int)sizeof(path))
		return -1;
	return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

static HRESULT start(IUnknown *unknown)
{
	HRESULT hr = dnp_info_open(&info, unknown);

	way = find_way();
	framework = getenv("BENCH_FRAMEWORK") != NULL;
	if (!way)
		return E_INVALIDARG;
	if (!strcmp(way->name, "article")) {
		log_fd = open_log();
		if (log_fd < 0)
			return E_FAIL;
	}
	if (SUCCEEDED(hr))
		hr = dnp_com(info.com, SetEventMask2, COR_PRF_MONITOR_ENTERLEAVE, 0);
	if (SUCCEEDED(hr))
		hr = dnp_com(info.com, SetFunctionIDMapper2, map_function, NULL);
	if (SUCCEEDED(hr))
		hr = dnp_com(
			info.com, SetEnterLeaveFunctionHooks3, way->enter, way->leave, way->leave);
	return hr;
}

static HRESULT DNP_COM on_initialize(ICorProfilerCallback *self, IUnknown *unknown)
{
	HRESULT hr = start(unknown);

	(void)self;
	if (FAILED(hr))
		fprintf(stderr, "bench: the hooks are not set: 0x%08x\n", (unsigned)hr);
	return hr;
}

static HRESULT DNP_COM on_shutdown(ICorProfilerCallback *self)
{
	(void)self;
	if (log_fd >= 0) {
		pthread_mutex_lock(&lock);
		write_summary();
		pthread_mutex_unlock(&lock);
	}
	return S_OK;
}

ICorProfilerCallback *profiler_callback(void)
{
	static struct ICorProfilerCallbackVtbl table = {
		.Initialize = on_initialize,
		.Shutdown = on_shutdown,
	};
	static ICorProfilerCallback callback = {.vtbl = &table};

	dnp_callback_complete(&table);
	return &callback;
}
