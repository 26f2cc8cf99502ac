/* SPDX-License-Identifier: MIT */
/* One recording that is read (input.h): its chunks, in order. */
#ifndef DNP_READ_RECORDING_H
#define DNP_READ_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "format/rec.h"

/* What is read of a mapped file in one go before it is dropped. */
#define DNP_DROP_BYTES ((size_t)4 << 20)

struct dnp_chunk {
	const uint8_t *payload; /* borrowed from the source */
	uint32_t length;
	uint32_t sequence;
	uint32_t recording; /* index in dnp_input.recordings */
	uint16_t kind;      /* enum dnp_chunk_kind, or one that this version does not know */
	/* The mapped file it is in: memory that can be dropped, and comes again. NULL: it is not.
	 */
	const uint8_t *mapped, *mapped_end;
	uint64_t checksum;
};

/* All chunks of one process's recording. */
struct dnp_recording {
	uint64_t number;                /* what its chunks have in common */
	const struct dnp_chunk *chunks; /* borrowed, in the order of `sequence` */
	size_t n;
	/* Where that record was lost: zero, but for start_ns, which is the earliest time known. */
	struct dnp_rec_process process;
	bool has_process;
	const char *first_file, *last_file; /* borrowed: names of sources that have chunks of it */
	uint32_t next_sequence;             /* for chunks to be appended */
	uint64_t bytes;                     /* of payload, in all */
	struct dnp_vec_of(char *) problems; /* owned sentences: what could not be read */
};

/*
 * These chunks are not read soon: gives back the memory of those that are mapped. Keeps what is
 * read of a large recording in one go from being there all at once.
 */
void dnp_chunks_drop(const struct dnp_chunk *chunks, size_t n);

/*
 * Calls look for each chunk of records in order, until it does not return 0, and returns that;
 * drops what was looked at, as above.
 */
int dnp_recording_each_chunk(const struct dnp_recording *recording,
	int (*look)(void *arg, const struct dnp_chunk *chunk), void *arg);

/* Bytes [from, to) of a mapped file are not read soon, as above. */
void dnp_mapped_drop(
	const uint8_t *mapped, const uint8_t *mapped_end, const uint8_t *from, const uint8_t *to);

/* Tells a problem of a recording. */
int dnp_recording_problem(struct dnp_recording *recording, const char *format, ...)
	__attribute__((format(__printf__, 2, 3)));

#endif
