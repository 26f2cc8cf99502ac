/* SPDX-License-Identifier: MIT */
/*
 * One line on a terminal that says how far something is. It stands below the program's own output
 * and never touches what the program has written on the line of the cursor.
 */
#ifndef DNP_CLI_PROGRESS_H
#define DNP_CLI_PROGRESS_H

#include <stdbool.h>

/* Whether stderr is a terminal that the line can be drawn on. */
bool dnp_progress_possible(void);

/* Draws the line anew. */
void dnp_progress_show(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Takes it away. */
void dnp_progress_clear(void);

#endif
