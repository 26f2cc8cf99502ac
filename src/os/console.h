/* SPDX-License-Identifier: MIT */
/* What a command line is given by the system, and the terminal it writes to. One thread at a time.
 */
#ifndef DNP_OS_CONSOLE_H
#define DNP_OS_CONSOLE_H

#include <stdbool.h>

/*
 * First thing in a program: its words become UTF-8 and its standard streams carry bytes as they
 * are, where that is not so by itself; and a file that reaches the limit of file sizes is an error
 * of the write, -EFBIG, for it but not for programs that it executes. 0, or -ENOMEM.
 */
int dnp_console_begin(int *argc, char ***argv);

/* Of the terminal that the standard output is; 0: it is none. */
unsigned dnp_console_columns(void);

/*
 * A line that says how far something is, where stderr is a terminal that can have one besides what
 * programs write to it: below the line of the cursor, and nothing that was written is touched; on
 * Windows, where that cannot be had, in place of the window's title.
 */
bool dnp_console_status_possible(void);
void dnp_console_status_show(const char *text);

/* Takes it away, if it is there; a title is as before. */
void dnp_console_status_clear(void);

/* From now on a reader who goes away is an error of the write, -EPIPE, and no end of the program.
 */
void dnp_console_outlive_reader(void);

#endif
