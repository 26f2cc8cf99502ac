/* SPDX-License-Identifier: MIT */
/*
 * The runtime's threads, for the one thread of ours that walks them: each is in a place from when
 * the runtime tells of its begin until it tells of its end. A thread does not end while it is
 * looked at.
 *
 * The list is made of what the runtime tells, not of its enumeration: an id from there may be dead
 * before it is used, and the runtime trusts ids blindly.
 */
#ifndef DNP_CAPTURE_MANAGED_H
#define DNP_CAPTURE_MANAGED_H

#include <stdbool.h>
#include <stdint.h>

#include "store/threads.h"

struct dnp_managed {
	uintptr_t id; /* ThreadID */
	struct dnp_thread *thread;
	uint64_t serial; /* no other thread's, ever */
	/* From when on its life is to be told of, and the CPU time that it had used by then. */
	uint64_t since_ns, since_cpu_ns;
};

/* From here on, and until dnp_managed_forget, threads are added. Any thread. */
void dnp_managed_watch(void);

/*
 * Adds a thread, once. What does not fit is left out and counted (DNP_THREADS_REFUSED). One that
 * begins as a recording ends is of no use: nobody would be told of its end.
 */
void dnp_managed_add(uintptr_t id, struct dnp_thread *thread);

/* Called with what is about to be forgotten; nobody looks at it any more. */
typedef void (*dnp_managed_last)(uint32_t place, const struct dnp_managed *managed);

/*
 * Takes a thread out, if it is there; waits while it is looked at, for no other. Any thread but the
 * looking one.
 */
void dnp_managed_remove(uintptr_t id, dnp_managed_last last);

/*
 * The same for one that has gone: where native code has made it, its id stays until the runtime
 * finds that out, which may be never. Its record is still there. `but`: an id that stays, 0: none;
 * who has the record's number now has that one.
 */
void dnp_managed_gone(const struct dnp_thread *thread, uintptr_t but, dnp_managed_last last);

/*
 * No thread is known any more: ids that are not watched may be dead. Who looks at one then leaves
 * it, and enters no other. Any thread.
 */
void dnp_managed_forget(void);

/* Places that there are threads in, or were. */
uint32_t dnp_managed_places(void);

/*
 * The looking thread, one at a time: false when nobody is in that place. Else the thread and its
 * id stay until dnp_managed_leave. Takes no lock.
 */
SIGSAFE bool dnp_managed_enter(uint32_t place, struct dnp_managed *managed);
SIGSAFE void dnp_managed_leave(void);

#endif
