/* SPDX-License-Identifier: MIT */
/*
 * The two events by which the runtime tells of an object that was allocated
 * (Microsoft-Windows-DotNETRuntime). Both come on the thread that allocates.
 *
 * AllocationSampled (.NET 10): each byte that is allocated is chosen with the same probability,
 * independently, and the object that it belongs to is told of, once however many of its bytes were.
 * dotnet/runtime, docs/design/features/RandomizedAllocationSampling.md.
 *
 * AllocationTick: the object by which more than 100 KiB were allocated since the last one, on its
 * heap and of its kind (small, large, pinned).
 */
#ifndef DNP_CLR_ALLOCATION_H
#define DNP_CLR_ALLOCATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "clr/payload.h"

#define DNP_EVENT_ALLOCATION_TICK    10u
#define DNP_EVENT_ALLOCATION_SAMPLED 303u

#define DNP_KEYWORD_GC                  UINT64_C(0x1)
#define DNP_KEYWORD_ALLOCATION_SAMPLING UINT64_C(0x80000000000)

/* Mean bytes between two bytes that are chosen, and between two ticks at least. */
#define DNP_ALLOCATION_MEAN_BYTES 102400u

struct dnp_allocation {
	uint64_t bytes;          /* of the object */
	uint64_t amount;         /* ticks: bytes since the one before, and its own */
	uintptr_t type;          /* ClassID */
	struct dnp_payload name; /* see dnp_allocation_type */
	/* Where it is as long as the thread is in the event: memory that has no type yet. */
	uintptr_t address;
	bool young; /* every collection looks at it at first; of large and pinned ones gen 2 does */
};

/*
 * Reads a payload, which is borrowed. 0, or -EBADMSG: it is not what is known. Versions: those of
 * .NET 8 to 10, and later ones that only add fields.
 */
int dnp_allocation_tick(
	const uint8_t *data, size_t n, uint32_t version, struct dnp_allocation *allocation);
int dnp_allocation_sampled(const uint8_t *data, size_t n, struct dnp_allocation *allocation);

/*
 * What of them says how much the object stands for: its size (dnp_allocation_stands_for), and the
 * tick's amount. In a fraction of the time, since few of many events are wanted; 0: the payload is
 * too short for one that is known.
 */
uint64_t dnp_allocation_sampled_bytes(const uint8_t *data, size_t n, uint32_t version);
uint64_t dnp_allocation_tick_amount(const uint8_t *data, size_t n);

/*
 * The type's name as the runtime tells it, of nested types without those that they are in, and
 * spelled as dnp_payload_type does. By itself since it takes longer than all the rest, and most
 * events are not kept.
 */
void dnp_allocation_type(const struct dnp_allocation *allocation, struct dnp_text *type);

/*
 * Bytes that an object of that size stands for, if AllocationSampled tells of it: its size divided
 * by the probability of that.
 */
double dnp_allocation_stands_for(uint64_t bytes);

#endif
