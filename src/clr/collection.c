/* SPDX-License-Identifier: MIT */
#include "clr/collection.h"

#include <errno.h>

#include "clr/payload.h"

#define SUSPEND_FOR_GC      1u
#define SUSPEND_FOR_GC_PREP 6u
#define TYPE_BACKGROUND     1u

/* GlobalMechanisms of GCGlobalHeapHistory. */
#define MECHANISM_CONCURRENT 0x1u
#define MECHANISM_COMPACTION 0x2u

/* From this on histories have the layout that is read here. */
#define HEAP_HISTORY_VERSION 3u

static void skip(struct dnp_payload *payload, unsigned pointers, unsigned u32s)
{
	while (pointers--)
		dnp_payload_pointer(payload);
	while (u32s--)
		dnp_payload_u32(payload);
}

static void read_start(struct dnp_payload *payload, struct dnp_gc_event *event)
{
	event->number = dnp_payload_u32(payload);
	event->generation = dnp_payload_u32(payload);
	event->reason = dnp_payload_u32(payload);
	event->background = dnp_payload_u32(payload) == TYPE_BACKGROUND;
}

static void read_suspend(struct dnp_payload *payload, struct dnp_gc_event *event)
{
	uint32_t reason = dnp_payload_u32(payload);

	event->for_gc = reason == SUSPEND_FOR_GC || reason == SUSPEND_FOR_GC_PREP;
}

static void read_heap_history(struct dnp_payload *payload, struct dnp_gc_event *event)
{
	uint32_t n;

	dnp_payload_u16(payload); /* ClrInstanceID */
	skip(payload, 6, 6);      /* FreeListAllocated … HeapIndex */
	skip(payload, 1, 0);      /* ExtraGen0Commit */
	n = dnp_payload_u32(payload);
	for (unsigned i = 0; i < n && i < DNP_GC_GENERATIONS; i++) {
		event->before[i] = dnp_payload_pointer(payload);
		skip(payload, 2, 0); /* FreeListSpaceBefore, FreeObjSpaceBefore */
		event->after[i] = dnp_payload_pointer(payload);
		skip(payload, 3, 0); /* FreeListSpaceAfter, FreeObjSpaceAfter, In */
		event->survived[i] = dnp_payload_pointer(payload);  /* PinnedSurv */
		event->survived[i] += dnp_payload_pointer(payload); /* NonePinnedSurv */
		skip(payload, 1, 0);                                /* NewAllocation */
	}
}

static void read_global_history(struct dnp_payload *payload, struct dnp_gc_event *event)
{
	uint32_t mechanisms;

	dnp_payload_u64(payload); /* FinalYoungestDesired */
	event->heaps = dnp_payload_u32(payload);
	skip(payload, 0, 3); /* CondemnedGeneration, Gen0ReductionCount, Reason */
	mechanisms = dnp_payload_u32(payload);
	event->background = mechanisms & MECHANISM_CONCURRENT;
	event->compacting = mechanisms & MECHANISM_COMPACTION;
}

int dnp_gc_event_read(
	uint32_t id, uint32_t version, const uint8_t *data, size_t n, struct dnp_gc_event *event)
{
	struct dnp_payload payload = dnp_payload(data, n);

	*event = (struct dnp_gc_event){.id = (enum dnp_gc_event_id)id};
	if (id == DNP_GC_HEAP_HISTORY && version < HEAP_HISTORY_VERSION)
		return -EBADMSG;
	switch (id) {
	case DNP_GC_START: read_start(&payload, event); break;
	case DNP_GC_END: event->number = dnp_payload_u32(&payload); break;
	case DNP_GC_SUSPEND_BEGIN: read_suspend(&payload, event); break;
	case DNP_GC_HEAP_HISTORY: read_heap_history(&payload, event); break;
	case DNP_GC_GLOBAL_HISTORY: read_global_history(&payload, event); break;
	case DNP_GC_TRIGGERED:
	case DNP_GC_SUSPEND_END:
	case DNP_GC_RESTART_BEGIN:
	case DNP_GC_RESTART_END: break;
	default: return -ENOMSG;
	}
	return dnp_payload_ok(&payload) ? 0 : -EBADMSG;
}
