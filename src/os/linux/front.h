/* SPDX-License-Identifier: MIT */
/* A signal handler of ours before the one that is there, which comes back as it was. */
#ifndef DNP_OS_LINUX_FRONT_H
#define DNP_OS_LINUX_FRONT_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "os/linux/departure.h"

/* All calls on one at a time, from no handler. */
struct dnp_front {
	int signo;
	void (*handler)(int signo, siginfo_t *info, void *context);

	/* Written before the handler is installed and never after, so it reads it plainly. */
	struct sigaction previous;
	/*
	 * Threads that are in the handler, less those at its first and last instructions: it
	 * counts, by an acquire before it reads what is above, and by a release at its end.
	 */
	_Atomic uint32_t inside;

	bool installed;
	bool entered;                   /* threads may be in the handler, or could be */
	struct dnp_departure departure; /* of them, since it is not installed any more */
};

/*
 * Puts the handler before `now`, which is there, with its flags and `flags`, SA_SIGINFO among them.
 * `alone`: no other handler comes while it runs, but for faults of its own code; else those that
 * `now` lets come. Once is enough. 0 or -errno.
 */
int dnp_front_install(struct dnp_front *front, const struct sigaction *now, int flags, bool alone);

/* Whether the handler is the one that is installed: nobody has put another over it. */
bool dnp_front_is_on_top(const struct dnp_front *front);

/*
 * Whether signals get to the handler: it is on top, or somebody's is who came later, and who has to
 * pass on what is not his, as the runtime needs it.
 */
bool dnp_front_is_reached(const struct dnp_front *front);

/*
 * Gives back what was there; once is enough. 0, -errno, or -EBUSY: somebody has put a handler over
 * ours, which stays, since he may call it.
 */
int dnp_front_put_back(struct dnp_front *front);

/*
 * Whether it is put back, no thread is in the handler or about to enter it, and none ever will be.
 * Waits for that until deadline_ns (dnp_now_ns); a later call goes on. See departure.h.
 */
bool dnp_front_left(struct dnp_front *front, uint64_t deadline_ns);

#endif
