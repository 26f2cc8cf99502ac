/* SPDX-License-Identifier: MIT */
/*
 * What a thread's slices and clocks come to. Two numbers that are never mixed: on_cpu_ns, the sum
 * of the slices in which the kernel said that it had a processor; and the kernel's own clock of the
 * thread, from its first reading to its last.
 */
#ifndef DNP_AGGREGATE_RUN_TIMES_H
#define DNP_AGGREGATE_RUN_TIMES_H

#include <stdbool.h>

#include "format/rec.h"

struct dnp_run_clock {
	uint64_t time_ns, cpu_ns, ready_ns; /* of a reading; time_ns 0: there is none */
};

/* Waits of one kind whose stacks were taken. */
struct dnp_wait_sum {
	uint64_t count, ns, longest_ns;
};

void dnp_wait_sum_add(struct dnp_wait_sum *sum, uint64_t length_ns);

struct dnp_run_times {
	bool seen; /* there is anything */
	/* By its slices; all 0 where there are no switches, but only looks. */
	uint64_t on_cpu_ns;
	uint64_t preempted_ns;           /* it could have gone on */
	uint64_t blocked_ns;             /* it waited, then perhaps for a processor */
	uint64_t unknown_ns;             /* it was not seen to lose the processor that it lost */
	uint64_t voluntary, involuntary; /* switches away from it */
	struct dnp_run_clock first, last;
	bool ended_unread; /* after the last reading, and nobody knows what its clock said then */
	struct dnp_wait_sum waits[DNP_WAIT_KINDS]; /* by enum dnp_wait_kind */
	/* The wait that was not over; since_ns 0: there is none. */
	uint64_t open_since_ns, open_kind;
};

/* Adds one record. False: some of it cannot be understood. */
bool dnp_run_times_slices(
	struct dnp_run_times *times, const struct dnp_rec_slices *rec, uint64_t *until_ns);
void dnp_run_times_clock(struct dnp_run_times *times, const struct dnp_rec_thread_clock *rec);
void dnp_run_times_wait(struct dnp_run_times *times, const struct dnp_rec_wait *rec);
/* The recording ended then: a wait that was not over lasted until that time. */
void dnp_run_times_end(struct dnp_run_times *times, uint64_t time_ns);

/* Time that the slices tell of. */
static inline uint64_t dnp_run_times_life(const struct dnp_run_times *times)
{
	return times->on_cpu_ns + times->preempted_ns + times->blocked_ns + times->unknown_ns;
}

/* What the clocks say, between the first reading and the last. */
static inline uint64_t dnp_run_times_cpu(const struct dnp_run_times *times)
{
	return times->last.cpu_ns > times->first.cpu_ns ? times->last.cpu_ns - times->first.cpu_ns
							: 0;
}

static inline uint64_t dnp_run_times_ready(const struct dnp_run_times *times)
{
	return times->last.ready_ns > times->first.ready_ns
		? times->last.ready_ns - times->first.ready_ns
		: 0;
}

/* The time between the two; 0: there are none. */
static inline uint64_t dnp_run_times_watched(const struct dnp_run_times *times)
{
	return times->last.time_ns - times->first.time_ns;
}

#endif
