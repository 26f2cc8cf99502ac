/* SPDX-License-Identifier: MIT */
/*
 * Waits until every thread of this process has been seen outside of a signal handler of ours that
 * is not installed any more. Disturbs nobody: no thread is signalled or stopped for it.
 *
 * A thread that took the signal while the handler was installed goes through
 *
 *   1. the kernel, from taking the signal to its frame on the stack;
 *   2. the first instructions of the handler, and that which it counts itself in (`inside`);
 *   3. what is counted; 4. the last instructions, behind that which it counts itself out.
 *
 * The signal is blocked on it from the end of 1 to the end of 4, but it may be blocked for other
 * reasons as well. In 1, 2 and 4 there is no system call, and hardly any CPU time is used. So a
 * thread is past 2 once it sleeps in a system call or has used some CPU time since; when all are,
 * and nobody is counted, none is in 3 and never will be; and who then sleeps in a system call, has
 * used some CPU time since or has the signal open is past 4.
 */
#ifndef DNP_OS_LINUX_DEPARTURE_H
#define DNP_OS_LINUX_DEPARTURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct dnp_departing {
	int tid;
	bool passed;     /* it is past the instructions that are being waited for */
	uint64_t cpu_ns; /* its clock when it was first looked at for that */
};

/* Zeroed before the first call, which the handler must be uninstalled before. */
struct dnp_departure {
	int step;
	struct dnp_vec_of(struct dnp_departing) threads; /* that may be in it still */
};

/*
 * True: all have left. False: not until deadline_ns (dnp_now_ns), or the system does not tell
 * enough; it may be called again. The calling thread is outside, and so are the profiler's own.
 */
bool dnp_departure_wait(struct dnp_departure *departure, int signo, const _Atomic uint32_t *inside,
	uint64_t deadline_ns);

/* Forgets it, to begin anew. */
void dnp_departure_done(struct dnp_departure *departure);

#endif
