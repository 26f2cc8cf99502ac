/* SPDX-License-Identifier: MIT */
/*
 * The referee: each walk of ours is followed by the runtime's own (DoStackSnapshot) of the same
 * thread at the same instruction, and both are compared function by function.
 *
 *   referee.c   in the handler: both walks, the comparison, what differs is kept as it is
 *   findings.c  at the end: what was kept gets names and is written as JSON
 *   run         starts programs, sorts the differences, prints the table
 *
 * The agent is the product's own; the linker puts our functions in front of three of its (--wrap).
 * The environment variable DNPROF_REFEREE names the file for the findings; without it this is the
 * product.
 */
#ifndef DNP_REFEREE_H
#define DNP_REFEREE_H

#include "agent/agent.h"
#include "unwind/walk.h"

#define REFEREE_ENV       "DNPROF_REFEREE"
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

struct referee {
	const char *path; /* borrowed from the environment; NULL: off */
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
	uint32_t *walk_ns;         /* of the first WALKS_MAX walks */
	uint8_t *store;            /* differences, one after the other */
	_Atomic size_t stored;
};

#define REFEREE_WALKS_MAX   (size_t)4000000
#define REFEREE_STORE_BYTES ((size_t)1 << 30)

extern struct referee referee;

/* A part of a method that is one frame with it where the method called it, as in recordings. */
bool referee_is_part(dnp_frame_word word);

/* Names what was kept and writes all of it to referee.path. No handler may run any more. */
void findings_write(void);

#endif
