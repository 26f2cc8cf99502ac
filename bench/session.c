/* SPDX-License-Identifier: MIT */
/*
 * The smallest profiler that has events delivered: it asks for those of one provider, and does
 * nothing with them. What the program then takes longer is the runtime's own part, which no
 *profiler can do without.
 *
 *	BENCH_PROVIDER=NAME:KEYWORDS:LEVEL    keywords in hexadecimal
 *
 * Its class id is that of tests/walker/com.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static HRESULT start(IUnknown *unknown)
{
	COR_PRF_EVENTPIPE_PROVIDER_CONFIG config;
	EVENTPIPE_SESSION session;
	HRESULT hr = dnp_info_open(&info, unknown);

	if (read_provider(&config))
		return E_INVALIDARG;
	if (SUCCEEDED(hr))
		hr = dnp_com(info.com, SetEventMask2, 0, COR_PRF_HIGH_MONITOR_EVENT_PIPE);
	if (SUCCEEDED(hr))
		hr = dnp_com(info.com, EventPipeStartSession, 1, &config, 0, &session);
	return hr;
}

static HRESULT DNP_COM on_initialize(ICorProfilerCallback *self, IUnknown *unknown)
{
	HRESULT hr = start(unknown);

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
