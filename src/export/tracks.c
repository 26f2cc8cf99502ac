/* SPDX-License-Identifier: MIT */
#include "export/tracks.h"

#include <errno.h>
#include <stdlib.h>

/* What is above an end, up to the least of all. */
static void update(struct dnp_tracks *tracks, size_t at)
{
	const uint64_t *ends = tracks->ends;

	while (at /= 2)
		tracks->ends[at] =
			ends[2 * at] < ends[2 * at + 1] ? ends[2 * at] : ends[2 * at + 1];
}

/* Twice as many tracks, of which the new ones are free: so the least of all is 0 then. */
static int widen(struct dnp_tracks *tracks)
{
	struct dnp_tracks wide = {.width = tracks->width ? 2 * tracks->width : 8};

	wide.ends = calloc(2 * wide.width, sizeof(*wide.ends));
	if (!wide.ends)
		return -ENOMEM;
	for (size_t i = 0; i < tracks->width; i++) {
		wide.ends[wide.width + i] = tracks->ends[tracks->width + i];
		update(&wide, wide.width + i);
	}
	dnp_tracks_done(tracks);
	*tracks = wide;
	return 0;
}

int dnp_tracks_take(struct dnp_tracks *tracks, uint64_t begin_ns, uint64_t end_ns, size_t *track)
{
	size_t at = 1;

	if ((!tracks->width || tracks->ends[at] > begin_ns) && widen(tracks))
		return -ENOMEM;
	while (at < tracks->width) {
		at *= 2;
		at += tracks->ends[at] > begin_ns;
	}
	tracks->ends[at] = end_ns;
	update(tracks, at);
	*track = at - tracks->width;
	return 0;
}

void dnp_tracks_done(struct dnp_tracks *tracks)
{
	free(tracks->ends);
	*tracks = (struct dnp_tracks){0};
}
