/* SPDX-License-Identifier: MIT */
/*
 * Records into chunks into a file. Records are gathered in memory and written when a chunk is full
 * or flushed; a chunk is one write, so that what is in the file is whole.
 *
 * Each thread that writes has a writer of its own, used by one thread at a time; those of one
 * recording share its file (dnp_writer_join).
 */
#ifndef DNP_STORE_WRITER_H
#define DNP_STORE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "format/rec.h"

struct dnp_writer_file;

struct dnp_writer {
	struct dnp_writer_file *file; /* owned by the writer that opened it */
	bool joined;                  /* it is another's */
	uint8_t *chunk;               /* owned, mapped: room for the header, then the payload */
	size_t used;                  /* bytes of payload */
	uint64_t base_ns;             /* time of the last sample in this chunk, 0: none yet */
};

/* Takes fd over, also when it fails. Writes the schema chunk. 0 or -errno. */
int dnp_writer_open(struct dnp_writer *writer, int fd, uint64_t recording);

/* A writer for one more thread, into the same file; to be closed before the other. 0 or -ENOMEM. */
int dnp_writer_join(struct dnp_writer *writer, const struct dnp_writer *opened);

/* Writes what is gathered. 0 or the -errno of the first failure of any writer of the file. */
int dnp_writer_flush(struct dnp_writer *writer);

/* Flushes and frees; the writer that opened the file closes it. */
int dnp_writer_close(struct dnp_writer *writer);
/*
 * The same, and takes away what was written: of the writer that opened the file, when no other has
 * joined. 0 or the -errno by which it is still there.
 */
int dnp_writer_abandon(struct dnp_writer *writer);

/* -errno of the write that failed, by whichever writer: nothing is written any more. 0: none. */
int dnp_writer_failed(const struct dnp_writer *writer);

/* Bytes in the file. */
uint64_t dnp_writer_written(const struct dnp_writer *writer);

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
