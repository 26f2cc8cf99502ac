/* SPDX-License-Identifier: MIT */
/* Sinks that lead out of the program: a descriptor, a file. One thread at a time. */
#ifndef DNP_OS_FILE_SINK_H
#define DNP_OS_FILE_SINK_H

#include "base/sink.h"

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
