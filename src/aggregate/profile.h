/* SPDX-License-Identifier: MIT */
/*
 * What recordings come to: who ran, which events, and every sample's stack, added up. Processes
 * stand in the order of the input's recordings.
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

#include "aggregate/calls.h"
#include "aggregate/labels.h"
#include "aggregate/live.h"
#include "aggregate/rows.h"
#include "aggregate/run_times.h"
#include "aggregate/collections.h"
#include "aggregate/thrown.h"
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
	uint64_t cpu_ns;         /* used meanwhile; 0: not known */
	uint64_t agent_cpu_ns;   /* of it by the agent */
	uint64_t status, signal; /* how the command ended, if exited */
	bool exited;
	bool ended;    /* the recording was, as it should be: what is in it goes on until then */
	bool complete; /* … and nothing of it is missing */
	struct dnp_vec_of(struct dnp_traced) traced; /* by number */
	uint32_t lost_frame;  /* of a call whose method is not known; DNP_NONE: there is none */
	uint64_t calls_event; /* the recording's index of the event that counts calls; UINT64_MAX */
	uint32_t calls_in;    /* … and the profile's, which has what that counted; DNP_NONE */
	bool calls_summed;    /* it has some, and they were counted without their order */
	struct dnp_map thread_of; /* the recording's index of a thread → thread of the profile */
};

/* When its recording ends, since the profile's start. */
static inline uint64_t dnp_process_end_ns(const struct dnp_process *process)
{
	return process->start_ns + process->duration_ns;
}

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
	uint64_t end_ns; /* since the profile's start; 0: not known, or it had not ended */
	struct dnp_run_times run;
};

/* Why a thread waited, and on which stack. Nanoseconds since the profile's start. */
struct dnp_wait {
	uint32_t thread, node; /* node 0: without a stack, or with one that is left out */
	uint32_t kind;         /* enum dnp_wait_kind, or one that this version does not know */
	uint32_t call;         /* string: the system call that it waited in; may be empty */
	uint64_t since_ns, until_ns; /* until_ns 0: not known */
};

/*
 * What the program said it was doing: a span, or a point in time. Nanoseconds since the profile's
 * start.
 */
struct dnp_span {
	uint32_t event;               /* DNP_NONE: the recording has no such event */
	uint32_t name, trace, result; /* strings; the last two may be empty */
	uint32_t group;               /* string: those of one are added up; else the name */
	uint32_t thread, end_thread;  /* end_thread DNP_NONE: not ended, or not shown */
	uint64_t begin_ns, end_ns;    /* end_ns of one that has not ended: the recording's end */
	bool ended, point;
};

/* How often a thread was woken by one other, or by any of another process. */
struct dnp_wake {
	uint32_t thread;
	uint32_t name; /* string: of who did it; of another process, of its first one */
	bool own; /* a thread of the same process did, which may be one that is left out: … */
	uint64_t by_tid; /* … the one of this id */
	uint64_t by_pid; /* 0: an interrupt, unless own */
	uint64_t count;
	struct dnp_wait_sum run; /* until it had a processor, where that is known */
};

#define DNP_LOSS_REASONS DNP_LOSS_COUNT /* 0 stands for those that this version does not know */

struct dnp_event {
	/*
	 * Strings. The name is "cpu at 997 Hz" where a recording before has it of another rate,
	 * "trace by a clock" where times of calls were sampled there, "trace call by call" where
	 * calls were added up, and "alloc of every object" where it has some of them. Sources and
	 * notes of several recordings are all told.
	 */
	uint32_t name, unit, source, note;
	uint64_t interval_ns;
	bool in_ns; /* weights are of time */
	bool in_bytes;
	/* Where weights are bytes: samples are sums of all that was, or stand for others as well.
	 */
	bool summed, by_lot;
	/* Where they are by lot: for how much one of the smallest happenings is kept, at most, and
	 * at first, if less; else 0. */
	uint64_t lot, asked_lot;
	uint64_t samples; /* in units: a sample of weight 3 counts 3 where the unit is "samples" */
	uint64_t waiting; /* of them those whose thread did not run */
	uint64_t taken;   /* as samples, with those that the filter leaves out */
	bool waited;      /* of one of these at least the thread did not run */
	/*
	 * How many moments they are of, where one may weigh many, and the squares of what these
	 * weigh. See dnp_event_error.
	 */
	uint64_t looks;
	double squares;
	/*
	 * Of samples of CPU time: all that the program's threads have used meanwhile, by the
	 * kernel's clock of the process; 0: not known, or the filter leaves some of it out.
	 */
	uint64_t clock_ns;
	bool clock_unknown; /* of a process at least */
	uint64_t lost, lost_by[DNP_LOSS_REASONS];
	uint64_t truncated, failed, unresolved, frames;
	uint64_t agent_bytes;              /* memory of the agents, of all processes together */
	uint64_t walk_ns;                  /* time that walks took, all together */
	uint64_t walk_p50_ns, walk_p99_ns; /* of the process where they are greatest */
	struct dnp_vec_of(struct dnp_failure) failures;
	struct dnp_vec_of(struct dnp_label) labels; /* what its samples are about */
	struct dnp_vec_of(struct dnp_made) made;    /* of some events, the same by stacks */
	bool counted; /* these are of all there was, and samples are only some of it … */
	/* … in so many recordings, but not in others that have samples: they were cut before. */
	uint32_t counted_in, uncounted_in;
	struct dnp_rows rows;
	struct dnp_calls *calls;         /* owned; NULL: it does not count calls */
	bool switches;                   /* of threads, which have all there is to it (run) */
	uint64_t voluntary, involuntary; /* of these, in all */
	bool says;                       /* what the program said: spans, and no stacks */
	/* Where its stacks are of waits: how long the shortest of them are (0: they are not), how
	 * many there were, of how many there are stacks, and what that cost. */
	uint64_t wait_ns, waits, waits_seen, waits_cpu_ns;
	uint64_t waited_ns;     /* in all, those without a stack, too; 0: not counted */
	uint64_t waits_endless; /* that began besides, of which no end was told */
};

