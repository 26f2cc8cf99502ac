/* SPDX-License-Identifier: MIT */
/* One line on a terminal that says how far something is, see os/console.h, which takes it away. */
#ifndef DNP_CLI_PROGRESS_H
#define DNP_CLI_PROGRESS_H

#include <stdint.h>

#include "cli/choice.h"
#include "launch/session_file.h"

/* How far `run` is. */
struct dnp_progress {
	uint64_t elapsed_ns, cpu_ns;
	const struct dnp_session_sum *sum; /* borrowed */
	bool stopped;                      /* the recording has ended, the program has not */
};

/* Draws the line anew. */
void dnp_progress_show(const char *format, ...) __attribute__((format(__printf__, 1, 2)));

/* Draws it anew with what has been sampled so far, and `tail` behind it. */
void dnp_progress_samples(
	uint64_t elapsed_ns, uint64_t samples, uint64_t lost, uint64_t cpu_ns, const char *tail);

/* Draws it anew for `run`, if half a second has passed. */
void dnp_progress_run(const struct dnp_choice *choice, const struct dnp_progress *now);

#endif
