/* SPDX-License-Identifier: MIT */
/*
 * The threads of the process as the profiler knows them: one record each, which owns what a handler
 * on that thread needs (feeds of samples), so that a handler allocates nothing and shares
 * nothing.
 *
 * A record is LIVE from dnp_thread_begin until the drain thread finds that the thread has gone and
 * its ring is empty; then it is used for another thread. Between recordings all are unused, and
 * hold no memory but their addresses, which stay valid: a callback of the runtime may still be at
 * work on one. They are given back when this library is about to go (dnp_threads_unmap).
 *
 * Lock order: the table's lock is taken alone, never in a handler, never across a call into the
 * CLR.
 */
#ifndef DNP_STORE_THREADS_H
#define DNP_STORE_THREADS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "os/sampler_state.h"
#include "store/feed.h"
#include "unwind/walk.h"

#define DNP_THREADS_MAX 16384

/* What a sampler that looks at all threads in turn keeps of one (capture/wall.c, turns.c). */
struct dnp_turn {
	/* The sampler's, and the drain thread's when the thread has gone; under the sampler's lock.
	 */
	uint32_t place;     /* in its list, from 1; 0: not in it */
	int gone;           /* it was not there any more when its turn came */
	uint64_t booked_ns; /* all time until then is in `slept`, `waited` or its samples … */
	uint64_t ran_ns, waited_ns; /* … by its clocks: what it ran, and waited for a processor … */
	bool waits_known;           /* … if that was told yet */
	int64_t slept, waited;      /* ns that are in no weight yet; may be negative */
	uint64_t cpu_ns; /* by the thread's clock, when the stack in `outside` was read; 0: never */
	int has_slept;   /* what was stored last in `outside` is a stack of it, asleep */
	/* Its stack goes into code that is not known, as first seen at this time and clock. */
	uint64_t cut_ns, cut_cpu_ns;
	_Atomic uint64_t end_waited_ns; /* waited for a processor when it told us that it ends */
	/* Where its stack is, as it told itself; high 0: it did not. Written low first. */
	_Atomic uintptr_t stack_low, stack_high;
	struct dnp_thread *next; /* of those that are new to the sampler */
};

struct dnp_thread {
	/* Written before the record is LIVE. */
	int tid;
	uint32_t place; /* among all records: see dnp_thread_at */
	uint32_t index; /* in the recording */
	uint64_t start_ns;
	uint64_t start_cpu_ns; /* CPU time used before sampling began */

	/*
	 * Units of each event in `missed_events` (bit e: event e) that passed unsampled before
	 * that: written once, the number last, and 0 again when the drain thread has told of them.
	 * And those after its last sample, written when it has gone or is sampled no more.
	 */
	uint32_t missed_events;
	_Atomic uint32_t missed, rest;
	_Atomic uint32_t flags;   /* enum dnp_thread_flags */
	_Atomic(char *) new_name; /* owned: a name that the recording does not have yet */

	/* The thread's own, or the handler's on it. */
	struct dnp_stack_range stack;          /* high 0: not known yet */
	struct dnp_stack_range other_stack;    /* where it ran last when it was not on its own */
	_Atomic uintptr_t told_low, told_high; /* the same for other threads, high 0 as well */
	_Atomic uintptr_t managed;             /* its ThreadID, 0: none that is known */
	_Atomic uint32_t handling; /* odd while its handler runs, or it takes its own stack */
	/*
	 * It takes its own stack outside of a handler. One that comes while `handling` is odd
	 * then leaves `own` alone, and says in `late` how many units of which event are to be
	 * stored.
	 */
	_Atomic uint32_t busy;
	_Atomic uint32_t late[DNP_EVENTS_MAX];
	_Atomic uint32_t collecting; /* garbage collections it is doing now */
	_Atomic uint32_t held;       /* the runtime says that it waits for a suspension's end */
	struct dnp_sampler sampler;
	char name[16];  /* as the system knew it at the first sample */
	int name_asked; /* it may have none */
	struct dnp_feed own;

	/* Of the thread of ours that looks at it from outside. */
	struct dnp_feed outside;
	struct dnp_turn turn;
	bool had_id; /* of the runtime's, see capture/managed.c, under whose lock this is */

