/* SPDX-License-Identifier: MIT */
/*
 * An agent that nobody can ask for anything, on systems for which there is no control socket: it
 * records what its launcher started it for.
 */
#include <errno.h>

#include "agent/control.h"
#include "agent/finalizer.h"
#include "agent/recording.h"
#include "agent/relay.h"
#include "agent/requests.h"
#include "clr/hresult.h"

int dnp_control_open(void)
{
	return -ENOSYS;
}

void dnp_control_tell(const char *folder)
{
	(void)folder;
}

void dnp_control_close(void)
{
}

uint64_t dnp_control_deadline(void)
{
	return UINT64_MAX;
}

void dnp_control_serve(bool (*meanwhile)(void))
{
	(void)meanwhile;
}

void dnp_requests_begin(uint32_t leave_ms)
{
	(void)leave_ms;
}

uint64_t dnp_requests_deadline(void)
{
	return UINT64_MAX;
}

void dnp_requests_leave(void)
{
}

void dnp_requests_end(enum dnp_end_reason reason)
{
	struct dnp_err err = {0};

	dnp_recording_end(reason, &err);
	dnp_recording_file_close();
}

/* Of a program that runs already, which this agent cannot come to. */
bool dnp_finalizer_rests(uint64_t patience_ns)
{
	(void)patience_ns;
	return false;
}

HRESULT dnp_relay_class(const struct dnp_guid *clsid, const struct dnp_guid *iid, void **object)
{
	(void)clsid;
	(void)iid;
	*object = NULL;
	return CLASS_E_CLASSNOTAVAILABLE;
}
