/* SPDX-License-Identifier: MIT */
/*
 * The threads of our own that there are (os/thread.h says which), for what makes and joins them.
 * Any thread; what is asked of them is async-signal-safe.
 */
#ifndef DNP_OS_OWN_THREADS_H
#define DNP_OS_OWN_THREADS_H

/* Of more than there ever are at once the rest is not known. */
void dnp_own_threads_add(int tid);
/* By the thread itself, as its last: what it has used stays known. */
void dnp_own_threads_end(void);
void dnp_own_threads_remove(int tid);

#endif
