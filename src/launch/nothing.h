/* SPDX-License-Identifier: MIT */
/* Why a program that has run left no recording. */
#ifndef DNP_LAUNCH_NOTHING_H
#define DNP_LAUNCH_NOTHING_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "launch/session_file.h"

struct dnp_nothing {
	const struct dnp_session *session;
	const char *program; /* its path */
	pid_t pid;           /* of it */
	bool children;       /* those that it starts were to be recorded, too */
	bool saw_runtime;    /* CoreCLR was seen in it */
	const char *ended;   /* how, if not well and nobody else says it; else NULL */
};

/* As well as it can be known; returns err->code. */
int dnp_nothing_explain(const struct dnp_nothing *nothing, struct dnp_err *err);

#endif
