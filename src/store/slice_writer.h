/* SPDX-License-Identifier: MIT */
/*
 * Slices of a thread, in order of time, into records: as many in one as fit into its room.
 *
 *   dnp_slice_writer_begin, dnp_slice_writer_add …, dnp_slice_writer_end
 *
 * One thread at a time. What cannot be written the writer knows (dnp_writer_failed).
 */
#ifndef DNP_STORE_SLICE_WRITER_H
#define DNP_STORE_SLICE_WRITER_H

#include "format/slice_codec.h"
#include "store/writer.h"

#define DNP_SLICE_ROOM 4096 /* bytes of slices in one record */

struct dnp_slice_writer {
	struct dnp_writer *writer; /* borrowed */
	uint64_t thread;           /* index */
	uint64_t since_ns;         /* end of the last slice, or where all begins */
	enum dnp_slice_end before; /* how that one ended */
	struct dnp_rec_slices rec; /* what is not written yet */
	size_t used;
	uint8_t bytes[DNP_SLICE_ROOM];
};

/* The thread has had no processor since `since_ns`; `before` says why. */
void dnp_slice_writer_begin(struct dnp_slice_writer *slices, struct dnp_writer *writer,
	uint64_t thread, uint64_t since_ns, enum dnp_slice_end before);

/* One that begins before the last one ended is cut. */
void dnp_slice_writer_add(struct dnp_slice_writer *slices, uint64_t start_ns, uint64_t end_ns,
	uint32_t cpu, enum dnp_slice_end how);

/* Writes what is left. */
void dnp_slice_writer_end(struct dnp_slice_writer *slices);

/* The same; and until that time the thread had no processor any more. */
void dnp_slice_writer_end_at(struct dnp_slice_writer *slices, uint64_t until_ns);

#endif
