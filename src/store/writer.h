/* SPDX-License-Identifier: MIT */
/*
 * Records into chunks into a file. One thread at a time. Records are gathered in memory and written
 * when a chunk is full or flushed; a chunk is one write, so that what is in the file is whole.
 */
#ifndef DNP_STORE_WRITER_H
#define DNP_STORE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "format/rec.h"

struct dnp_writer {
	int fd;             /* owned */
	uint64_t recording; /* number of the recording */
	uint32_t sequence;
	uint8_t *chunk;   /* owned, mapped: room for the header, then the payload */
	size_t used;      /* bytes of payload */
	uint64_t base_ns; /* time of the last sample in this chunk, 0: none yet */
	uint64_t written; /* bytes in the file */
	int failed;       /* -errno of the write that failed: nothing is written any more */
};

/* Takes fd over, also when it fails. Writes the schema chunk. 0 or -errno. */
int dnp_writer_open(struct dnp_writer *writer, int fd, uint64_t recording);

/* Writes what is gathered. 0 or the -errno of the first failure. */
int dnp_writer_flush(struct dnp_writer *writer);

/* Flushes, closes, frees. */
int dnp_writer_close(struct dnp_writer *writer);

/* Puts a record into the chunk; one that is larger than a chunk is dropped with -E2BIG. */
#define DNP_RECORD(id, name, doc)                                                                  \
	int dnp_write_##name(struct dnp_writer *writer, const struct dnp_rec_##name *rec);
#define U(field, doc)
#define I(field, doc)
#define S(field, doc)
#define DNP_RECORD_END(name)
#include "format/rec.def"

/* A sample at `time_ns`; fills in rec->delta_ns. */
int dnp_write_sample_at(struct dnp_writer *writer, uint64_t time_ns, struct dnp_rec_sample *rec);

#endif
