/* SPDX-License-Identifier: MIT */
/*
 * Where output goes: a file, a descriptor, memory. Exporters never know which.
 *
 * Writing never fails in between: the first error is kept in `error`, later writes do nothing, and
 * the closing function reports it. One thread at a time.
 */
#ifndef DNP_BASE_SINK_H
#define DNP_BASE_SINK_H

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

struct dnp_sink {
	/* Writes all of it: 0 or -errno. */
	int (*write)(struct dnp_sink *sink, const void *bytes, size_t n);
	int error; /* -errno of the first write that failed */
};

void dnp_sink_write(struct dnp_sink *sink, const void *bytes, size_t n);
void dnp_sink_str(struct dnp_sink *sink, struct dnp_str str);
void dnp_sink_puts(struct dnp_sink *sink, const char *text);
void dnp_sink_printf(struct dnp_sink *sink, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* `count` times the same text. */
void dnp_sink_repeat(struct dnp_sink *sink, const char *text, size_t count);

/* Grows in memory. Free with dnp_vec_done(&sink.bytes). */
struct dnp_sink_memory {
	struct dnp_sink sink;
	struct dnp_vec_of(char) bytes;
};
void dnp_sink_memory_init(struct dnp_sink_memory *memory);

/* Buffered writing to a descriptor, which stays the caller's. */
struct dnp_sink_fd {
	struct dnp_sink sink;
	int fd; /* borrowed */
	size_t used;
	char buffer[65536];
};
void dnp_sink_fd_init(struct dnp_sink_fd *out, int fd);
/* Writes out what is buffered: 0 or the first error. */
int dnp_sink_fd_flush(struct dnp_sink_fd *out);

/*
 * A file that appears whole or not at all: written under a temporary name in the same folder, mode
 * 0600, and renamed in the end. A symbolic link at `path` is replaced, never followed.
 */
struct dnp_sink_file {
	struct dnp_sink_fd out;
	char *path;      /* owned */
	char *temporary; /* owned */
};
int dnp_sink_file_open(struct dnp_sink_file *file, const char *path, struct dnp_err *err);
/* Puts the file in its place, or removes it and tells the first error. */
int dnp_sink_file_commit(struct dnp_sink_file *file, struct dnp_err *err);
void dnp_sink_file_abort(struct dnp_sink_file *file);

#endif
