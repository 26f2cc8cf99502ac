/* SPDX-License-Identifier: MIT */
/* Which of tracks each of many spans goes to, so that those of one do not overlap. */
#ifndef DNP_EXPORT_TRACKS_H
#define DNP_EXPORT_TRACKS_H

#include <stddef.h>
#include <stdint.h>

/* A zeroed one has no spans yet. */
struct dnp_tracks {
	/* Owned: when the last span of a track ends, ends[width + track], 0: it has none. ends[i]
	 * is the least of ends[2 * i] and ends[2 * i + 1]. */
	uint64_t *ends;
	size_t width; /* a power of two, or 0 */
};

void dnp_tracks_done(struct dnp_tracks *tracks);

/* The first track that is free when the span begins; spans come as they begin. 0 or -ENOMEM. */
int dnp_tracks_take(struct dnp_tracks *tracks, uint64_t begin_ns, uint64_t end_ns, size_t *track);

#endif
