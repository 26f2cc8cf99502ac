/* SPDX-License-Identifier: MIT */
/*
 * A process's switches into a recording: opens the time line that gathers them, and writes what it
 * has, so that little of it is ever in memory.
 *
 *   dnp_taker_open, _start, _write …, _stop, a last _write, _close
 *
 * Gathering is the time line's own thread's; all else is for one thread at a time.
 */
#ifndef DNP_SWITCHES_TAKER_H
#define DNP_SWITCHES_TAKER_H

#include <dnprof/timeline.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/vec.h"
#include "store/slice_writer.h"

/* Indices of threads that only this knows of count from here. */
#define DNP_TAKER_FIRST_INDEX (UINT64_C(1) << 32)

/* The other processes' threads on one processor. */
struct dnp_taker_cpu {
	uint16_t cpu;
	uint64_t index;    /* of the pseudo thread */
	uint64_t since_ns; /* where its last slice ended */
	enum dnp_slice_end before;
};

struct dnp_taker {
	struct dnprof_timeline *timeline; /* owned; NULL: not open */
	/*
	 * The index of a thread that the recording has already; false: it has none, and the taker
	 * defines it. begin_ns 0: it was there before; end_ns 0: it lives. NULL: there are none.
	 */
	bool (*known)(int tid, uint64_t begin_ns, uint64_t end_ns, uint64_t *index);
	/* A thread that it knows has ended, and was called so last, as far as that was told. NULL:
	 * nobody wants to know. */
	void (*was_called)(uint64_t index, int tid, const char *name, struct dnp_writer *writer);
	/* Whether a thread is the profiler's own, or was, where it has ended; NULL: none is. */
	bool (*is_ours)(int tid, uint64_t begin_ns, uint64_t end_ns);
	uint64_t next_index;
	uint64_t until_ns;       /* what came later is left to the next time; 0: nothing is */
	bool hurry;              /* what came before is not */
	uint64_t loss;           /* id of the last one that was written */
	uint64_t slices, lost;   /* written so far */
	uint64_t wait_ns, waits; /* of the waits between slices those that took so long; 0: none */
	struct dnp_slice_writer writer;
	struct dnp_vec_of(struct dnp_taker_cpu) cpus; /* of others */
	struct dnp_vec_of(struct dnprof_slice) gathered;
};

/*
 * The process, 0: this one. With the best backend that is allowed (include/dnprof/timeline.h);
 * `others`: one that tells of all other processes, too, if there is one. 0 or -errno: there is no
 * such process, say.
 */
int dnp_taker_open(struct dnp_taker *taker, int pid, bool others, struct dnp_err *err);
void dnp_taker_close(struct dnp_taker *taker);

int dnp_taker_start(struct dnp_taker *taker, struct dnp_err *err);
void dnp_taker_stop(struct dnp_taker *taker);

/*
 * What is told from now on is not written by the next dnp_taker_write: before that it is asked what
 * became of waits and wake-ups, and what is written is not known any more.
 */
void dnp_taker_hold(struct dnp_taker *taker);

/*
 * The next dnp_taker_write keeps nothing back that is known by the dnp_taker_hold before it: also
 * what threads do just now. For a copy of a recording that goes on.
 */
void dnp_taker_hurry(struct dnp_taker *taker);

/* What the time line has; all of it when it is the last time. */
void dnp_taker_write(struct dnp_taker *taker, struct dnp_writer *writer, bool last);

/*
 * For switches/ itself: the recording knows the thread from here on. Under the time line's lock.
 */
struct dnp_tl_thread;
void dnp_taker_meet(
	struct dnp_taker *taker, struct dnp_tl_thread *thread, struct dnp_writer *writer);
/* … and whether it is the profiler's own, or was. */
bool dnp_taker_is_ours(const struct dnp_taker *taker, const struct dnp_tl_thread *thread);

/*
 * For the record `event`: where the switches come from, why so, and how well it is known when a
 * thread ran: by the time between looks, or the steps of clocks. 0: to the switch.
 */
const char *dnp_taker_source(const struct dnp_taker *taker);
const char *dnp_taker_reason(const struct dnp_taker *taker);
uint64_t dnp_taker_interval_ns(const struct dnp_taker *taker);

/* Whether other processes are told of. */
bool dnp_taker_has_others(const struct dnp_taker *taker);

/* When the process ended; 0: it lives. */
uint64_t dnp_taker_ended_ns(const struct dnp_taker *taker);

#endif
