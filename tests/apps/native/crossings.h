/* SPDX-License-Identifier: MIT */
/* Functions that managed code calls, each in a way of its own, and that call it back. */
#ifndef TRUTH_CROSSINGS_H
#define TRUTH_CROSSINGS_H

#include <stdint.h>

int truth_next(int x);
int truth_length(const char *text);

/* Fails with that error in errno. */
int truth_fail(int error);

/* Sleeps so long at least. */
void truth_nap(int64_t ns);

/* Calls `callback` with 0 to n - 1, with a nap before each; the sum of what it returned. */
int truth_each(int (*callback)(int i), int n, int64_t nap_ns);

/* Ends the calling thread where it is: neither the C library nor the runtime is told. */
void truth_vanish(void);

/* Sleeps until the process ends. */
void truth_stay(void);

/* How many threads have come to either of these two. */
int truth_there(void);

#endif
