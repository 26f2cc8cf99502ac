/* SPDX-License-Identifier: MIT */
/*
 * What a sampler that looks at threads from outside knows of each, and what samples are due: by the
 * CPU time that it has used, and by the time that has passed. For the sampler's own thread.
 */
#ifndef DNP_CAPTURE_DUE_H
#define DNP_CAPTURE_DUE_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/managed.h"
#include "unwind/walk.h"

enum dnp_due_event { DNP_DUE_CPU, DNP_DUE_WALL, DNP_DUE_EVENTS };

/* Native frames at the leaf of a sleeping thread that are kept; of deeper ones none is. */
#define DNP_DUE_LEAF_MAX 64

/*
 * The time that passes for a thread, as the kernel's clocks split it: ns of which no sample has
 * told yet, less than none where one has told of more. What it ran is for looks that see it run,
 * and what it slept for those that see it asleep.
 */
struct dnp_due_split {
	int64_t ran, waited, slept;            /* waited for a processor */
	uint64_t booked_ns, cpu_ns, waited_ns; /* until then, and the clocks' values */
	bool waits_known;                      /* … the last one's, too */
};

/* Zeroed before the first look. */
struct dnp_due {
	uint64_t serial;                 /* of the thread that this is about */
	uint64_t cpu_ns;                 /* its clock when it was looked at last */
	uint64_t owed_ns;                /* CPU time of which no sample has told yet … */
	uint64_t part_ns;                /* … and less than a sample of it that was its turn */
	uint64_t until_ns;               /* until when its life is told of, … */
	uint64_t life_ns;                /* … but for that, less than a sample */
	uint64_t weight[DNP_DUE_EVENTS]; /* of the samples that are due */
	bool waiting;                    /* it has not run since it was looked at before that;
					    where time is split: it slept what is due */
	bool asleep;                     /* it slept in native code then, */
	uint8_t n_leaf;                  /* in so many frames; 0: not known */

	struct dnp_due_split split;

	/* The sampler's. */
	uint64_t leaf_cpu_ns;    /* its clock when it was seen asleep */
	uint64_t stood_cpu_ns;   /* its clock when all stood still */
	uint64_t walked_ns;      /* its clock when it was walked last, UINT64_MAX: never */
	uint64_t moved_ns;       /* when that was last seen to have gone on */
	enum dnp_walk_stop stop; /* why that walk ended */
	uint8_t flags;           /* of its samples */
};

/* What the sampler is about to look for. */
struct dnp_due_round {
	uint32_t events; /* bits of enum dnp_due_event */
	uint64_t interval_ns;
	/*
	 * Samples tell of no more CPU time at once than that. Where clocks of threads go in coarse
	 * ticks it is the time that has passed: what a tick adds is told of evenly over as long.
	 */
	uint64_t most_ns;
	/* Time that passes is split, by dnp_due_split; this look leaves that to it. */
	bool splits;
};

/* Reads a thread's clock; whether samples of it are due. false: it may have gone. */
bool dnp_due_look(
	struct dnp_due *due, const struct dnp_managed *managed, const struct dnp_due_round *round);

/*
 * The same for one that has gone, and whose number may be another thread's by now: nobody knows
 * when it did, so it is taken to have lived until it was looked at last.
 */
bool dnp_due_gone(
	struct dnp_due *due, const struct dnp_managed *managed, const struct dnp_due_round *round);

/*
 * In what native code a thread sleeps, if it does. Before the runtime is suspended: it does not
 * tell that of threads, and its own stop must not be mistaken for the program's.
 */
void dnp_due_look_at_leaf(struct dnp_due *due, const struct dnp_managed *managed,
	dnp_frame_word frames[DNP_DUE_LEAF_MAX]);

/*
 * After a look, and one at the leaf of a thread that has moved: what of the time that passed is
 * told of now. What it waited for a processor is stored here, as a frame that says so.
 */
void dnp_due_split(struct dnp_due *due, const struct dnp_managed *managed, uint64_t interval_ns,
	const unsigned index[DNP_DUE_EVENTS]);
/*
 * Of a thread that ends, or of all as the recording does: the same of what it ran, and then of what
 * it slept. `there`: a look has just found it there.
 */
void dnp_due_split_end(struct dnp_due *due, const struct dnp_managed *managed, uint64_t interval_ns,
	const unsigned index[DNP_DUE_EVENTS], bool there);
void dnp_due_split_slept(struct dnp_due *due, uint64_t interval_ns);

/*
 * Stores the samples that are due: of the `n` frames that stand in feed->frames, the sampled
 * thread's outside feed; `walk_ns` 0: these are the last ones. `index`: the events' in samples.
 */
SIGSAFE void dnp_due_store(struct dnp_due *due, struct dnp_feed *feed,
	const unsigned index[DNP_DUE_EVENTS], uint32_t n, uint64_t walk_ns);

/* Whether it has run since it was walked last. */
SIGSAFE static inline bool dnp_due_has_moved(const struct dnp_due *due)
{
	return due->walked_ns != due->cpu_ns;
}

#endif
