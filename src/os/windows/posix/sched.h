/* SPDX-License-Identifier: MIT */
/* As pthread.h beside it: what the portable layers use of POSIX. */
#ifndef DNP_OS_WINDOWS_SCHED_H
#define DNP_OS_WINDOWS_SCHED_H

/* Lets another thread that is ready run on this processor. 0. */
int sched_yield(void);

#endif
