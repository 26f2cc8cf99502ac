/* SPDX-License-Identifier: MIT */
/*
 * The program as a child process: started behind a gate, given the signals that are meant for it,
 * waited for. One at a time, single-threaded: it takes over the signals of the calling process.
 *
 * The program stays in the launcher's process group, so that a terminal reaches both. Signals that
 * the terminal sends are therefore not sent on; those from other processes are (and one that is
 * sent to the whole group arrives twice, as under sudo or timeout).
 */
#ifndef DNP_LAUNCH_CHILD_H
#define DNP_LAUNCH_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "launch/record.h"

struct dnp_child {
	pid_t pid;
	int gate[2];       /* a pipe; one byte in it: the program starts */
	int report;        /* why it could not, an int */
	int signals;       /* signalfd, -1: they are not kept */
	sigset_t old_mask; /* as they were; the program gets them so */
	struct sigaction old_chld;
	unsigned
		interrupts; /* how often ctrl-C was pressed, or SIGINT came, unless it is ignored */
	bool ended;
	int status; /* as of waitpid, once ended */
};

/*
 * Forks a process that waits at the gate and then calls enter(context), which executes the program
 * and returns -errno if that fails. 0 or -errno.
 */
int dnp_child_fork(
	struct dnp_child *child, int (*enter)(void *context), void *context, struct dnp_err *err);

/* Opens the gate and waits until the program runs. 0, or what enter returned; the child is gone. */
int dnp_child_release(struct dnp_child *child);

/* Ends a child that still waits at the gate. Nothing of the program has run. */
void dnp_child_abandon(struct dnp_child *child);

/* Passes signals on for at most timeout_ms; returns early when one came or the child ended. */
void dnp_child_wait(struct dnp_child *child, int timeout_ms);

/*
 * Gives the signals back: what has come and was not read takes effect. The child must have ended.
 * A second call does nothing.
 */
void dnp_child_done(struct dnp_child *child);

/* How it ended, once it has. */
struct dnp_ended dnp_child_ended(const struct dnp_child *child);

#endif
