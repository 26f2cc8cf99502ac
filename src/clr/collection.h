/* SPDX-License-Identifier: MIT */
/*
 * The events by which the runtime tells of garbage collections (Microsoft-Windows-DotNETRuntime,
 * keyword GC). Of one that stops the program they come in the order
 *
 *   SuspendBegin, SuspendEnd, Triggered, Start, global and heap histories, End, RestartBegin,
 *   RestartEnd
 *
 * Triggered comes on the thread that wants the collection; where the server's collector is used it
 * comes first, and all others on threads of the collector. One in the background has two pauses of
 * its own, others may come and go meanwhile, and its histories may come after its end.
 */
#ifndef DNP_CLR_COLLECTION_H
#define DNP_CLR_COLLECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DNP_KEYWORD_COLLECTIONS UINT64_C(0x1)

enum dnp_gc_event_id {
	DNP_GC_START = 1,
	DNP_GC_END = 2,
	DNP_GC_RESTART_END = 3,
	DNP_GC_RESTART_BEGIN = 7,
	DNP_GC_SUSPEND_END = 8,
	DNP_GC_SUSPEND_BEGIN = 9,
	DNP_GC_TRIGGERED = 35,
	DNP_GC_HEAP_HISTORY = 204, /* of each heap of the collector */
	DNP_GC_GLOBAL_HISTORY = 205,
};

/* Generations 0 to 2, large and pinned objects. */
#define DNP_GC_GENERATIONS 5

struct dnp_gc_event {
	enum dnp_gc_event_id id;
	uint64_t number;     /* Start, End: of the collection, from 1 */
	uint32_t generation; /* Start */
	uint32_t reason;     /* Start */
	bool for_gc;         /* SuspendBegin: it is for a collection */
	bool background;     /* Start: it is meant to be; GlobalHistory: it was */
	bool compacting;     /* GlobalHistory */
	uint32_t heaps;      /* GlobalHistory: histories of heaps that follow on this thread */
	/* HeapHistory: bytes of this heap, and those that survived of what was collected. */
	uint64_t before[DNP_GC_GENERATIONS], after[DNP_GC_GENERATIONS];
	uint64_t survived[DNP_GC_GENERATIONS];
};

/* Reads a payload: 0; -ENOMSG: it is none of these events; -EBADMSG: it is not what is known. */
int dnp_gc_event_read(
	uint32_t id, uint32_t version, const uint8_t *data, size_t n, struct dnp_gc_event *event);

#endif
