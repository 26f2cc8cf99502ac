/* SPDX-License-Identifier: MIT */
/*
 * Runs a program with the agent in it, on systems where a process is started whole (os/spawn.h);
 * launch.h does that where it is forked. One at a time, single-threaded.
 *
 *   dnp_start_open   checks all that can be checked; nothing has run, a failure leaves nothing
 *   dnp_start_run    runs the program to its end and puts its recording into its place
 *   dnp_start_done   removes the private folder, frees
 */
#ifndef DNP_LAUNCH_START_H
#define DNP_LAUNCH_START_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "format/agent_options.h"
#include "launch/output.h"
#include "launch/program.h"
#include "launch/session_file.h"

struct dnp_start;

struct dnp_start_options {
	char *const *command; /* borrowed, ended by NULL */
	const char *output;   /* pattern of the result's name, see output.h */
	const char *log;      /* a log that is written, too; NULL: none */
	bool raw;             /* the result is the recording itself */
	bool children;        /* those that the program starts are recorded, too */
	uint64_t duration_ns; /* recording ends then, the program goes on; 0: with it */
	/*
	 * The runtime is to write code where it runs, not through a second mapping of that memory
	 * (W^X). CoreCLR 10 for Windows may end a program with "Internal CLR error" otherwise to
	 * whose runtime somebody listens (agent/windows/listening.c).
	 */
	bool in_place;
	struct dnp_agent_options agent; /* how to sample; the rest is filled in */

	/* Called about ten times a second while the program runs, NULL: not. */
	void (*progress)(void *context, const struct dnp_start *start);
	void *context;
};

struct dnp_start {
	struct dnp_start_options options;
	struct dnp_program program;
	struct dnp_output output;
	struct dnp_session *session;
	char agent[PATH_MAX];
	char *recording; /* owned; where it is once the program has ended, NULL: there is none */

	int pid;
	bool saw_runtime;      /* CoreCLR was seen in the program */
	uint64_t next_look_ns; /* when it is looked for again, of elapsed_ns */
	bool ended;            /* the program has run, to its end */
	bool unplaced;         /* what was recorded is in the private folder still */
	uint32_t status;       /* with that the program ended */
	unsigned interrupts;
	uint64_t elapsed_ns;
	bool stopped;               /* the agents were asked to end */
	struct dnp_session_sum sum; /* as last seen; while the program runs only with `progress` */
};

/* 0 or -errno with err. */
int dnp_start_open(
	struct dnp_start *start, const struct dnp_start_options *options, struct dnp_err *err);

/*
 * 0: the program ran, and start->recording holds what was recorded. -errno: it could not be
 * started, or (with `ended`) nothing was recorded, or that could not be kept.
 */
int dnp_start_run(struct dnp_start *start, struct dnp_err *err);

/* Whether the agent gave up, and what it says of it: "what: why; what to do". */
bool dnp_start_failure(const struct dnp_start *start, char reason[DNP_SESSION_REASON]);

/*
 * What could not be put into its place stays in the private folder. Its path, owned by the caller;
 * NULL: nothing is there. Only dnp_start_done may follow.
 */
char *dnp_start_leave(struct dnp_start *start);

void dnp_start_done(struct dnp_start *start);

#endif
