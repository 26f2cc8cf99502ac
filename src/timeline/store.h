/* SPDX-License-Identifier: MIT */
/*
 * Threads, and what is known of each: slices of time in which it had a processor, and readings of
 * its clock.
 *
 *   store   threads in the order in which they became known, so their ids ascend
 *   thread  slices in order of time, disjoint; between two of them the first one's end says why;
 *           and what it does since the last one
 *
 * What is old is forgotten, of all threads up to the same moment, when memory runs out. One thread
 * at a time.
 */
#ifndef DNP_TIMELINE_STORE_H
#define DNP_TIMELINE_STORE_H

#include <dnprof/timeline.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/u64map.h"
#include "base/vec.h"
#include "os/switches.h"
#include "os/tasks.h"

enum dnp_tl_state {
	DNP_TL_UNKNOWN = 0, /* no switch was seen yet: it runs or it does not */
	DNP_TL_ON,          /* on a processor, since since_ns */
	DNP_TL_OFF,
	DNP_TL_ENDED,
};

struct dnp_tl_thread {
	uint64_t id;
	int pid, tid;
	bool own;             /* the library's */
	bool named;           /* by the user: the system's name is not taken */
	uint64_t named_ticks; /* then: when it began, by which it is known in the next recording */
	uint64_t met_ns;      /* when we heard of it first */
	uint64_t begin_ns, end_ns;
	uint64_t start_ticks; /* where it was asked for: with the tid, one thread for ever */
	enum dnp_tl_state state;
	uint16_t cpu; /* it is on */
	uint64_t since_ns;
	uint16_t before;  /* the first slice: enum dnprof_slice_end of one that is not kept */
	uint64_t seen_ns; /* when the system was asked about it, 0: never */
	bool ready;       /* then */
	uint64_t gone_ns; /* it was not among those that live at that time, 0: it was */
	uint64_t cycles;  /* counted for it at the last look, 0: none are (POLL) */
	uint64_t name_ns; /* when its name may have changed enough to be asked for again (POLL) */
	bool unsure;      /* something is missing: another one may have its tid by now */
	struct dnp_vec_of(struct dnprof_slice) slices;
	struct dnp_vec_of(struct dnp_task_clock) checkpoints;
	char name[64];
	/* Where all is taken out to be kept elsewhere (switches/taker.c): what was. */
	bool taken, taken_all; /* anything; all, to its end */
	uint64_t index;        /* its number there */
	uint64_t taken_ns;     /* its slices up to then */
	uint64_t taken_gap_ns; /* and what it did behind them, up to then; 0: not told */
	uint64_t taken_clock_ns, taken_cpu_ns; /* the last reading of its clock */
	uint64_t taken_name;                   /* hash of its name */
	uint64_t taken_last_ns;                /* when this was done last */
	/* Where it is looked for who waits (switches/waits.c): its clock, and since when it stands.
	 */
	uint64_t stood_cpu_ns, stood_since_ns;
	bool stood_told;
};

struct dnp_tl_loss {
	uint64_t id, from_ns, until_ns, records;
	uint16_t cpu;
};

struct dnp_tl_mark {
	uint64_t id, time_ns;
	int tid;
	char text[88];
};

struct dnp_tl_store {
	int pid;          /* the process */
	uint64_t from_ns; /* slices are whole since then */
	uint64_t bytes_max;
	uint64_t last_thread, last_loss, last_mark; /* ids given */
	uint64_t lost, disordered;
	int failed;                                 /* -ENOMEM: something could not be kept */
	uint64_t missing_from_ns, missing_until_ns; /* slices that are not kept; 0: all are */
	struct dnp_vec_of(struct dnp_tl_thread *) threads; /* owned, ids ascend */
	struct dnp_u64map by_tid; /* tid → place in threads of its newest */
	struct dnp_vec_of(struct dnp_tl_loss) losses;
	struct dnp_vec_of(struct dnp_tl_mark) marks;
};

/* A zeroed store is empty. */
void dnp_tl_store_done(struct dnp_tl_store *store);

/* Takes in what the system tells; in order of time. */
void dnp_tl_store_switch(struct dnp_tl_store *store, const struct dnp_switch *it);

/* The newest thread with that tid, NULL: none. */
struct dnp_tl_thread *dnp_tl_store_find(const struct dnp_tl_store *store, int tid);
/* A new one; an older one with that tid has ended. NULL: no memory. */
struct dnp_tl_thread *dnp_tl_store_add(
	struct dnp_tl_store *store, int pid, int tid, uint64_t now_ns);
/* The first thread with an id of at least that, as place in `threads`. */
size_t dnp_tl_store_place(const struct dnp_tl_store *store, uint64_t id);

/*
 * What is known since the gap is another thread's, with the same tid: which is returned. NULL: no
 * memory.
 */
struct dnp_tl_thread *dnp_tl_store_part(struct dnp_tl_store *store, struct dnp_tl_thread *thread);

/* It has been found to live no more, at that time or a little before. */
void dnp_tl_store_end(struct dnp_tl_store *store, struct dnp_tl_thread *thread, uint64_t time_ns);

/* It ran at some time between the two (POLL). */
void dnp_tl_store_ran(struct dnp_tl_store *store, struct dnp_tl_thread *thread, uint64_t from_ns,
	uint64_t until_ns);
/* A reading of its clock; in order of time. */
void dnp_tl_store_checkpoint(struct dnp_tl_store *store, struct dnp_tl_thread *thread,
	const struct dnp_task_clock *clock);
/* Its CPU time as it has read that itself, which may be heard of behind later readings. */
void dnp_tl_store_reading(struct dnp_tl_store *store, struct dnp_tl_thread *thread,
	uint64_t time_ns, uint64_t cpu_ns);
/* The first reading at that time or behind it, as place in `checkpoints`. */
size_t dnp_tl_checkpoint_from(const struct dnp_tl_thread *thread, uint64_t time_ns);
void dnp_tl_store_mark(struct dnp_tl_store *store, uint64_t time_ns, int tid, const char *text);

/* Forgets what is older, if all of it needs more memory than it may. */
void dnp_tl_store_fit(struct dnp_tl_store *store, uint64_t now_ns);

/* Nothing is known of what was before: forgets all of it, and what threads are doing. */
void dnp_tl_store_gap(struct dnp_tl_store *store, uint64_t from_ns);

/*
 * Slices of a thread, the one that goes on until `until_ns` as well: their number, and each. The
 * place of the first one that ends behind a time.
 */
size_t dnp_tl_slices(const struct dnp_tl_thread *thread, uint64_t until_ns);
struct dnprof_slice dnp_tl_slice(const struct dnp_tl_thread *thread, size_t i, uint64_t until_ns);
size_t dnp_tl_slice_behind(const struct dnp_tl_thread *thread, uint64_t time_ns);

/*
 * The oldest slices or checkpoints of a thread are kept elsewhere; and so is all of the threads
 * that ended before a time.
 */
void dnp_tl_store_drop_slices(struct dnp_tl_thread *thread, size_t n);
void dnp_tl_store_drop_checkpoints(struct dnp_tl_thread *thread, size_t n);
void dnp_tl_store_drop_ended(struct dnp_tl_store *store, uint64_t before_ns);

#endif
