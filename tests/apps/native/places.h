/* SPDX-License-Identifier: MIT */
/*
 * Where a thread can be when it is sampled: each function stays in one such place for as long as it
 * is asked to, and says whether all went well there. Times are nanoseconds of CPU.
 */
#ifndef TRUTH_PLACES_H
#define TRUTH_PLACES_H

#include <stdint.h>

/* ROUNDS of malloc or free, of all sizes; 0, or -1 if a block did not keep its contents. */
int truth_malloc(int rounds);

/* Reads the clock ROUNDS times; 0, or -1 if it went backwards. */
int truth_clock(int rounds);

/* ROUNDS calls of functions that are little but prolog and epilog; a sum of 0 to ROUNDS - 1. */
uint64_t truth_prologs(int rounds);

/* Sets an alternative stack, raises a signal and burns NS in its handler; the burnt time, or -1. */
int64_t truth_raise_on_stack(uint64_t ns);

/*
 * From now on the calling thread is interrupted again and again, PAUSE of real time after the last
 * interruption ended, and burns NS on an alternative stack each time. 0 or -1.
 */
int truth_interrupt_start(uint64_t ns, uint64_t pause_ns);

/* Ends that; the time burnt by then, or -1. */
int64_t truth_interrupt_stop(void);

/*
 * When the calling thread ends, a destructor of thread-local storage burns NS, and then one of a
 * pthread key as much again. 0 or -1.
 */
int truth_burn_at_exit(uint64_t ns);

/* COUNT native threads, at most 64 at once, that burn NS twice as they end. 0, or an error. */
int truth_exit_threads(int count, uint64_t ns);

struct truth_exited {
	int64_t storage, key;       /* destructors that ran */
	int64_t storage_ns, key_ns; /* and what they burnt */
};

/* Of all threads so far. */
void truth_exited(struct truth_exited *out);

enum truth_sleep {
	TRUTH_SLEEP_NANOSLEEP,
	TRUTH_SLEEP_POLL,
	TRUTH_SLEEP_EPOLL,
	TRUTH_SLEEP_SELECT,
	TRUTH_SLEEP_SEM,
};

/* Sleeps once, MS long: 0, 1 if a signal cut it short (EINTR), 2 if it was too short, -1 on error.
 */
int truth_sleep(int how, int ms);

#endif
