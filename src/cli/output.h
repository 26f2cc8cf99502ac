/* SPDX-License-Identifier: MIT */
/* The standard output, where results go that no file was named for. */
#ifndef DNP_CLI_OUTPUT_H
#define DNP_CLI_OUTPUT_H

#include "base/err.h"
#include "os/file_sink.h"

/* A reader that has seen enough, as head, is no failure: neither here nor in the end. */
void dnp_output_begin(struct dnp_sink_fd *out);

/* Writes what is left: 0, or -errno with a sentence that names `what` and the remedy. */
int dnp_output_end(
	struct dnp_sink_fd *out, const char *what, const char *remedy, struct dnp_err *err);

/*
 * What is written must not replace what it is made of: DNP_EXIT_DONE, or DNP_EXIT_USAGE after
 * saying that `output` (NULL, "-": standard output) is one of the n recordings.
 */
int dnp_output_spares(const char *command, const char *output, int n, char *const *recordings);

#endif