/*
 * Looks of the same weight that would tell as much as those that there were (Kish's effective
 * size); 0: not known. And how far a share (0 to 1) of the samples may be off, as a share: in 95 of
 * 100 recordings it is less, where each look is for itself.
 */
double dnp_event_equal_looks(const struct dnp_event *event);
double dnp_event_error(const struct dnp_event *event, double share);

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
	const char *const *requests; /* patterns: route, path or trace; see aggregate/requests.h */
	size_t request_count;
	enum dnp_native native; /* include and exclude see whole stacks all the same */
	enum dnp_state state;
};

/* Whether a time since the recording's start is one that stays. */
static inline bool dnp_filter_has_time(const struct dnp_filter *filter, uint64_t at_ns)
{
	return at_ns >= filter->from_ns && (!filter->to_ns || at_ns < filter->to_ns);
}

/* Whether it leaves out samples for what they are, whatever their thread. */
static inline bool dnp_filter_cuts(const struct dnp_filter *filter)
{
	return filter->from_ns || filter->to_ns || filter->include_count || filter->exclude_count ||
		filter->request_count || filter->state != DNP_STATE_ANY;
}

/* Whether a word of the filter's, a pattern or an id, is that thread. */
bool dnp_names_thread(const char *word, uint64_t tid, struct dnp_str name);

/* What a filter of requests has found. */
struct dnp_chosen_requests {
	uint64_t all, wanted;
	bool followed;                        /* it is known when which thread worked for them */
	struct dnp_vec_of(uint32_t) names;    /* strings: what each is called */
	struct dnp_vec_of(uint32_t) left_out; /* … events of which that cannot be told */
	struct dnp_vec_of(bool) matched;      /* by the filter's pattern: whether it matches any */
};

/* A thread of the recordings, chosen or not. */
struct dnp_met_thread {
	uint64_t tid;
	uint32_t name; /* string */
};

struct dnp_profile {
	struct dnp_strings strings;
	struct dnp_vec_of(struct dnp_frame) frames;
	struct dnp_vec_of(struct dnp_node) nodes;
	struct dnp_vec_of(struct dnp_process) processes;
	struct dnp_vec_of(struct dnp_thread) threads;
	struct dnp_vec_of(struct dnp_event) events;
	struct dnp_vec_of(uint32_t) problems;     /* strings */
	struct dnp_vec_of(struct dnp_wait) waits; /* of profiles by time alone */
	struct dnp_vec_of(struct dnp_wake) wakes;
	struct dnp_vec_of(struct dnp_span) spans; /* when finished: in the order they began */
	struct dnp_collections collections;
	struct dnp_objects objects; /* that are still there */
	struct dnp_vec_of(struct dnp_watch) watches;
	struct dnp_map frame_map;
	struct dnp_vec_of(uint32_t) first_child; /* of each node; DNP_NONE: it has none */
	struct dnp_map other_children;           /* parent and frame → node */
	struct dnp_filter filter;
	struct dnp_chosen_requests requests;                  /* where the filter has some */
	struct dnp_vec_of(struct dnp_met_thread) met_threads; /* … names threads */
	bool calls_later;  /* set before adding: call events are left to who goes through them */
	bool calls_summed; /* set before adding: of calls is kept how many there were, no more */
	enum dnp_detail detail;
	bool incomplete;  /* a recording ended early or could not be read in full */
	uint32_t missing; /* string: the first thing that is missing, if incomplete */
	uint64_t start_unix_ns, duration_ns;
};

/*
 * Rows are kept in as much detail as wanted, or more where the filter needs it. 0 or -ENOMEM, as
 * all here.
 */
int dnp_profile_init(
	struct dnp_profile *profile, enum dnp_detail detail, const struct dnp_filter *filter);
void dnp_profile_done(struct dnp_profile *profile);

/* Adds all recordings of an input. */
int dnp_profile_add(
	struct dnp_profile *profile, const struct dnp_input *input, struct dnp_err *err);

/* Sorts the rows. Nothing can be added afterwards. */
void dnp_profile_finish(struct dnp_profile *profile);

/* Forgets the events that have no stacks: for formats of stacks. */
void dnp_profile_keep_stacks(struct dnp_profile *profile);

/* The event of that name, DNP_NONE if there is none. */
uint32_t dnp_profile_event(const struct dnp_profile *profile, const char *name);
/* Whether switches of threads were recorded; *event is theirs then. */
bool dnp_profile_switches(const struct dnp_profile *profile, uint32_t *event);

static inline const char *dnp_profile_string(const struct dnp_profile *profile, uint32_t number)
{
	return dnp_strings_get(&profile->strings, number);
}

/* For load.c: the frame or node of these properties, made if it is new. */
int dnp_profile_frame(struct dnp_profile *profile, struct dnp_frame frame, uint32_t *index);
int dnp_profile_node(struct dnp_profile *profile, uint32_t parent, uint32_t frame, uint32_t *node);
/* Before that: room for so many new nodes. */
int dnp_profile_reserve_nodes(struct dnp_profile *profile, size_t more);
int dnp_profile_problem(struct dnp_profile *profile, const char *text);
/* A problem that means that something is missing. */
int dnp_profile_missing(struct dnp_profile *profile, const char *text);

/* load.c: adds one recording, which began `start_ns` after the profile. */
int dnp_profile_load(
	struct dnp_profile *profile, const struct dnp_recording *recording, uint64_t start_ns);

#endif
