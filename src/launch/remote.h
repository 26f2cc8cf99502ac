/* SPDX-License-Identifier: MIT */
/*
 * A recording that is begun in a running process.
 *
 * Its file is made here, with the rights of the caller, and handed on as a descriptor: so it lies
 * where the caller stands, whatever the process sees of the file system.
 */
#ifndef DNP_LAUNCH_REMOTE_H
#define DNP_LAUNCH_REMOTE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "format/agent_options.h"
#include "launch/attach.h"
#include "launch/control.h"
#include "launch/output.h"

struct dnp_remote_options {
	pid_t pid;
	uint64_t patience_ns;
	const char *output;             /* pattern of the result's name, see output.h; borrowed */
	bool raw;                       /* the result is the recording itself */
	bool attach;                    /* brings the agent there, where it is not */
	bool hold;                      /* it ends with the connection, as does what attach did */
	int interrupt;                  /* ends waiting when it becomes readable; -1: none */
	struct dnp_agent_options agent; /* what is recorded and how */
};

struct dnp_remote {
	struct dnp_remote_options options;
	struct dnp_output output;
	struct dnp_control *control; /* owned */
	char *recording;             /* owned; where it lies */
	bool attached;               /* the agent was brought there for it */
	struct dnp_attached how;     /* then */
};

/* Begins it. 0 or -errno, with nothing left behind. */
int dnp_remote_begin(
	struct dnp_remote *remote, const struct dnp_remote_options *options, struct dnp_err *err);

void dnp_remote_done(struct dnp_remote *remote);

/*
 * As dnp_control_stack, of a process that need not have the agent: it is brought there, and leaves
 * again. `interrupt` as above.
 */
int dnp_remote_stack(pid_t pid, uint64_t patience_ns, int interrupt, int *fd, struct dnp_err *err);

#endif