	/* The drain thread's. */
	uint64_t begun_ns;       /* see dnp_thread_begun_at */
	_Atomic uint64_t end_ns; /* when it told us that it ends, 0: it has not */
	_Atomic uint64_t end_cpu_ns;
	/*
	 * Whoever had its number before that time has gone; who has it later is another, who may
	 * have taken this record for its own. Before engines are told.
	 */
	uint64_t gone_ns;
	bool listed; /* the system had it in its list since the last round */
	int announced;
	char last_name[16];      /* before it ended, where an engine was told of that; else empty */
	char announced_name[32]; /* as the system knew it then, or when it was last looked at */
	uint64_t looked_age_ns;  /* how old it was when its name was last looked at, 0: not yet */
	char *given_name;        /* owned: see dnp_thread_given_name, NULL: none */
	int name_told;           /* the recording has it */
	uint32_t handling_then;  /* `handling` when the last quiet moment was sought */
	struct dnp_thread *next; /* in its bucket, or in the free list */
};

/*
 * A recording begins: memory for `depth` frames a thread, whose samples are of `n_events`. Before
 * anything else.
 */
void dnp_threads_init(uint32_t depth, unsigned n_events);
/*
 * It has ended: no thread is known any more. No sampler may run, and nobody but callbacks of the
 * runtime that are on their way have a record.
 */
void dnp_threads_done(void);
/* For good: nobody has a record, and no handler runs or will (dnp_signal_left). */
void dnp_threads_unmap(void);

/* Frames a record has room for. */
uint32_t dnp_threads_depth(void);

/*
 * The record of thread `tid`; made, when there is none (*is_new). NULL: no memory, or too many
 * threads (DNP_THREADS_REFUSED).
 */
struct dnp_thread *dnp_thread_begin(int tid, int *is_new);

/* The record of a live thread, NULL: none. */
struct dnp_thread *dnp_thread_find(int tid);

/*
 * The system says that a thread with the record's number began at that time (CLOCK_MONOTONIC; what
 * it says of several may come in any order). Whether the record can be of that thread or of one
 * that began later; false: it is of one that has gone and left its number. Drain thread.
 */
bool dnp_thread_begun_at(struct dnp_thread *thread, uint64_t begun_ns);

/*
 * The record in that place, whether it is live or not; NULL: there is none. Signals carry places:
 * one that comes late, perhaps from a recording before, then names no memory that is not there. Who
 * takes it looks whether the record is the calling thread's.
 */
SIGSAFE struct dnp_thread *dnp_thread_at(uintptr_t place);

/*
 * The calling thread's record; NULL: it has none. While it is at work on it, in a handler, the
 * record stays its own from the moment that `handling` is odd, if this says so then.
 */
SIGSAFE struct dnp_thread *dnp_thread_own(void);

/*
 * Whether it collects garbage now. The collector's own threads do nothing else: which of them tells
 * of a collection's begin or end is a matter of chance.
 */
SIGSAFE bool dnp_thread_collects(const struct dnp_thread *thread);

/* What the user should know of how many threads. */
enum dnp_threads_lack {
	DNP_THREADS_REFUSED,   /* not sampled, for want of memory or of what samples them */
	DNP_THREADS_NO_KERNEL, /* sampled without the kernel's frames, though they are wanted */
	DNP_THREADS_NO_TRAP,   /* sampled by timers in place of traps, since somebody wants these */
	DNP_THREADS_LACKS
};

/* Counts one more. Any thread. */
void dnp_threads_lack(enum dnp_threads_lack what);
uint32_t dnp_threads_lacking(enum dnp_threads_lack what);

/*
 * Visits every live record, in no order; the lock is not held during the visit, so threads may
 * begin meanwhile. Only the drain thread ends records, so only it may call this.
 */
void dnp_threads_each(void (*visit)(struct dnp_thread *thread, void *context), void *context);

/*
 * A time such that every handler that ran then has ended; it moves on with each call. Drain thread.
 */
uint64_t dnp_threads_quiet_since(void);

/* The thread's stack, as it says itself. On that thread, outside of handlers. */
void dnp_thread_set_stack(struct dnp_thread *thread, uintptr_t low, uintptr_t high);

/* What it said, for any thread; high 0: nothing yet. */
struct dnp_stack_range dnp_thread_told_stack(const struct dnp_thread *thread);

/* Gives the thread a name, UTF-8; takes the string over. Any thread. */
void dnp_thread_rename(struct dnp_thread *thread, char *name);

/*
 * The name that the thread was given last, NULL: none. name_told is 0 when it is a new one. Drain
 * thread; good until its next call.
 */
const char *dnp_thread_given_name(struct dnp_thread *thread);

/*
 * The thread has gone: when this returns no handler has its record any more, whoever has got its
 * number. Drain thread.
 */
void dnp_thread_leave(struct dnp_thread *thread);
/* … and its ring is empty: the record may be used again. Drain thread. */
void dnp_thread_release(struct dnp_thread *thread);

/* Bytes of all records that have been touched, about. */
size_t dnp_threads_bytes(void);

#endif
