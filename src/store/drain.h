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

struct dnp_drain {
	struct dnp_writer writer;
	struct dnp_intern intern;
	/*
	 * The frame index of an address that was walked at `time_ns`; defines the frame in the
	 * recording when it is new. *nature: enum dnp_nature, 0 before.
	 */
	uint32_t (*frame_of)(struct dnp_drain *drain, dnp_frame_word word, uint64_t time_ns,
		int collecting, unsigned *nature);
	dnp_frame_word *frames; /* owned: one sample's, as read from a ring */
	uint8_t *encoded;       /* owned: a chain of new frames, as it goes into its record */

	/* Sums over threads that have gone; those that live keep their own. */
	uint64_t samples, n_frames, truncated, failed, unresolved, walk_ns, lost;
	uint32_t refused_told;
	uint64_t stops[DNP_STOP_COUNT];
	uint64_t walks[DNP_WALK_BUCKETS];
};

/* Takes fd over. 0 or -errno. */
int dnp_drain_open(struct dnp_drain *drain, int fd, uint64_t recording);

/*
 * Empties all rings once, and releases the records of threads that have gone (looked for when
 * `look_for_ends`). Returns 0 or the -errno of a write that failed.
 */
int dnp_drain_round(struct dnp_drain *drain, int look_for_ends);

/* Writes the counters as they stand (stats, losses, failures). */
void dnp_drain_stats(struct dnp_drain *drain, size_t agent_bytes);

/* Writes what is left and closes the recording. */
int dnp_drain_close(struct dnp_drain *drain, enum dnp_end_reason reason);

#endif
