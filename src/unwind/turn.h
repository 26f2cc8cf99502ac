/* SPDX-License-Identifier: MIT */
/* Walks of other threads, of which there is one at a time in the process. */
#ifndef DNP_UNWIND_TURN_H
#define DNP_UNWIND_TURN_H

#include <stdint.h>

/* A walk of thread `tid` begins, when no other goes on any more; and ends. The walking thread. */
void dnp_turn_take(int tid);
void dnp_turn_end(void);

/*
 * Waits until the walk of thread `tid` that goes on now, if one does, is over; 0: of any thread.
 * To be called when a managed thread ends, and (0) before code is freed. Any thread but those that
 * walk.
 */
void dnp_target_wait(int tid);

/*
 * Since when the walk that goes on now can have read the lists of code and modules (dnp_now_ns),
 * UINT64_MAX: none goes on. What is reclaimed must be older (see dnp_codemap_reclaim).
 */
uint64_t dnp_target_since(void);

#endif
