/* SPDX-License-Identifier: MIT */
/*
 * The drain: takes samples out of the threads' rings, interns their stacks and writes them. It runs
 * on one thread of our own and is the only one that writes the recording.
 */
#ifndef DNP_STORE_DRAIN_H
#define DNP_STORE_DRAIN_H

#include <stdint.h>

#include "store/chain.h"
#include "store/intern.h"
#include "store/sample.h"
#include "store/threads.h"
#include "store/writer.h"

/* What else is to be known of a frame. */
enum dnp_nature {
	DNP_NATURE_UNKNOWN = 1, /* its function is not known */
	DNP_NATURE_PART = 2,    /* a part of a method that the method calls: a finally block, say */
	DNP_NATURE_FRAMEWORK = 4, /* a method of .NET */
	DNP_NATURE_RUNTIME = 8,   /* native code of the runtime */
	DNP_NATURE_WAIT_SHIFT =
		4 /* enum dnp_wait_kind of who waits in that method, above the rest */
};

/* A stack that did not come by a feed, leaf first. */
struct dnp_walked {
	const dnp_frame_word *frames; /* borrowed */
	uint32_t n;
	uint32_t left; /* words in all where the rest is left to others (dnp_self_walk); 0: none */
	enum dnp_walk_stop stop;
	uint64_t time_ns, walk_ns; /* when, and how long it took */
};

/* Of a sample whose walk ended so: enum dnp_sample_flags. */
static inline unsigned dnp_walk_flags(enum dnp_walk_stop stop)
{
	if (stop == DNP_STOP_DEPTH)
		return DNP_SAMPLE_TRUNCATED;
	return stop == DNP_STOP_END ? 0 : DNP_SAMPLE_INCOMPLETE;
}

/* What it is in the recording, and what it tells of why its thread waits. */
struct dnp_walked_node {
	uint32_t node;
	bool managed;            /* it has managed frames */
	bool runtime;            /* and native ones of the runtime */
	bool in_runtime;         /* which are right above the managed ones */
	enum dnp_wait_kind kind; /* by what managed code of .NET is on top of all other */
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
	/*
	 * Walks what a thread has left to walk, on `n_bytes` of its stack; up to `max` frames into
	 * `frames`. Returns how many. NULL: nobody can.
	 */
	uint32_t (*walk)(const struct dnp_unwalked *left, const void *stack, size_t n_bytes,
		dnp_frame_word *frames, uint32_t max, enum dnp_walk_stop *stop);
	/* Told of each thread that has gone, before its last samples are taken; NULL: nobody is. */
	void (*gone)(struct dnp_thread *thread);
	uint64_t emptied_ns;    /* when all rings were empty, each for a moment */
	dnp_frame_word *frames; /* owned: one sample's, as read from a ring */
	uint64_t *unwalked;     /* owned: the words of one that is not walked yet */
	struct dnp_chain chain; /* new nodes that are not written yet */

	struct dnp_drain_sums sums[DNP_EVENTS_MAX];
	unsigned n_events;
	uint32_t lacking_told[DNP_THREADS_LACKS];
	uint64_t refused_told; /* labels */
};

/*
 * Takes fd over, also when it fails; events 0 to n_events - 1 will come. What the caller tells in
 * *drain comes after it. 0 or -errno, and then nothing is to be closed.
 */
int dnp_drain_open(struct dnp_drain *drain, int fd, uint64_t recording, unsigned n_events);

/*
 * Empties all rings once, and releases the records of threads that have gone (looked for when
 * `look_for_ends`). Returns 0 or the -errno of a write that failed.
 */
int dnp_drain_round(struct dnp_drain *drain, int look_for_ends);

/*
 * Empties all rings, for those who keep the drain thread from its rounds: rings are small, and what
 * the system is asked of each of many threads takes long where it is busy. Records stay.
 */
void dnp_drain_rings(struct dnp_drain *drain);

/* The same, if that was last done a while ago. */
void dnp_drain_meanwhile(struct dnp_drain *drain);

/* Interns a stack, and counts it as a sample of the event. */
struct dnp_walked_node dnp_drain_walked(
	struct dnp_drain *drain, unsigned event, const struct dnp_walked *walked);

/* The thread has gone: as a round that finds it so. `gone_ns`: see struct dnp_thread. */
void dnp_drain_thread_gone(struct dnp_drain *drain, struct dnp_thread *thread, uint64_t gone_ns);

/* Defines a thread in the recording, if it is not yet, and tells what it has missed. */
void dnp_drain_announce(struct dnp_drain *drain, struct dnp_thread *thread);

/* Samples taken so far, over all events. */
uint64_t dnp_drain_samples(const struct dnp_drain *drain);

/* Tells how many walks of an event have failed by now for one reason, if any, without any stack. */
void dnp_drain_failure(struct dnp_drain *drain, unsigned event, const char *reason, uint64_t count);

/* What the agent itself uses: memory now, CPU time since the recording began; and of how much. */
struct dnp_drain_agent {
	size_t bytes;
	uint64_t cpu_ns, process_ns;
};

/* Writes the counters as they stand (stats, losses, failures), after the failures were told. */
void dnp_drain_stats(struct dnp_drain *drain, struct dnp_drain_agent agent);
/* The agent's and the process's clocks of that alone. */
void dnp_drain_clocks(struct dnp_drain *drain, struct dnp_drain_agent agent);

/* Writes what is left and closes the recording. */
int dnp_drain_close(struct dnp_drain *drain, enum dnp_end_reason reason);
/* Takes away what was written, and frees. 0 or the -errno by which it is still there. */
int dnp_drain_abandon(struct dnp_drain *drain);

#endif
