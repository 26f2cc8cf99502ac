/* SPDX-License-Identifier: MIT */
/* One thread sleeps, any other wakes it; also from a signal handler. */
#ifndef DNP_OS_WAKE_H
#define DNP_OS_WAKE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/clean.h"

/* Zeroed memory is ready. */
struct dnp_wake {
	_Atomic uint32_t pending;
};

/* Ends the sleep that is going on, or else the next one. Cheap when that was already asked for. */
SIGSAFE void dnp_wake(struct dnp_wake *wake);

/* Sleeps until CLOCK_MONOTONIC has reached deadline_ns or somebody wakes it. One thread only. */
void dnp_wake_wait(struct dnp_wake *wake, uint64_t deadline_ns);

#endif
