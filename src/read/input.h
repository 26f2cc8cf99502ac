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
#include "base/vec.h"
#include "read/recording.h"

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
/* The same for an open one, from its first byte on; it is read at once, and stays the caller's. */
int dnp_input_add_open(struct dnp_input *input, const char *name, int fd, struct dnp_err *err);
/* The same for bytes that stay the caller's. */
int dnp_input_add_bytes(struct dnp_input *input, const char *name, const void *bytes, size_t n,
	struct dnp_err *err);

/*
 * Puts the chunks in order, drops those that are there twice, finds what is missing and decodes
 * each recording's `process`. Refuses two copies of a recording that are not the same. More may be
 * added afterwards, and this called again.
 */
int dnp_input_finish(struct dnp_input *input, struct dnp_err *err);
/* Both, for all these files. */
int dnp_input_read(struct dnp_input *input, int n, char *const *paths, struct dnp_err *err);

#endif
