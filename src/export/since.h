/* SPDX-License-Identifier: MIT */
/* Times of a recording as a page has them: nanoseconds since the profile's start. */
#ifndef DNP_EXPORT_SINCE_H
#define DNP_EXPORT_SINCE_H

#include "aggregate/profile.h"

#define DNP_LATEST_NS (UINT64_C(1) << 53)

static inline uint64_t dnp_since(
	const struct dnp_recording *recording, const struct dnp_process *process, uint64_t time_ns)
{
	uint64_t start = recording->process.start_ns;
	uint64_t ns = (time_ns > start ? time_ns - start : 0) + process->start_ns;

	/* Whatever a damaged file tells: a page reads no later times. */
	return ns < DNP_LATEST_NS ? ns : DNP_LATEST_NS;
}

#endif
