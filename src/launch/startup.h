/* SPDX-License-Identifier: MIT */
/*
 * A profiler from a program's first moment on, where its runtime waits for a word before it begins:
 * at a diagnostic port (DOTNET_DiagnosticPorts=NAME: it connects to a socket, or a pipe of Windows,
 * that somebody else has), or at its own (DOTNET_DefaultDiagnosticPortSuspend=1). It is told which
 * profiler to load, and then that it may begin. Such a profiler has all rights, hooks of calls too.
 */
#ifndef DNP_LAUNCH_STARTUP_H
#define DNP_LAUNCH_STARTUP_H

#include "launch/target.h"

struct dnp_startup {
	const char *clsid;
	const char *library; /* as we see it */
	const char *seen;    /* as the program does (launch/placed.h); NULL: that is found out */
	const char *options; /* DNPROF_OPTIONS for our agent; NULL: none */
	bool agent;          /* it is our agent: it answers when it is there */
};

/*
 * Waits for a program to come to the port NAME, which is made here and removed again, and has it
 * begin with the profiler. *pid: which it was. 0 or -errno with err: -ETIMEDOUT nobody came, or the
 * profiler was not loaded; -EADDRINUSE somebody else waits there; -EINTR `interrupt` became
 * readable (-1: none).
 */
int dnp_startup_at_port(const struct dnp_startup *startup, const char *name, uint64_t timeout_ns,
	int interrupt, pid_t *pid, struct dnp_err *err);

/* Whether that process waits at its own. */
bool dnp_startup_waits(const struct dnp_target *target);

/*
 * Has it begin with the profiler. 0 or -errno with err; -EALREADY: it does not wait yet, or
 * no longer.
 */
int dnp_startup_waiting(const struct dnp_startup *startup, const struct dnp_target *target,
	uint64_t deadline_ns, int interrupt, struct dnp_err *err);

#endif
