/* SPDX-License-Identifier: MIT */
#include "agent/events.h"

#include <pthread.h>

#include "agent/agent.h"
#include "clr/hresult.h"
#include "clr/prf.h"

/* Held while the runtime is asked. A leaf lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t now_low, now_high;
static uint32_t ever_low, ever_high; /* all that was ever set */

bool dnp_events_allowed_late(uint32_t low, uint32_t high)
{
	return !(low & ~COR_PRF_ALLOWABLE_AFTER_ATTACH) &&
		!(high & ~COR_PRF_HIGH_ALLOWABLE_AFTER_ATTACH);
}

/* With the lock. */
static HRESULT set(uint32_t low, uint32_t high)
{
	HRESULT hr = dnp_com(dnp_agent.info.com, SetEventMask2, low, high);

	if (SUCCEEDED(hr)) {
		now_low = low;
		now_high = high;
		ever_low |= low;
		ever_high |= high;
	}
	return hr;
}

HRESULT dnp_events_set(uint32_t low, uint32_t high)
{
	HRESULT hr;

	pthread_mutex_lock(&lock);
	hr = set(low | (ever_low & COR_PRF_MONITOR_IMMUTABLE),
		high | (ever_high & COR_PRF_HIGH_MONITOR_IMMUTABLE));
	pthread_mutex_unlock(&lock);
	return hr;
}

void dnp_events_add(uint32_t low)
{
	pthread_mutex_lock(&lock);
	if (now_low & ~COR_PRF_MONITOR_IMMUTABLE && low & ~now_low)
		set(now_low | low, now_high);
	pthread_mutex_unlock(&lock);
}

HRESULT dnp_events_lasting(void)
{
	if (ever_low & (COR_PRF_MONITOR_ENTERLEAVE | COR_PRF_ENABLE_REJIT))
		return CORPROF_E_IRREVERSIBLE_INSTRUMENTATION_PRESENT;
	if (ever_low & COR_PRF_MONITOR_IMMUTABLE || ever_high & COR_PRF_HIGH_MONITOR_IMMUTABLE)
		return CORPROF_E_IMMUTABLE_FLAGS_SET;
	return S_OK;
}
