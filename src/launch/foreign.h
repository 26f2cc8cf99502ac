/* SPDX-License-Identifier: MIT */
/*
 * Runs a program with a profiler that is not ours, in that one process: the runtime loads our
 * agent, which hands the request on there and refuses it in children (agent/relay.h). With
 * `children` the environment names the profiler itself, and all that inherit it load it.
 *
 *   dnp_foreign_open   checks all that can be checked; nothing has run
 *   dnp_foreign_run    runs the program to its end
 *   dnp_foreign_done   frees
 *
 * One at a time, single-threaded: it takes over signals of the process while the program runs.
 */
#ifndef DNP_LAUNCH_FOREIGN_H
#define DNP_LAUNCH_FOREIGN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "launch/child.h"
#include "launch/program.h"

struct dnp_foreign_options {
	char *const *command;         /* borrowed, ended by NULL */
	const char *clsid;            /* as the user wrote it */
	const char *library;          /* its path */
	const char *const *variables; /* NAME=VALUE */
	size_t variable_count;
	bool children;
};

struct dnp_foreign {
	struct dnp_foreign_options options;
	struct dnp_program program;
	struct dnp_child child;
	char clsid[40];         /* in braces */
	char library[PATH_MAX]; /* absolute */
	char agent[PATH_MAX];
	int news; /* what became of the request, -1: not asked for */
};

/* 0 or -errno with err. */
int dnp_foreign_open(struct dnp_foreign *foreign, const struct dnp_foreign_options *options,
	struct dnp_err *err);

/* 0: it ran, foreign->child.status tells how it ended. -errno: it could not be started. */
int dnp_foreign_run(struct dnp_foreign *foreign, struct dnp_err *err);

/* After it ran: 0, or -ENODATA and why the profiler was not loaded. */
int dnp_foreign_loaded(const struct dnp_foreign *foreign, struct dnp_err *err);

void dnp_foreign_done(struct dnp_foreign *foreign);

#endif
