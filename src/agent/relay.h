/* SPDX-License-Identifier: MIT */
/*
 * Another profiler in our place: `dnprof run --profiler-clsid` has the runtime load this library,
 * which hands on the request in the process that is meant, and refuses it in those that inherit the
 * environment (agent_options.h, DNP_RELAY_ENV).
 */
#ifndef DNP_AGENT_RELAY_H
#define DNP_AGENT_RELAY_H

#include "clr/com.h"

/* What DllGetClassObject of the other profiler gives. */
HRESULT dnp_relay_class(const struct dnp_guid *clsid, const struct dnp_guid *iid, void **object);

#endif
