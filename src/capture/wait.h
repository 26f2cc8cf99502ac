/* SPDX-License-Identifier: MIT */
/*
 * What the engine of switches does for the one of waits, which goes with it: both have the same
 * time line.
 */
#ifndef DNP_CAPTURE_WAIT_H
#define DNP_CAPTURE_WAIT_H

#include "store/writer.h"
#include "switches/taker.h"

/* The time line that is recorded. From the start of the engine of switches until it is closed. */
struct dnp_taker *dnp_switch_taker(void);

/*
 * Writes what is known of waits by now; all when it is the last time. On the recorder's thread,
 * before the slices are written.
 */
void dnp_wait_write(struct dnp_writer *writer, int last);

/* The counters, now and then and after the last slices. */
void dnp_wait_write_stats(struct dnp_writer *writer);

/* The recording is over. */
void dnp_wait_close(void);

#endif
