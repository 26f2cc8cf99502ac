/* SPDX-License-Identifier: MIT */
/*
 * The drain: takes samples out of the threads' rings, interns their stacks and writes them. It runs
 * on one thread of our own and is the only one that writes the recording.
 */
#ifndef DNP_STORE_DRAIN_H
#define DNP_STORE_DRAIN_H

#include <stdint.h>

#include "store/intern.h"
#include "store/threads.h"
#include "store/writer.h"

/* What else is to be known of a frame. */
enum dnp_nature {
	DNP_NATURE_UNKNOWN = 1, /* its function is not known */
	DNP_NATURE_PART = 2,    /* a part of a method that the method calls: a finally block, say */
};

/* Of one event, over all threads, also those that have gone. */
struct dnp_drain_sums {
	uint64_t samples, frames, truncated, unresolved, walk_ns, lost;
	uint64_t stops[DNP_STOP_COUNT];
	uint64_t walks[DNP_WALK_BUCKETS];
	uint64_t failed; /* walks that failed without any stack, as engines told */
};

struct dnp_drain {
	struct dnp_writer writer;
	struct dnp_intern intern;
	/*
	 * The frame index of an address that was walked at `time_ns`; defines the frame in the
	 * recording when it is new. *nature: enum dnp_nature, 0 before.
	 */
	uint32_t (*frame_of)(struct dnp_drain *drain, dnp_frame_word word, uint64_t time_ns,
		int collecting, unsigned *nature);
	/* Told of each thread that has gone, before its last samples are taken; NULL: nobody is. */
	void (*gone)(struct dnp_thread *thread);
	dnp_frame_word *frames; /* owned: one sample's, as read from a ring */
	uint8_t *encoded;       /* owned: a chain of new frames, as it goes into its record */

	struct dnp_drain_sums sums[DNP_EVENTS_MAX];
	unsigned n_events;
	uint32_t refused_told;
};

/* Takes fd over; events 0 to n_events - 1 will come. 0 or -errno. */
int dnp_drain_open(struct dnp_drain *drain, int fd, uint64_t recording, unsigned n_events);

/*
 * Empties all rings once, and releases the records of threads that have gone (looked for when
 * `look_for_ends`). Returns 0 or the -errno of a write that failed.
 */
int dnp_drain_round(struct dnp_drain *drain, int look_for_ends);

/* Samples taken and lost so far, over all events. */
void dnp_drain_totals(const struct dnp_drain *drain, uint64_t *samples, uint64_t *lost);

/* Tells how many walks of an event have failed by now for one reason, without any stack. */
void dnp_drain_failure(struct dnp_drain *drain, unsigned event, const char *reason, uint64_t count);

/* Writes the counters as they stand (stats, losses, failures), after the failures were told. */
void dnp_drain_stats(struct dnp_drain *drain, size_t agent_bytes);

/* Writes what is left and closes the recording. */
int dnp_drain_close(struct dnp_drain *drain, enum dnp_end_reason reason);

#endif
