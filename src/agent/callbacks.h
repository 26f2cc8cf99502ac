/* SPDX-License-Identifier: MIT */
/*
 * What the runtime calls. Its notifications come on any thread at any time, also before they were
 * asked for and after they no longer are: they do nothing but what is allowed at that moment.
 */
#ifndef DNP_AGENT_CALLBACKS_H
#define DNP_AGENT_CALLBACKS_H

#include "clr/callback.h"

/* The object that the runtime calls: as the profiler, and as one of those beside it. */
ICorProfilerCallback *dnp_agent_callback(void);
ICorProfilerCallback *dnp_agent_callback_notify(void);

#endif
