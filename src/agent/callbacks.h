/* SPDX-License-Identifier: MIT */
/*
 * What the runtime calls. Its notifications come on any thread at any time, also before they were
 * asked for and after they no longer are: they do nothing but what is allowed at that moment.
 */
#ifndef DNP_AGENT_CALLBACKS_H
#define DNP_AGENT_CALLBACKS_H

#include <stdbool.h>

#include "clr/callback.h"

/* The object that the runtime calls: as the profiler, and as one of those beside it. */
ICorProfilerCallback *dnp_agent_callback(void);
ICorProfilerCallback *dnp_agent_callback_notify(void);

enum dnp_callbacks {
	DNP_CALLBACKS_NONE = 0,
	DNP_CALLBACKS_CODE = 1,    /* modules and methods are taken note of */
	DNP_CALLBACKS_THREADS = 2, /* threads are */
};

/*
 * From now on these and no others; returns when none of the others is under way any more. By who
 * starts and ends recordings.
 */
void dnp_callbacks_allow(unsigned what);

/* In a child that the program has forked: none, for ever. */
void dnp_callbacks_forked(void);

#endif
