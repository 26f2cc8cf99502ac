/* SPDX-License-Identifier: MIT */
/* What test_crowded.c wants to know of a recording: what the tools make of it (crowded.c). */
#ifndef DNP_TEST_CROWDED_H
#define DNP_TEST_CROWDED_H

#include <stdint.h>

struct crowded_site {
	double bytes, low, high;
};

struct crowded {
	uint64_t kept; /* bytes of the event alloc */
	/* Of objects that stay; site[0] is that of the type A, [1] of B. */
	unsigned sites;
	struct crowded_site site[2];
	uint64_t mean_bytes, asked_bytes, most, watched, unseen;
};

/* Of one with two events, alloc first. */
struct crowded crowded_read(const char *path);

#endif
