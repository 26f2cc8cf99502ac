/* SPDX-License-Identifier: MIT */
/* What every profiler has: two exported functions and a class factory (com.c). */
#ifndef TESTS_WALKER_COM_H
#define TESTS_WALKER_COM_H

#include "clr/callback.h"

/* The object that the runtime shall call, ready; the profiler's own. */
ICorProfilerCallback *profiler_callback(void);

#endif
