/* SPDX-License-Identifier: MIT */
/*
 * What the runtime's events come to: collections of garbage, each with its pauses, and what it did
 * to the heap. Events come one after another, from whatever thread; the caller sees to that.
 */
#ifndef DNP_CAPTURE_COLLECTIONS_H
#define DNP_CAPTURE_COLLECTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "clr/collection.h"
#include "format/rec.h"

struct dnp_collection {
	uint64_t number; /* the runtime's */
	uint32_t generation, reason;
	enum dnp_collection_kind kind;
	bool compacting;
	uint64_t trigger; /* which one brought it about, as told; 0: not known */
	bool inherited;   /* … it was meant for another one, in the background */
	int tid;          /* of the thread that ended it, and its index; 0: it goes on */
	uint32_t thread;
	uint64_t begin_ns, end_ns; /* end_ns 0: it goes on */
	uint32_t pauses;
	uint64_t suspend_ns, pause_ns, longest_ns; /* of its pauses: stopping threads; in all */
	uint64_t before[DNP_GC_GENERATIONS], after[DNP_GC_GENERATIONS];
	uint64_t survived[DNP_GC_GENERATIONS]; /* of what it collected */

	/* While it goes on. */
	bool meant_background, in_pause, ended;
	int told_by;            /* the thread of its histories; 0: none has come */
	uint32_t heaps, so_far; /* histories that will come, and that came */
};

/* A time in which the program stood still, for a collection that may go on. */
struct dnp_gc_pause {
	uint64_t begin_ns, end_ns;
	uint64_t number; /* of the collection; 0: it began before, or there is none */
	uint32_t generation;
	int tid; /* of the thread that stopped the others, and its index */
	uint32_t thread;
};

#define DNP_COLLECTIONS_OPEN  4u    /* at once, more than there can be */
#define DNP_COLLECTIONS_ENDED 2048u /* and pauses, that the recorder has not taken yet */

/* All zero: none yet. */
struct dnp_collections {
	struct dnp_collection open[DNP_COLLECTIONS_OPEN];
	uint32_t n_open;
	struct {
		bool open;
		int tid;
		uint32_t thread;
		uint64_t begin_ns, suspended_ns;
		uint64_t resumed_ns; /* 0: not yet */
	} pause;
	uint64_t trigger;   /* of the next one that starts */
	uint64_t passed_ns; /* the end of a pause in which that did not start; 0: there was none */

	struct dnp_collection ended[DNP_COLLECTIONS_ENDED];
	struct dnp_gc_pause pauses[DNP_COLLECTIONS_ENDED];
	uint32_t n_ended, n_pauses;
	uint32_t first_ended; /* those before are taken */
	uint64_t lost;        /* collections, for want of room */
	uint64_t lost_pauses; /* the same */
};

struct dnp_gc_moment {
	uint64_t time_ns;
	uint64_t trigger; /* of Triggered: its number */
	int tid;
	uint32_t thread; /* index in the recording */
};

void dnp_collections_event(struct dnp_collections *collections, const struct dnp_gc_event *event,
	const struct dnp_gc_moment *moment);

/*
 * Those that ended before that time have told all that they will, and one that is wanted, for which
 * the program had stood still by then, does not come; UINT64_MAX: those that still go on, too.
 */
void dnp_collections_flush(struct dnp_collections *collections, uint64_t before_ns);

/* Whether the one that was wanted then may still begin, goes on, or waits to be taken. */
bool dnp_collections_await(const struct dnp_collections *collections, uint64_t trigger);

/* The next one that is over, and a pause, in no order. False: there is none. */
bool dnp_collections_take(struct dnp_collections *collections, struct dnp_collection *one);
bool dnp_collections_take_pause(struct dnp_collections *collections, struct dnp_gc_pause *pause);

#endif
