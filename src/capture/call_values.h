/* SPDX-License-Identifier: MIT */
/*
 * Values of calls on their way from hooks to the recording: a ring of bytes for each thread, which
 * the writer of events empties. A full ring is waited for within a bound; then values are dropped
 * and counted until half of it is free. The events themselves are not concerned. A ring is never
 * given back.
 */
#ifndef DNP_CAPTURE_CALL_VALUES_H
#define DNP_CAPTURE_CALL_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include "store/writer.h"

enum { DNP_CALL_VALUES_MAX = 1024 }; /* bytes of the values of one event */

struct dnp_call_values;

/* A ring for a thread; NULL: no memory. Any thread. */
struct dnp_call_values *dnp_call_values_new(void);

/*
 * The values of an event of the ring's thread, `thread` in the recording. `word`: the event as it
 * stands in its own ring. From the thread's hooks.
 */
void dnp_call_values_put(struct dnp_call_values *ring, uint32_t thread, uint64_t word,
	const uint8_t *values, size_t n);

/* Writes all that is in the rings. One thread at a time. */
void dnp_call_values_write(struct dnp_writer *writer, unsigned event);

/* Events whose values were dropped. Any thread. */
uint64_t dnp_call_values_lost(void);

#endif
