/* SPDX-License-Identifier: MIT */
/*
 * One recording into a profile.
 *
 * While it is read its own indices are kept: modules, frames, threads and nodes as they come, the
 * samples added up by (time, thread, node). Names of native functions may come last, so only then
 * frames get their names, stacks the filter, and what is left joins the profile.
 *
 * Place 0 of frames, threads and nodes is for what is lost: something that a record names and none
 * defined. Node place 1 is the root.
 */
#ifndef DNP_AGGREGATE_LOAD_H
#define DNP_AGGREGATE_LOAD_H

#include "aggregate/ids.h"
#include "aggregate/profile.h"

#define DNP_LOST 0u
#define DNP_ROOT 1u

#define DNP_FAILURE_REASONS 64u /* that are kept apart; a sound recording has far fewer */

struct dnp_raw_thread {
	struct dnp_rec_thread rec;
	uint64_t end_cpu_ns;
};

struct dnp_raw_event {
	struct dnp_rec_event rec;
	struct dnp_rec_stats stats; /* the newest */
	uint64_t samples, truncated, incomplete;
	uint64_t lost_by[DNP_LOSS_REASONS];
	struct dnp_vec_of(struct dnp_rec_failure) failures; /* of each reason the newest */
	bool weighed;                                       /* a weight counts samples */
	struct dnp_rows rows;                               /* of places */
};

struct dnp_raw_node {
	uint32_t parent, frame; /* places; a parent stands before its children */
};

struct dnp_load {
	struct dnp_profile *profile;
	const struct dnp_recording *recording;
	struct dnp_ids module_ids, frame_ids, thread_ids, node_ids, event_ids;
	struct dnp_vec_of(struct dnp_rec_module) modules;
	struct dnp_vec_of(struct dnp_rec_frame) frames; /* their module is a place, or DNP_NONE */
	struct dnp_vec_of(struct dnp_raw_thread) threads;
	struct dnp_vec_of(struct dnp_raw_event) events;
	struct dnp_vec_of(struct dnp_raw_node) nodes;
	struct dnp_vec_of(struct dnp_rec_symbol) symbols;
	struct dnp_rec_exit exit;
	bool exited, ended;
	uint64_t start_ns;  /* since the profile's start */
	uint64_t newest_ns; /* CLOCK_MONOTONIC */
	uint32_t process;   /* in the profile */
};

/* Puts what was read into the profile. 0 or -ENOMEM. */
int dnp_load_join(struct dnp_load *load);

#endif
