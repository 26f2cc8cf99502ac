/* SPDX-License-Identifier: MIT */
/* What of the allocations that are told of is still there: the engine `live` watches the objects.
 */
#ifndef DNP_CAPTURE_LIVE_H
#define DNP_CAPTURE_LIVE_H

#include "capture/happened.h"
#include "clr/allocation.h"

/*
 * As dnp_happened, for an object that stands for so many bytes and has drawn that lot, by which it
 * passed where so many were wanted (see live_objects.h); where `live` is recorded it is watched
 * from now on. In the runtime's event: the thread cannot be stopped for a collection there, so the
 * object stays where it is.
 */
void dnp_live_happened(const struct dnp_engine_setting *setting, struct dnp_happening *happening,
	const struct dnp_allocation *allocation, double bytes, double lot, uint64_t wanted_bytes);

#endif
