/* SPDX-License-Identifier: MIT */
/*
 * Runs a program with the agent in it.
 *
 *   dnp_launch_open   checks all that can be checked; nothing has run, a failure leaves nothing
 *   dnp_launch_run    runs the program to its end and gathers its recording
 *   dnp_launch_done   removes the private folder, frees
 *
 * One at a time, single-threaded: it takes over signals of the process while the program runs.
 */
#ifndef DNP_LAUNCH_LAUNCH_H
#define DNP_LAUNCH_LAUNCH_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "format/agent_options.h"
#include "launch/child.h"
#include "launch/output.h"
#include "launch/program.h"
#include "launch/session_file.h"

struct dnp_launch;

struct dnp_launch_options {
	char *const *command;           /* borrowed, ended by NULL */
	const char *output;             /* pattern of the result's name, see output.h */
	const char *log;                /* a log that is written, too; NULL: none */
	bool raw;                       /* the result is the recording itself */
	bool children;                  /* the .NET programs that it starts, too */
	uint64_t duration_ns;           /* recording ends then, the program goes on; 0: with it */
	struct dnp_agent_options agent; /* how to sample; the launcher fills in where to */
	/* Called a few times a second while the program runs; may be NULL. */
	void (*progress)(void *context, const struct dnp_launch *launch);
	void *context; /* borrowed */
};

struct dnp_launch {
	struct dnp_launch_options options;
	struct dnp_program program;
	struct dnp_output output;
	struct dnp_child child;
	struct dnp_session *session;
	char agent[PATH_MAX];
	char *recording; /* owned; where the recording is, as a path */
	bool placed;     /* it has the result's name already */
	int fd;          /* of the recording while it is handed on, -1 */

	uint64_t start_ns, elapsed_ns; /* of the program */
	uint64_t cpu_ns;               /* its, as last seen */
	struct dnp_session_sum sum;    /* what the agents said last */
	unsigned outliving;            /* processes that still recorded when the program ended */
	bool saw_runtime;              /* CoreCLR was seen in the program */
	bool stopped;                  /* the agents were asked to end */
};

/* 0 or -errno with err. */
int dnp_launch_open(
	struct dnp_launch *launch, const struct dnp_launch_options *options, struct dnp_err *err);

/*
 * 0: the program ran; launch->child.status tells how it ended, and launch->recording holds what was
 * recorded, or nothing. -errno: it could not be started, or (with launch->child.ended) what it
 * recorded could not be kept. Ctrl-C and other signals are kept until dnp_launch_keep has given the
 * recording its place, or dnp_launch_done.
 */
int dnp_launch_run(struct dnp_launch *launch, struct dnp_err *err);

/* Whether ctrl-C asked twice, so that nothing that takes time should follow. */
static inline bool dnp_launch_in_hurry(const struct dnp_launch *launch)
{
	return launch->child.interrupts > 1;
}

/*
 * Gives the recording a place that outlasts dnprof, as the result or, where that is to be something
 * else, beside it as RESULT.dnp, and removes the private folder. 0 or -errno.
 */
int dnp_launch_keep(struct dnp_launch *launch, struct dnp_err *err);

/*
 * Where that cannot be done, the private folder stays with what was recorded. Its path, owned by
 * the caller; NULL: nothing is there, or what is has its place.
 */
char *dnp_launch_leave(struct dnp_launch *launch);

/* Whether an agent gave up, and what it says of it: "what: why; what to do". */
bool dnp_launch_failure(const struct dnp_launch *launch, char reason[DNP_SESSION_REASON]);

/* Why nothing was recorded, as well as it can be known; returns err->code. */
int dnp_launch_explain(const struct dnp_launch *launch, struct dnp_err *err);

void dnp_launch_done(struct dnp_launch *launch);

#endif
