/* SPDX-License-Identifier: MIT */
/*
 * Who woke the process's threads, where the system tells of wake-ups. They are written once it is
 * known when the thread that was woken had a processor.
 */
#ifndef DNP_SWITCHES_WAKERS_H
#define DNP_SWITCHES_WAKERS_H

#include "os/wakeups.h"
#include "switches/taker.h"

struct dnp_wakers {
	struct dnp_wakeups *wakeups; /* owned; NULL: not open */
	struct dnp_vec_of(struct dnp_wakeup) pending;
	uint64_t written;
	uint64_t missing; /* of the whole machine, that the system did not tell of; at the end */
};

/* 0 or -errno, err says why. */
int dnp_wakers_open(struct dnp_wakers *wakers, struct dnp_err *err);
void dnp_wakers_close(struct dnp_wakers *wakers);

/* Before dnp_taker_write, which forgets slices. */
void dnp_wakers_write(
	struct dnp_wakers *wakers, struct dnp_taker *taker, struct dnp_writer *writer, bool last);

#endif
