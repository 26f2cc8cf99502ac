/* SPDX-License-Identifier: MIT */
#include "agent/detach.h"

#include <stdatomic.h>

#include "agent/agent.h"
#include "agent/beside.h"
#include "agent/events.h"
#include "agent/pipe.h"
#include "clr/hresult.h"
#include "os/leave.h"

/*
 * The time that the runtime waits for its threads to leave our callbacks. Less is made more, but
 * a runtime that oversleeps twice of it looks again only seconds later.
 */
#define DETACH_MS 300u

bool dnp_detach_is_lost(void)
{
	return dnp_agent.untold || (dnp_agent.attached && !atomic_load(&dnp_agent.complete));
}

bool dnp_detach_look_lost(void)
{
	dnp_agent.untold = dnp_agent.notification && !dnp_beside_is_known();
	return dnp_detach_is_lost();
}

HRESULT dnp_detach_request(void)
{
	HRESULT hr = dnp_detach_look_lost() ? DNPROF_E_LOST : dnp_events_lasting();

	if (SUCCEEDED(hr) && !dnp_pipe_stop())
		hr = E_OUTOFMEMORY;
	/* Begins to look for who is in the handler, so that the runtime's wait counts. */
	dnp_signal_left(0);
	if (SUCCEEDED(hr))
		hr = dnp_com(dnp_agent.info.com, RequestProfilerDetach, DETACH_MS);
	if (SUCCEEDED(hr))
		atomic_store(&dnp_agent.presence, DNP_LEAVING);
	return hr;
}
