/* SPDX-License-Identifier: MIT */
/*
 * One attach while it goes on. launch/attaching.c has what is the same on each system; what is
 * found out about a process, and how its runtime is asked, is in each system's folder.
 */
#ifndef DNP_LAUNCH_ATTACHING_H
#define DNP_LAUNCH_ATTACHING_H

#include <limits.h>

#include "launch/attach.h"
#include "launch/attach_error.h"
#include "launch/ipc_message.h"

struct dnp_attaching {
	const struct dnp_attach_options *options;
	struct dnp_target target;
	struct dnp_ipc_request request;
	struct dnp_program program;
	struct dnp_attach_case c; /* the same, for what goes wrong */
	char library[PATH_MAX];   /* as it is found here, and as the target sees it */
	char seen[PATH_MAX];
	bool at_start;
	uint64_t deadline_ns, pause_ns;
	uint64_t runtime_seen_ns; /* when its runtime was seen first, 0: it was not */
};

/* The library that is to be loaded, which is one. 0 or -errno with err. */
int dnp_attach_find_library(
	const struct dnp_attach_options *options, char path[PATH_MAX], struct dnp_err *err);

/* What it is by its file; -EACCES, -ENOEXEC with err where nothing can be loaded into it. */
int dnp_attach_check_program(struct dnp_attaching *attach, struct dnp_err *err);

/* Removes what an agent that has died has left there. */
void dnp_attach_tidy(const struct dnp_attaching *attach);

/* Whether its runtime can be asked; *error: an errno, or 0. */
bool dnp_attach_has_server(const struct dnp_attaching *attach, int *error);

#endif
