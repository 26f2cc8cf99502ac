/* SPDX-License-Identifier: MIT */
/*
 * Objects that are watched until they are collected: how many there may be, which stay when there
 * are more, and what they have come through.
 *
 * An object stands for so many bytes that were allocated, and has drawn a lot, in [0, 1). It stays
 * where the lot times the mean is less than these bytes, and then weighs at least the mean: so it
 * stays with the probability bytes / mean, and sums have no bias, however often the mean grows and
 * others go (Horvitz and Thompson 1952).
 *
 * While the recorder gets no turn room runs short, and nobody finds out what has gone. Then those
 * that come have to pass with a greater mean of their own, so that what is left of the room lasts;
 * they weigh as much more, and none is lost.
 */
#ifndef DNP_CAPTURE_LIVE_OBJECTS_H
#define DNP_CAPTURE_LIVE_OBJECTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define DNP_LIVE_NONE UINT32_MAX
#define DNP_LIVE_OPEN 4u /* collections at a time; the runtime has two */

/* Collections so far. Written by one thread at a time. */
struct dnp_live_clock {
	_Atomic uint32_t begun, over;
	_Atomic uint32_t full_begun, full_over; /* of generation 2 */
	_Atomic uint64_t seen_ns;               /* when the last began that is over */
	struct {
		uint64_t number; /* 0: none */
		unsigned generation;
		uint64_t begin_ns;
	} open[DNP_LIVE_OPEN]; /* the end of those beyond is not known */
};

/* `number`: the runtime's, from 1. */
void dnp_live_clock_begin(
	struct dnp_live_clock *clock, uint64_t number, unsigned generation, uint64_t now_ns);
/* One that began before all was told is none. */
void dnp_live_clock_end(struct dnp_live_clock *clock, uint64_t number);

/* As it stands at a moment. */
struct dnp_live_times {
	uint32_t begun, over, full_begun, full_over;
};

struct dnp_live_times dnp_live_clock_now(const struct dnp_live_clock *clock);

struct dnp_live_object {
	uintptr_t handle; /* 0: the place is free, or not filled yet */
	uint64_t time_ns;
	uint64_t size;       /* bytes of the object itself */
	double bytes, lot;   /* see above */
	uint64_t mean_bytes; /* with which it passed; that of all may have grown since */
	uint32_t begun;      /* collections when it was made */
	uint32_t full_begun; /* … of generation 2 */
	bool young;          /* any collection can be its first; else one of generation 2 */
	int32_t tid;
	uint32_t thread;
	uint32_t next; /* of the free ones */
	/* The recorder's. */
	bool known;   /* its stack has come */
	uint8_t stop; /* enum dnp_walk_stop */
	uint32_t node;
};

/*
 * How many collections have seen an object and left it, by what was read before it was found to be
 * there; never too many. *full: of these those of generation 2.
 */
uint32_t dnp_live_survived(
	const struct dnp_live_object *object, const struct dnp_live_times *times, uint32_t *full);

struct dnp_live_objects {
	struct dnp_live_object *all; /* borrowed; zero at first */
	uint32_t capacity;
	_Atomic uint32_t end; /* places behind it were never taken */
	_Atomic uint32_t n;
	uint32_t first;   /* free one, DNP_LIVE_NONE: none */
	uint32_t most;    /* at once, so far */
	uint64_t watched; /* so far */
};

void dnp_live_objects_init(
	struct dnp_live_objects *objects, struct dnp_live_object *all, uint32_t capacity);

/*
 * A place that is free no more; DNP_LIVE_NONE: there is none. `known` is 0, all else is as it was.
 * One thread at a time, as give.
 */
uint32_t dnp_live_take(struct dnp_live_objects *objects);
/* The object in a place that was taken is watched from now on. The same. */
void dnp_live_keep(struct dnp_live_objects *objects);
void dnp_live_give(struct dnp_live_objects *objects, uint32_t place);

/* How short places are (dnp_shortage). Any thread. */
unsigned dnp_live_shortage(const struct dnp_live_objects *objects);

/* Whether it is time to let some go. Any thread. */
bool dnp_live_is_crowded(const struct dnp_live_objects *objects);

#endif
