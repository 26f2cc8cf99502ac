/* SPDX-License-Identifier: MIT */
/*
 * The native half of the programs with known truth. Built twice, with and without frame pointers.
 * Any thread may call; nothing here is safe in a signal handler. Times are nanoseconds of CPU.
 */
#ifndef TRUTH_BURN_H
#define TRUTH_BURN_H

#include <stdint.h>

typedef void (*truth_callback)(void *arg);

/* Burns at least NS of the calling thread's CPU time; returns what it was in the end. */
uint64_t truth_burn(uint64_t ns);

/*
 * The same where no more than LEFT bytes of the calling thread's stack are left, too few for the
 * kernel's frame of a signal; 0: they cannot be had. 1,024 are enough for this function itself.
 */
uint64_t truth_burn_at_end(uint64_t ns, int left);

/* Calls CALLBACK through a frame whose size is known only at run time. */
void truth_call(truth_callback callback, void *arg, int frame_bytes);

/*
 * Runs COUNT threads, at most 64, that know nothing of .NET: thread n is named "NAME-n", burns
 * (n + 1) * NS and leaves in SPENT[n] all its CPU time. 0, or the error of pthread_create.
 */
int truth_threads(int count, uint64_t ns, const char *name, uint64_t *spent);

/*
 * The same, each named "early-n" for the first half of its work and "late-n" for the second, but
 * for the last thread: that has its second name for no time at all.
 */
int truth_renamed_threads(int count, uint64_t ns, uint64_t *spent);

/*
 * Calls CALLBACK in a new native thread, leaves in SPENT all its CPU time and waits for it. 0, or
 * the error of pthread_create.
 */
int truth_call_in_thread(truth_callback callback, void *arg, const char *name, uint64_t *spent);

#endif
