/* SPDX-License-Identifier: MIT */
/*
 * Slices of time in which a thread had a processor, as they stand in the record `slices`: for each
 * the time since the end of the one before, its length, and its processor with how it ended. Any
 * thread; nothing is allocated.
 */
#ifndef DNP_FORMAT_SLICE_CODEC_H
#define DNP_FORMAT_SLICE_CODEC_H

#include <stdbool.h>

#include "format/rec.h"
#include "format/varint.h"

/* How a slice ended; the numbers are those of <dnprof/timeline.h>. */
enum dnp_slice_end {
	DNP_SLICE_WAITS = 0,     /* the thread gave the processor back to wait for something */
	DNP_SLICE_PREEMPTED = 1, /* it lost it, but could go on */
	DNP_SLICE_ENDED = 2,     /* the thread ended */
	DNP_SLICE_RUNS = 3,      /* it had the processor still when the recording ended */
	DNP_SLICE_UNKNOWN = 4,   /* its end was lost */
	DNP_SLICE_SAMPLED = 5,   /* it ran at some time in it: no switches were recorded */
};

#define DNP_SLICE_BYTES (3 * DNP_VARINT_MAX) /* at most */

/* Writes one slice; returns its bytes. */
size_t dnp_slice_put(uint8_t out[DNP_SLICE_BYTES], uint64_t gap_ns, uint64_t length_ns,
	uint32_t cpu, enum dnp_slice_end how);

#define DNP_SLICE_NO_CPU 65535u /* as in <dnprof/timeline.h>: no switch told which */

struct dnp_slice_at {
	uint64_t start_ns, end_ns;
	uint32_t cpu; /* DNP_SLICE_NO_CPU: not known */
	uint32_t how; /* enum dnp_slice_end, or one that this version does not know */
};

/* Whether it is known on which processor; of one that is only known to be in it, it is not. */
static inline bool dnp_slice_has_cpu(const struct dnp_slice_at *slice)
{
	return slice->how != DNP_SLICE_SAMPLED && slice->cpu != DNP_SLICE_NO_CPU;
}

struct dnp_slice_reader {
	const uint8_t *in, *end; /* borrowed from the record */
	uint64_t time_ns;        /* where the next gap begins */
};

void dnp_slice_reader_init(struct dnp_slice_reader *reader, const struct dnp_rec_slices *rec);

/* 1: the next slice, which does not begin before the one before ended. 0: no more. -EBADMSG. */
int dnp_slice_next(struct dnp_slice_reader *reader, struct dnp_slice_at *slice);

#endif
