/* SPDX-License-Identifier: MIT */
#include "capture/engine.h"

const struct dnp_engine *const dnp_engines_all[] = {
	&dnp_engine_alloc,
	&dnp_engine_cpu,
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
	&dnp_engine_snapshot_cpu,
	&dnp_engine_snapshot_wall,
	&dnp_engine_switch,
	&dnp_engine_trace,
	&dnp_engine_transition,
	&dnp_engine_waithandle,
	&dnp_engine_wall,
	NULL,
};
