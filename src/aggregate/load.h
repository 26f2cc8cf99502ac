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

#include "aggregate/call_load.h"
#include "aggregate/ids.h"
#include "aggregate/profile.h"
#include "aggregate/requests.h"
#include "aggregate/span_load.h"

#define DNP_LOST 0u
#define DNP_ROOT 1u

#define DNP_SWITCH_EVENT "switch"

#define DNP_EVENTS_APART    64u /* so many, and all others are one: each takes much memory */
#define DNP_FAILURE_REASONS 64u /* that are kept apart; a sound recording has far fewer */

struct dnp_raw_thread {
	struct dnp_rec_thread rec;
	uint64_t end_ns, end_cpu_ns;
	struct dnp_run_times run;
	bool promised; /* calls of it came first; its definition may follow */
};

struct dnp_raw_event {
	struct dnp_rec_event rec;
	struct dnp_rec_stats stats; /* the newest */
	uint64_t samples, truncated, incomplete;
	uint64_t taken; /* as samples, whatever the filter wants */
	bool waited;    /* of one of these at least the thread did not run */
	uint64_t lost_by[DNP_LOSS_REASONS];
	struct dnp_vec_of(struct dnp_rec_failure) failures; /* of each reason the newest */
	bool weighed;                                       /* a weight counts samples */
	bool switches;                                      /* it is that of slices and clocks */
	uint64_t lost_switches;
	struct dnp_rec_wait_stats waits; /* the newest */
	bool promised;                   /* something of it came first; its definition may follow */
	struct dnp_rows rows;            /* of places */
	struct dnp_raw_labels labels;
	struct dnp_raw_counts counts;
	bool summed;          /* its samples are sums of what was over some time */
	bool by_lot;          /* … or some of what was, each of which stands for others */
	uint64_t asked_lot;   /* rec.lot as it was at first */
	uint64_t least;       /* weight of such a one; 0: there is none */
	struct dnp_rows sums; /* weights count what samples stand for beyond themselves */
	bool left_out;        /* requests are chosen, by which it cannot be told */
	bool numbered;        /* the values of its samples are numbers of exceptions */
	struct dnp_raw_thrown thrown;
	struct dnp_raw_calls *calls; /* owned; NULL: there are none */
};

struct dnp_raw_node {
	uint32_t parent, frame; /* places; a parent stands before its children */
};

struct dnp_raw_wait {
	uint32_t thread, node; /* places */
	struct dnp_rec_wait rec;
};

/* How often one thread was woken by another, or by another process (or interrupts: pid 0). */
struct dnp_raw_wake {
	uint32_t thread, by;     /* places; by DNP_NONE: another process's */
	uint64_t by_pid;         /* then */
	struct dnp_str name;     /* of its thread that was the first */
	struct dnp_wait_sum run; /* until it had a processor: those of which that is known */
	uint64_t count;
};

struct dnp_load {
	struct dnp_profile *profile;
	const struct dnp_recording *recording;
	struct dnp_ids module_ids, frame_ids, thread_ids, node_ids, event_ids, traced_ids;
	struct dnp_vec_of(struct dnp_rec_module) modules;
	struct dnp_vec_of(struct dnp_rec_frame) frames; /* their module is a place, or DNP_NONE */
	struct dnp_vec_of(struct dnp_raw_thread) threads;
	struct dnp_vec_of(struct dnp_raw_event) events;
	struct dnp_vec_of(struct dnp_raw_node) nodes;
	struct dnp_vec_of(bool) labelled; /* nodes with a label, up to the last one that has */
	struct dnp_vec_of(struct dnp_rec_symbol) symbols;
	struct dnp_vec_of(struct dnp_rec_traced) traced;
	struct dnp_vec_of(struct dnp_raw_wait) waits; /* where details are wanted */
	struct dnp_vec_of(struct dnp_raw_wake) wakes;
	struct dnp_map wake_of; /* who woke whom → place in wakes */
	struct dnp_raw_spans spans;
	struct dnp_requests requests;
	struct dnp_vec_of(struct dnp_rec_collection) collections;
	struct dnp_vec_of(struct dnp_rec_live) live;
	struct dnp_rec_live_stats live_stats;
	struct dnp_rec_exit exit;
	struct dnp_rec_agent agent; /* the newest */
	bool exited, ended;
	bool is_copy;  /* it ended, but what was copied goes on */
	bool switches; /* slices of threads came */
	uint64_t lost_switches;
	uint64_t damaged;       /* bytes of slices */
	uint64_t start_ns;      /* since the profile's start */
	uint64_t newest_ns;     /* CLOCK_MONOTONIC */
	uint32_t process;       /* in the profile */
	size_t problems_before; /* in the profile: of other recordings */
};

/* Nanoseconds since the recording's start. */
uint64_t dnp_load_since_start(const struct dnp_load *load, uint64_t time_ns);

/* Whether the filter wants what a thread (the recording's index) did at that moment. */
bool dnp_load_wants(const struct dnp_load *load, uint64_t thread, uint64_t time_ns);

/* The place of a thread that may be defined later; DNP_NONE: no memory. */
uint32_t dnp_load_thread(struct dnp_load *load, uint64_t index);

/* The places of a thread and of a node that were defined by now, or of what is lost. */
void dnp_load_places(
	const struct dnp_load *load, uint64_t thread, uint64_t node, struct dnp_row *row);

/* call_follow.c: adds up the calls of `call_events` once all records were visited. */
int dnp_load_follow(struct dnp_load *load, struct dnp_raw_event *event, uint64_t *damaged);

/* Puts what was read into the profile. 0 or -ENOMEM. */
int dnp_load_join(struct dnp_load *load);

#endif
