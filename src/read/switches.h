/* SPDX-License-Identifier: MIT */
/*
 * The slices of all threads of a recording, in the order in which they began.
 *
 *   dnp_switches_init, threads.p[i].wanted = false for some, dnp_switches_next …, dnp_switches_done
 *
 * Memory is that of an index: some 32 bytes for each record of slices, of which a thread that
 * switches often has one for hundreds of them. One thread at a time.
 */
#ifndef DNP_READ_SWITCHES_H
#define DNP_READ_SWITCHES_H

#include "base/vec.h"
#include "format/slice_codec.h"
#include "read/input.h"

/* A record of slices: what is needed to read it. */
struct dnp_switch_record {
	const uint8_t *slices; /* borrowed from the input */
	uint32_t bytes;
	uint32_t next; /* of the same thread; DNP_NONE: none */
	uint64_t time_ns;
};

struct dnp_switch_thread {
	uint64_t index; /* the recording's */
	uint64_t tid, flags;
	uint64_t start_ns, end_ns; /* end_ns 0: it outlived the recording */
	struct dnp_str name;       /* its last; borrowed from the input */
	bool wanted;
	uint32_t first, last, at; /* records; `at`: that the reader is in */
	struct dnp_slice_reader reader;
	struct dnp_slice_at slice; /* the next one */
};

struct dnp_switches {
	const struct dnp_recording *recording; /* borrowed */
	struct dnp_vec_of(struct dnp_switch_thread) threads;
	struct dnp_vec_of(struct dnp_switch_record) records;
	struct dnp_vec_of(struct dnp_rec_switch_loss) losses;
	struct dnp_vec_of(uint32_t) heap; /* threads that have a slice; the earliest first */
	struct dnp_map places; /* the recording's index of a thread → place in threads */
	uint64_t interval_ns;  /* between looks at clocks, 0: switches were recorded */
	uint64_t end_ns;       /* of the recording; 0: it was cut off */
	uint64_t damaged;      /* bytes that could not be understood */
	size_t read_bytes;     /* of slices since memory was given back */
	bool begun;
};

/* The recording is finished. 0 or -ENOMEM; to be done with in any case. */
int dnp_switches_init(struct dnp_switches *switches, const struct dnp_recording *recording);
void dnp_switches_done(struct dnp_switches *switches);

/* 1: the next slice, and the place of its thread. 0: no more. -ENOMEM. */
int dnp_switches_next(struct dnp_switches *switches, uint32_t *thread, struct dnp_slice_at *slice);

#endif
