/* SPDX-License-Identifier: MIT */
/* What there is on Windows. */
#include "capture/engine.h"

const struct dnp_engine *const dnp_engines_all[] = {
	&dnp_engine_suspend_cpu,
	&dnp_engine_suspend_wall,
	&dnp_engine_asking_cpu,
	&dnp_engine_asking_wall,
	&dnp_engine_switch,
	&dnp_engine_trace,
	NULL,
};
