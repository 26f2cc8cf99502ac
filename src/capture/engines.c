/* SPDX-License-Identifier: MIT */
#include "base/clean.h"
#include "capture/engine.h"

static const struct dnp_engine *const engines[] = {
	&dnp_engine_cpu,
	&dnp_engine_snapshot_cpu,
	&dnp_engine_snapshot_wall,
	&dnp_engine_wall,
};

const struct dnp_engine *dnp_engine_find(struct dnp_str event, enum dnp_engine_choice choice)
{
	for (size_t i = 0; i < DNP_ARRAY_SIZE(engines); i++)
		if (engines[i]->choice == choice && dnp_str_eq(event, dnp_str(engines[i]->event)))
			return engines[i];
	return NULL;
}
