/* SPDX-License-Identifier: MIT */
/*
 * What each thread of a process was doing at one moment: a recording of `dnprof stack`, one stack a
 * thread, as it is shown.
 */
#ifndef DNP_AGGREGATE_MOMENT_H
#define DNP_AGGREGATE_MOMENT_H

#include "aggregate/profile.h"

struct dnp_moment_thread {
	uint64_t tid;
	uint32_t name; /* string of the profile */
	enum dnp_thread_doing state;
	struct dnp_str call;    /* borrowed from the recording: what it waits in; may be empty */
	int64_t call_number;    /* -1: none */
	struct dnp_str missing; /* borrowed: why it has no stack, or a part; empty: it has */
	uint32_t node;          /* of the profile: its leaf; DNP_NONE: no stack */
	uint32_t same;          /* the first thread that does the same; itself, if it is that */
};

struct dnp_moment {
	const struct dnp_profile *profile;                   /* borrowed */
	struct dnp_vec_of(struct dnp_moment_thread) threads; /* as the recording has them */
};

/*
 * Of the recording from which the profile was made, by thread, which is finished. Threads that its
 * filter does not want are left out. 0 or -ENOMEM.
 */
int dnp_moment_init(struct dnp_moment *moment, const struct dnp_profile *profile,
	const struct dnp_recording *recording);
void dnp_moment_done(struct dnp_moment *moment);

#endif
