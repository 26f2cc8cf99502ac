/* SPDX-License-Identifier: MIT */
/*
 * One line on a terminal that says how far something is. It stands below the program's own output
 * and never touches what the program has written on the line of the cursor.
 */
#ifndef DNP_CLI_PROGRESS_H
#define DNP_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether stderr is a terminal that the line can be drawn on. */
bool dnp_progress_possible(void);

/* Draws the line anew. */
void dnp_progress_show(const char *format, ...) __attribute__((format(__printf__, 1, 2)));

/* Draws it anew with what has been sampled so far, and `tail` behind it. */
void dnp_progress_samples(
	uint64_t elapsed_ns, uint64_t samples, uint64_t lost, uint64_t cpu_ns, const char *tail);

/* Takes it away. */
void dnp_progress_clear(void);

#endif
