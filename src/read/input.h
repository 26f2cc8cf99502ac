/* SPDX-License-Identifier: MIT */
/*
 * Recordings to read: the chunks of one or several files, verified and put in order.
 *
 *   dnp_input_init, dnp_input_add_file …, dnp_input_finish, use, dnp_input_done
 *
 * Nothing in a file is trusted. What cannot be read is skipped and told as a problem of the
 * recording it most likely belonged to; adding fails only where nothing can be read at all.
 * Time is linear in the files' size and memory bounded by it. One thread at a time.
 */
#ifndef DNP_READ_INPUT_H
#define DNP_READ_INPUT_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
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
	struct dnp_rec_process process; /* zero where that record was lost */
	bool has_process;
	uint32_t next_sequence;             /* for chunks to be appended */
	uint64_t bytes;                     /* of payload, in all */
	struct dnp_vec_of(char *) problems; /* owned sentences: what could not be read */
};

struct dnp_source {
	char *name; /* owned */
	const uint8_t *bytes;
	size_t n;
	enum { DNP_SOURCE_BORROWED, DNP_SOURCE_MAPPED, DNP_SOURCE_OWNED } ownership; /* of bytes */
};

struct dnp_input {
	struct dnp_vec_of(struct dnp_source) sources;
	struct dnp_vec_of(struct dnp_chunk) chunks;
	struct dnp_vec_of(struct dnp_recording) recordings;
	struct dnp_map by_number; /* hash of the number → index of the recording */
};

void dnp_input_init(struct dnp_input *input);
void dnp_input_done(struct dnp_input *input);

/* 0, or -errno with a sentence: not there, not a recording, empty, of a newer version. */
int dnp_input_add_file(struct dnp_input *input, const char *path, struct dnp_err *err);
/* The same for bytes that stay the caller's. */
int dnp_input_add_bytes(struct dnp_input *input, const char *name, const void *bytes, size_t n,
	struct dnp_err *err);

/*
 * Puts the chunks in order, drops those that are there twice, finds what is missing and decodes
 * each recording's `process`. More may be added afterwards, and this called again.
 */
int dnp_input_finish(struct dnp_input *input, struct dnp_err *err);
/* Both, for all these files. */
int dnp_input_read(struct dnp_input *input, int n, char *const *paths, struct dnp_err *err);

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

/* Tells a problem of a recording. */
int dnp_recording_problem(struct dnp_recording *recording, const char *format, ...)
	__attribute__((format(__printf__, 2, 3)));

#endif
