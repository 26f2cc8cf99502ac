/* SPDX-License-Identifier: MIT */
/*
 * What is recorded from outside: a program from its start, or a process that runs already; waited
 * for in short turns, in which ctrl-C is counted. One at a time, single-threaded.
 *
 *   dnp_follow_command, _make, _go or _abandon, _wait … until it has ended, _leave, _done
 *   dnp_follow_process, _wait …, _leave, _done
 */
#ifndef DNP_LAUNCH_FOLLOW_H
#define DNP_LAUNCH_FOLLOW_H

#include <stdbool.h>

#include "base/err.h"
#include "launch/record.h"

struct dnp_follow {
	char *const *command;     /* borrowed; NULL: a process that runs already */
	struct dnp_follow_os *os; /* owned */
	int pid;                  /* once it is made */
	unsigned interrupts;      /* how often ctrl-C was pressed, or its like came */
	bool ended;               /* the program; of a process that was there this is not known */
	struct dnp_ended how;     /* with that */
};

/* Whether there is such a program, as far as that can be told before. 0 or -errno. */
int dnp_follow_command(struct dnp_follow *follow, char *const *command, struct dnp_err *err);

/* Ctrl-C is counted from now on. 0 or -errno. */
int dnp_follow_process(struct dnp_follow *follow, int pid, struct dnp_err *err);

/* Makes the program's process, of which nothing runs yet. 0 or -errno. */
int dnp_follow_make(struct dnp_follow *follow, struct dnp_err *err);

/* Lets it run. 0, or -errno: it cannot, and there is none any more. */
int dnp_follow_go(struct dnp_follow *follow, struct dnp_err *err);

/* Ends a process that was made and does not run yet. */
void dnp_follow_abandon(struct dnp_follow *follow);

/* At most so long; returns early when the program ended, or something came. */
void dnp_follow_wait(struct dnp_follow *follow, int timeout_ms);

/* Ctrl-C ends this process again, where the system lets it; the program must have ended. */
void dnp_follow_leave(struct dnp_follow *follow);

/* In any state. */
void dnp_follow_done(struct dnp_follow *follow);

#endif
