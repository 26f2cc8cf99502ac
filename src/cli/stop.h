/* SPDX-License-Identifier: MIT */
/* What `dnprof stop` and `dnprof detach` share. */
#ifndef DNP_CLI_STOP_H
#define DNP_CLI_STOP_H

#include "cli/choice.h"

struct dnp_stopped {
	pid_t pid;
	uint64_t patience_ns; /* for each answer of the process */
	bool quiet;           /* as was asked for */
	bool recorded;        /* there was a recording to end */
	char failure[256];    /* there was none: why the last one ended early, if it did */
};

/*
 * What the words of such a command ask for: the recording in a process is ended and made into what
 * was chosen. An exit status; nothing is said where nothing was recorded.
 */
int dnp_stop(const char *command, const struct dnp_values *values, int argc, char **argv,
	struct dnp_stopped *stopped);

#endif
