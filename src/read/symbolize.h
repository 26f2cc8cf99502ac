/* SPDX-License-Identifier: MIT */
/*
 * Names for the native and kernel functions of a finished recording, looked up on the machine where
 * it was made, so that it can be read anywhere.
 */
#ifndef DNP_READ_SYMBOLIZE_H
#define DNP_READ_SYMBOLIZE_H

#include "base/sink.h"
#include "read/input.h"

/*
 * Writes chunks of `symbol` records, to be appended to the recording's file, and sets *found to the
 * number of names. Writes nothing where it was done before. What cannot be found is left out:
 * that is no error. 0 or -ENOMEM; errors of the sink are the caller's to find.
 */
int dnp_symbolize(const struct dnp_recording *recording, struct dnp_sink *sink, size_t *found);

/* The same, for a process that sees the files below `root`, as in /proc/PID/root. */
int dnp_symbolize_in(const struct dnp_recording *recording, const char *root, struct dnp_sink *sink,
	size_t *found);

/* Does that for all recordings of a file and appends to it. Its writers must be done. */
int dnp_symbolize_file(const char *path, const char *root, struct dnp_err *err);

#endif
