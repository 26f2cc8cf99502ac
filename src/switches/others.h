/* SPDX-License-Identifier: MIT */
/*
 * Who ran instead: the slices of all other processes' threads as those of one pseudo thread for
 * each processor (DNP_THREAD_OTHERS), in which slices that follow each other at once are one.
 */
#ifndef DNP_SWITCHES_OTHERS_H
#define DNP_SWITCHES_OTHERS_H

#include "switches/taker.h"

/* Writes what has been told since the last time; under the time line's lock. */
void dnp_others_write(struct dnp_taker *taker, struct dnp_writer *writer, bool last);

void dnp_others_done(struct dnp_taker *taker);

#endif
