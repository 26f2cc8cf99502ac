/* SPDX-License-Identifier: MIT */
/* What there is on Windows. */
#include "capture/engine.h"

const struct dnp_engine *const dnp_engines_all[] = {
	&dnp_engine_alloc,
	&dnp_engine_exact,
	&dnp_engine_exception,
	&dnp_engine_gc,
	&dnp_engine_jit,
	&dnp_engine_live,
	&dnp_engine_load,
	&dnp_engine_lock,
	&dnp_engine_mark,
	&dnp_engine_request,
	&dnp_engine_safepoint,
	&dnp_engine_transition,
	&dnp_engine_waithandle,
	&dnp_engine_suspend_cpu,
	&dnp_engine_suspend_wall,
	&dnp_engine_asking_cpu,
	&dnp_engine_asking_wall,
	&dnp_engine_switch,
	&dnp_engine_trace,
	NULL,
};
