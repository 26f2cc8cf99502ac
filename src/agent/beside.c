/* SPDX-License-Identifier: MIT */
#include "agent/beside.h"

#include <stdatomic.h>

#include "agent/agent.h"
#include "agent/events.h"
#include "clr/hresult.h"
#include "os/clock.h"
#include "os/forks.h"

/* How long another suspension is waited for, and how often looked. */
#define OTHERS_NS UINT64_C(1000000000)
#define PAUSE_NS  UINT64_C(200000)

static _Atomic bool told;

void dnp_beside_told(void)
{
	atomic_store(&told, true);
}

/* Until we have been told of one, whoever had it made. */
static bool wait_for_word(void)
{
	uint64_t until_ns = dnp_now_ns() + OTHERS_NS;
	HRESULT hr;

	do {
		dnp_forks_hold();
		hr = dnp_com(dnp_agent.info.com, SuspendRuntime);
		if (SUCCEEDED(hr))
			dnp_com(dnp_agent.info.com, ResumeRuntime);
		dnp_forks_release();
		if (FAILED(hr))
			dnp_sleep_until_ns(dnp_now_ns() + PAUSE_NS);
	} while (!atomic_load(&told) && FAILED(hr) && dnp_now_ns() < until_ns);
	return atomic_load(&told);
}

bool dnp_beside_is_known(void)
{
	bool known = false;

	if (!dnp_info_has(&dnp_agent.info, SuspendRuntime))
		return true;
	atomic_store(&told, false);
	if (SUCCEEDED(dnp_events_set(COR_PRF_MONITOR_SUSPENDS, COR_PRF_HIGH_MONITOR_NONE)))
		known = wait_for_word();
	dnp_events_set(COR_PRF_MONITOR_NONE, COR_PRF_HIGH_MONITOR_NONE);
	return known;
}
