/* SPDX-License-Identifier: MIT */
/* What one thread sleeps on until it is time, or another one rings. */
#ifndef DNP_OS_BELL_H
#define DNP_OS_BELL_H

#include <stdbool.h>
#include <stdint.h>

/* Or -errno. On Linux it is a descriptor, which can be read from when somebody has rung. */
int dnp_bell_open(void);
void dnp_bell_close(int bell);

/* Ends the wait that is going on, or else the next one. Any thread. */
void dnp_bell_ring(int bell);

/* Waits until CLOCK_MONOTONIC has reached deadline_ns; true: somebody rang. */
bool dnp_bell_wait(int bell, uint64_t deadline_ns);

/* Whether somebody rang; does not wait. */
bool dnp_bell_take(int bell);

#endif
