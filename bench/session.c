/* SPDX-License-Identifier: MIT */
/*
 * The smallest profiler that has events delivered: it asks for those of one provider, and does
 * nothing with them. What the program then takes longer is the runtime's own part, which no
 * profiler can do without.
 *
 *	BENCH_PROVIDER=NAME:KEYWORDS:LEVEL    keywords in hexadecimal
 *	BENCH_WHILE=FILE                      as long as there is this file; else all the time
 *
 * Its class id is that of tests/walker/com.c.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../tests/walker/com.h"
#include "clr/hresult.h"
#include "clr/info.h"

#define NAME_MAX_UNITS 128

static struct dnp_info info;
static WCHAR name[NAME_MAX_UNITS];

/* -1: the variable is not there, or not like that. */
static int read_provider(COR_PRF_EVENTPIPE_PROVIDER_CONFIG *config)
{
	const char *text = getenv("BENCH_PROVIDER");
	unsigned long keywords;
	unsigned level;
	size_t n;

	if (!text)
		return -1;
	n = strcspn(text, ":");
	if (n >= NAME_MAX_UNITS || sscanf(text + n, ":%lx:%u", &keywords, &level) != 2)
		return -1;
	for (size_t i = 0; i < n; i++)
		name[i] = (WCHAR)text[i];
	*config = (COR_PRF_EVENTPIPE_PROVIDER_CONFIG){
		.providerName = name, .keywords = keywords, .loggingLevel = level};
	return 0;
}

static HRESULT start(EVENTPIPE_SESSION *session)
{
	COR_PRF_EVENTPIPE_PROVIDER_CONFIG config;

	if (read_provider(&config))
		return E_INVALIDARG;
	return dnp_com(info.com, EventPipeStartSession, 1, &config, 0, session);
}

/* The file goes where there is no session. */
static void *follow(void *context)
{
	const char *file = context;
	EVENTPIPE_SESSION session;
	bool on = false;

	for (;;) {
		bool wanted = access(file, F_OK) == 0;

		if (wanted && !on) {
			on = SUCCEEDED(start(&session));
			if (!on)
				unlink(file);
		} else if (!wanted && on) {
			dnp_com(info.com, EventPipeStopSession, session);
			on = false;
		}
		nanosleep(&(struct timespec){0, 20000000}, NULL);
	}
	return NULL;
}

static HRESULT open_it(IUnknown *unknown)
{
	char *file = getenv("BENCH_WHILE");
	HRESULT hr = dnp_info_open(&info, unknown);
	EVENTPIPE_SESSION session;
	pthread_t thread;

	if (SUCCEEDED(hr))
		hr = dnp_com(info.com, SetEventMask2, 0, COR_PRF_HIGH_MONITOR_EVENT_PIPE);
	if (FAILED(hr))
		return hr;
	if (!file)
		return start(&session);
	return pthread_create(&thread, NULL, follow, file) ? E_FAIL : S_OK;
}

static HRESULT DNP_COM on_initialize(ICorProfilerCallback *self, IUnknown *unknown)
{
	HRESULT hr = open_it(unknown);

	(void)self;
	if (FAILED(hr))
		fprintf(stderr, "bench: no session: 0x%08x\n", (unsigned)hr);
	return hr;
}

ICorProfilerCallback *profiler_callback(void)
{
	static struct ICorProfilerCallbackVtbl table = {
		.Initialize = on_initialize,
	};
	static ICorProfilerCallback callback = {.vtbl = &table};

	dnp_callback_complete(&table);
	return &callback;
}
