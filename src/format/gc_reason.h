/* SPDX-License-Identifier: MIT */
/* Why the runtime collects garbage: the numbers of GCStart, in words. */
#ifndef DNP_FORMAT_GC_REASON_H
#define DNP_FORMAT_GC_REASON_H

#include <stddef.h>
#include <stdint.h>

static inline const char *dnp_gc_reason(uint64_t reason)
{
	static const char *const names[] = {
		"allocation",
		"asked for",
		"low memory",
		"empty",
		"large allocation",
		"no room for an allocation",
		"no room for a large allocation",
		"asked for, not forced",
		"stress test",
		"low memory, blocking",
		"asked for, compacting",
		"low memory, host",
		"provisional mode",
		"low memory, host, blocking",
		"tuning",
		"tuning, large objects",
		"stepping",
		"asked for, aggressive",
	};

	return reason < sizeof(names) / sizeof(*names) ? names[reason] : "unknown reason";
}

#endif
