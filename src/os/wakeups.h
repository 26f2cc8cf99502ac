/* SPDX-License-Identifier: MIT */
/*
 * Word from the system of each time that a thread is woken, and by whom. Of the whole machine, for
 * those who may read the kernel's trace points (root). Some may be lost without a word, of which it
 * is only known how many they are: what rests on it must not need all of them.
 */
#ifndef DNP_OS_WAKEUPS_H
#define DNP_OS_WAKEUPS_H

#include <stdint.h>

#include "base/err.h"

struct dnp_wakeup {
	uint64_t time_ns;
	int tid; /* woken */
	int by_pid,
		by_tid; /* by that thread; 0: by an interrupt, a timer say, or while nothing ran */
};

struct dnp_wakeups;

/* -EACCES, -ENOENT, …: not allowed here, or not known; err says so. */
int dnp_wakeups_open(struct dnp_wakeups **wakeups, struct dnp_err *err);
void dnp_wakeups_close(struct dnp_wakeups *wakeups);

/*
 * Ends it: what comes from now on is none. Returns how many the system has counted until then, of
 * all processes, that it has not told of and will not, once all were read that it has.
 */
uint64_t dnp_wakeups_end(struct dnp_wakeups *wakeups,
	void (*visit)(const struct dnp_wakeup *wakeup, void *context), void *context);

/* Calls visit for each that was not told yet: those of one processor in order of time. */
void dnp_wakeups_read(struct dnp_wakeups *wakeups,
	void (*visit)(const struct dnp_wakeup *wakeup, void *context), void *context);

#endif
