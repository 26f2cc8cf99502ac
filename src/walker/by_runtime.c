/* SPDX-License-Identifier: MIT */
/* The runtime's own walk, and what is put into its holes. */
#include "os/clock.h"
#include "os/mem.h"
#include "walker/walks.h"

HRESULT dnp_walker_dss_open(struct dnprof_walker *walker, struct dnp_dss *dss)
{
	*dss = (struct dnp_dss){.max = walker->depth_max};
	dss->frames = dnp_mem_map(dss->max * sizeof(dss->frames[0]));
	return dss->frames ? S_OK : E_OUTOFMEMORY;
}

void dnp_walker_dss_close(struct dnp_dss *dss)
{
	dnp_mem_unmap(dss->frames, dss->max * sizeof(dss->frames[0]));
}

STOPPED HRESULT dnp_walker_dss_fill(const struct dnp_dss *dss, enum dnprof_native native,
	const struct dnp_dss_place *place, struct dnp_gathered *gathered)
{
	static const enum dnp_native_mode modes[] = {
		[DNPROF_NATIVE_ALL] = DNP_NATIVE_ALL,
		[DNPROF_NATIVE_LEAF] = DNP_NATIVE_LEAF,
		[DNPROF_NATIVE_NONE] = DNP_NATIVE_NONE,
	};
	size_t before = gathered->n, room = gathered->max - before;
	struct dnp_mixed mixed = {
		.frames = gathered->frames + before,
		.registers = gathered->registers + before,
		.functions = gathered->functions + before,
		.max = room < dss->max ? room : dss->max, /* others want some, too */
	};

	if (FAILED(dss->result) && !dss->full)
		return dss->result;
	dnp_dss_fill(dss, modes[native], place, &mixed);
	gathered->n += mixed.n;
	gathered->time_ns = dnp_now_ns();
	gathered->stop = dss->full ? DNP_STOP_DEPTH : mixed.stop;
	return gathered->stop == DNP_STOP_END && !mixed.unknown ? S_OK : S_FALSE;
}
