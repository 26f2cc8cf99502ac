/* SPDX-License-Identifier: MIT */
/*
 * What recordings come to: who ran, which events, and every sample's stack, added up.
 *
 *   dnp_profile_init, dnp_profile_add (one recording each) …, dnp_profile_finish, use,
 *   dnp_profile_done
 *
 * Stacks are a trie: a node is a frame on top of its parent's stack. Node 0 is the root, with the
 * pseudo frame 0 "all"; parents stand before their children. Recordings share the trie: equal name,
 * module and kind of code are one frame. Only nodes that samples stand on are there.
 *
 * Indices (process, thread, event, frame, node, string) are places in the arrays. No I/O.
 */
#ifndef DNP_AGGREGATE_PROFILE_H
#define DNP_AGGREGATE_PROFILE_H

#include "aggregate/rows.h"
#include "base/err.h"
#include "base/strings.h"
#include "base/vec.h"
#include "read/input.h"

/* The numbers are those of the page's data. */
enum dnp_code {
	DNP_CODE_USER = 0,      /* managed, the program's own */
	DNP_CODE_FRAMEWORK = 1, /* managed, of .NET */
	DNP_CODE_NATIVE = 2,
	DNP_CODE_KERNEL = 3,
	DNP_CODE_GC = 4,
	DNP_CODE_JIT = 5,
	DNP_CODE_OTHER = 6, /* stubs, unknown, lost */
};

struct dnp_frame {
	uint32_t name, module; /* strings */
	uint32_t code;         /* enum dnp_code */
	bool managed;          /* stays where native frames are left out */
};

struct dnp_node {
	uint32_t parent, frame;
};

struct dnp_process {
	uint64_t pid;
	uint32_t title;                      /* string: app.dll */
	uint32_t runtime, os, tool;          /* strings */
	struct dnp_vec_of(uint32_t) command; /* strings */
	uint64_t cpus;
	uint64_t start_ns; /* since the profile's start */
	uint64_t start_unix_ns;
	uint64_t duration_ns;
	uint64_t status, signal; /* how the command ended, if exited */
	bool exited, complete;
};

/* What ended walks early, and how often. */
struct dnp_failure {
	uint32_t reason; /* string */
	uint64_t count;
};

struct dnp_thread {
	uint32_t process;
	uint32_t name; /* string */
	uint64_t tid;
	uint64_t cpu_ns; /* used while it was watched, by its own clock; 0: not known */
	uint64_t flags;  /* enum dnp_thread_flags */
};

#define DNP_LOSS_REASONS DNP_LOSS_COUNT /* 0 stands for those that this version does not know */

struct dnp_event {
	uint32_t name, unit, source, note; /* strings */
	uint64_t interval_ns;
	uint64_t samples; /* in units: a sample of weight 3 counts 3 where the unit is "samples" */
	uint64_t waiting; /* of them those whose thread did not run */
	uint64_t lost, lost_by[DNP_LOSS_REASONS];
	uint64_t truncated, failed, unresolved, frames;
	uint64_t agent_bytes;              /* memory of the agents, of all processes together */
	uint64_t walk_p50_ns, walk_p99_ns; /* of the process where they are greatest */
	struct dnp_vec_of(struct dnp_failure) failures;
	struct dnp_rows rows;
};

/* Which frames stacks have besides managed ones: native, of the kernel, stubs. */
enum dnp_native {
	DNP_NATIVE_ALL,
	DNP_NATIVE_LEAF, /* those above the topmost managed frame */
	DNP_NATIVE_NONE, /* a stack without a managed frame is the one frame [native] */
};

enum dnp_state {
	DNP_STATE_ANY,
	DNP_STATE_RUNNING,
	DNP_STATE_WAITING,
};

/* What to leave out. All-zero: nothing. Borrowed while the profile is made. */
struct dnp_filter {
	uint64_t from_ns, to_ns;    /* since the recording's start; to_ns 0: to its end */
	const char *const *threads; /* names (patterns) or ids; a sample of any of them stays */
	size_t thread_count;
	const char *const *include; /* patterns; stacks with a frame that matches one stay */
	size_t include_count;
	const char *const *exclude; /* patterns; stacks with a frame that matches one go */
	size_t exclude_count;
	enum dnp_native native; /* include and exclude see whole stacks all the same */
	enum dnp_state state;
};

struct dnp_profile {
	struct dnp_strings strings;
	struct dnp_vec_of(struct dnp_frame) frames;
	struct dnp_vec_of(struct dnp_node) nodes;
	struct dnp_vec_of(struct dnp_process) processes;
	struct dnp_vec_of(struct dnp_thread) threads;
	struct dnp_vec_of(struct dnp_event) events;
	struct dnp_vec_of(uint32_t) problems; /* strings */
	struct dnp_map frame_map;
	uint32_t *node_slots; /* owned: open addressing by parent and frame, DNP_NONE is free */
	size_t node_capacity; /* of node_slots, a power of two */
	size_t settled;       /* nodes before this one are in node_slots */
	struct dnp_filter filter;
	bool timed;       /* keep when samples were taken */
	bool incomplete;  /* a recording ended early or could not be read in full */
	uint32_t missing; /* string: the first thing that is missing, if incomplete */
	uint64_t start_unix_ns, duration_ns;
};

/* `timed` as for the page; text needs none. 0 or -ENOMEM, as all here. */
int dnp_profile_init(struct dnp_profile *profile, bool timed, const struct dnp_filter *filter);
void dnp_profile_done(struct dnp_profile *profile);

/* Adds all recordings of an input. */
int dnp_profile_add(
	struct dnp_profile *profile, const struct dnp_input *input, struct dnp_err *err);

/* Sorts the rows. Nothing can be added afterwards. */
void dnp_profile_finish(struct dnp_profile *profile);

/* The event of that name, DNP_NONE if there is none. */
uint32_t dnp_profile_event(const struct dnp_profile *profile, const char *name);

static inline const char *dnp_profile_string(const struct dnp_profile *profile, uint32_t number)
{
	return dnp_strings_get(&profile->strings, number);
}

/* For load.c: the frame or node of these properties, made if it is new. */
int dnp_profile_frame(struct dnp_profile *profile, struct dnp_frame frame, uint32_t *index);
uint32_t dnp_profile_node(struct dnp_profile *profile, uint32_t parent, uint32_t frame);
/* Before that: room for so many new nodes. */
int dnp_profile_reserve_nodes(struct dnp_profile *profile, size_t more);
int dnp_profile_problem(struct dnp_profile *profile, const char *text);
/* A problem that means that something is missing. */
int dnp_profile_missing(struct dnp_profile *profile, const char *text);

/* load.c: adds one recording, which began `start_ns` after the profile. */
int dnp_profile_load(
	struct dnp_profile *profile, const struct dnp_recording *recording, uint64_t start_ns);

#endif
