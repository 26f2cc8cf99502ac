/* SPDX-License-Identifier: MIT */
/*
 * A copy of a recording that the agent has handed over as a descriptor, in a place of the caller's.
 *
 *   dnp_copy_open   finds out whether the place can be written, before anybody is asked
 *   dnp_copy_take   copies
 *   dnp_copy_done   frees; removes what was not finished
 */
#ifndef DNP_LAUNCH_COPY_H
#define DNP_LAUNCH_COPY_H

#include <stdbool.h>

#include "launch/output.h"

struct dnp_copy {
	struct dnp_output output;
	char *recording; /* owned; where it lies */
	int fd;          /* of the copy, owned; -1: closed */
};

/* `pattern` as of output.h, for the result of process `pid`. 0 or -errno. */
int dnp_copy_open(struct dnp_copy *copy, const char *pattern, pid_t pid, struct dnp_err *err);

/*
 * Copies what is whole of the recording `from` and gives the copy its place: the result's (`raw`),
 * or one beside it. `dumped`: the recording goes on, and this is how it is now. 0 or -errno.
 */
int dnp_copy_take(struct dnp_copy *copy, int from, bool raw, bool dumped, struct dnp_err *err);

void dnp_copy_done(struct dnp_copy *copy);

/*
 * The path of the file that a descriptor stands for, as long as it leads to that file here; the
 * caller's. NULL: there is none.
 */
char *dnp_copy_original(int fd);

/*
 * The same of a recording that nobody waits for: who began it may not have given it its place yet,
 * which is waited for, some seconds at most, or until `interrupt` (interrupt.h) is readable.
 */
char *dnp_copy_placed(int fd, int interrupt);

#endif
