/* SPDX-License-Identifier: MIT */
/*
 * The referee: each walk of ours is set beside the runtime's own (DoStackSnapshot) of the same
 * thread at the same place, and both are compared function by function.
 *
 *   referee.c   start and end; engine `signal`: both walks in the handler that samples
 *   outside.c   engine `snapshot`: the walk of a suspended thread, and ours from outside
 *   inside.c    engine `sync`: both walks of a thread by itself, in the runtime's callbacks
 *   compare.c   the comparison; what differs is kept as it is; how long walks take
 *   findings.c  at the end: what was kept gets names and is written as JSON
 *   run         starts programs, sorts the differences, prints the table
 *
 * The agent is the product's own; the linker puts our functions in front of some of its (--wrap).
 * The environment variable DNPROF_REFEREE names the file for the findings; without it this is the
 * product. DNPROF_REFEREE_ENGINE names the engine, without it `signal`.
 */
#ifndef DNP_REFEREE_H
#define DNP_REFEREE_H

#include <stdatomic.h>

#include "agent/agent.h"
#include "agent/callbacks.h"
#include "agent/engines.h"
#include "unwind/walk.h"

#define REFEREE_ENV        "DNPROF_REFEREE"
#define REFEREE_ENGINE_ENV "DNPROF_REFEREE_ENGINE"

/* Its presence: nothing is compared, only how long walks take is written. */
#define REFEREE_TIMES_ENV "DNPROF_REFEREE_TIMES"

enum referee_engine {
	REFEREE_SIGNAL,
	REFEREE_SNAPSHOT,
	REFEREE_SYNC,
	REFEREE_STOPPED, /* for times only: nobody else walks a thread that is just stopped */
};

/* What the callbacks of inside.c need. */
#define REFEREE_SYNC_EVENTS                                                                        \
	(COR_PRF_MONITOR_EXCEPTIONS | COR_PRF_MONITOR_CLASS_LOADS |                                \
		COR_PRF_MONITOR_OBJECT_ALLOCATED | COR_PRF_ENABLE_OBJECT_ALLOCATED)

/* Whose walks are timed. */
enum referee_walker {
	WALKER_SIGNAL,   /* ours, in a handler */
	WALKER_ASLEEP,   /* ours, of another thread that sleeps */
	WALKER_STOPPED,  /* ours, of another thread that is stopped */
	WALKER_SYNC,     /* ours, in a callback */
	WALKER_SNAPSHOT, /* the runtime's, of a suspended thread */
	WALKER_DSS,      /* the runtime's, in a callback */
	WALKERS
};

#define REFEREE_DEPTH_MAX 4096

/* A frame as the runtime reports it. */
struct snapshot_frame {
	FunctionID function; /* 0: a run of native frames */
	uintptr_t ip;
};

struct snapshot {
	HRESULT result;
	size_t n;
	struct snapshot_frame frames[REFEREE_DEPTH_MAX];
};

/* Two stacks that differ or that rules of recordings apply to, as they are in the store: the frames
 * stand behind this. */
struct difference {
	uint32_t n_own, n_snapshot;
	HRESULT result;
	uint8_t stop;       /* enum dnp_walk_stop of ours */
	uint8_t preemptive; /* the runtime takes the thread for one in native code */
};

static inline const dnp_frame_word *difference_own(const struct difference *d)
{
	return (const dnp_frame_word *)(d + 1);
}

static inline const struct snapshot_frame *difference_snapshot(const struct difference *d)
{
	return (const struct snapshot_frame *)(difference_own(d) + d->n_own);
}

static inline const struct difference *difference_next(const struct difference *d)
{
	return (const struct difference *)(difference_snapshot(d) + d->n_snapshot);
}

struct referee_cost {
	_Atomic uint64_t walks;
	struct referee_time {
		uint32_t ns, frames;
	} * each; /* of the first WALKS_MAX */
};

#define REFEREE_REASONS_MAX 32

struct referee_failure {
	_Atomic HRESULT result; /* or -errno of ours */
	_Atomic uint64_t n;
};

struct referee {
	const char *path; /* borrowed from the environment; NULL: off */
	enum referee_engine engine;
	bool times; /* only */
	struct dnp_codemap *map;
	_Atomic uint64_t samples; /* walks of ours */
	_Atomic uint64_t stops[DNP_STOP_COUNT];
	_Atomic uint64_t busy;       /* too many handlers at once: not compared */
	_Atomic uint64_t no_managed; /* a thread without managed frames */
	_Atomic uint64_t compared;   /* the others */
	_Atomic uint64_t identical;  /* the same functions in the same order, as they are */
	_Atomic uint64_t same_ips;   /* of these, with the same addresses */
	_Atomic uint64_t
		with_dynamic;       /* of these, with dynamic code on our side, never on theirs */
	_Atomic uint64_t different; /* the rest of those compared; kept, or lost: */
	_Atomic uint64_t lost;
	_Atomic uint64_t misnamed; /* frames whose method our map takes for another one */
	struct referee_failure failures[REFEREE_REASONS_MAX];
	struct referee_cost costs[WALKERS];
	uint8_t *store; /* differences, one after the other */
	_Atomic size_t stored;
};

#define REFEREE_WALKS_MAX   (size_t)4000000
#define REFEREE_STORE_BYTES ((size_t)1 << 30)

extern struct referee referee;

static inline SIGSAFE void referee_count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

bool referee_is_managed(dnp_frame_word word);

/* A part of a method that is one frame with it where the method called it, as in recordings. */
bool referee_is_part(dnp_frame_word word);

/* Compares and counts. False: they are not the same, or rules apply to them; keep them. */
bool referee_same(const dnp_frame_word *own, size_t n, const struct snapshot *snapshot);
void referee_keep(const dnp_frame_word *own, size_t n, enum dnp_walk_stop stop,
	const struct snapshot *snapshot, bool preemptive);

/* A thread could not be walked: by an HRESULT, or -errno of ours. */
void referee_failed(HRESULT result);

/* The engine `stopped`: a thread of ours stops and walks each managed one, again and again. */
int referee_stopper_start(uint64_t interval_ns);
void referee_stopper_end(void);

/* A walk took so long. */
void referee_took(enum referee_walker walker, size_t frames, uint64_t ns);

/* Names what was kept and writes all of it to referee.path. No handler may run any more. */
void findings_write(void);

#endif
