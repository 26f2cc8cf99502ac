/* SPDX-License-Identifier: MIT */
/*
 * What programs do with signals and processes: each function does it and returns what came of it,
 * so that the result can be compared between a run with the profiler and one without.
 */
#ifndef TRUTH_PROCESS_H
#define TRUTH_PROCESS_H

#include <stdint.h>

/* Makes ROUNDS calls of each kind that wait; how many failed with EINTR, -1 after any other error.
 */
int truth_waits(int rounds);

struct truth_sigprof {
	int32_t ticks;           /* SIGPROF handled */
	int32_t ticks_elsewhere; /* of those, not on the alternative stack this thread had set */
	int32_t stack_kept;      /* 1: the alternative stack is still the one that was set */
	int32_t handler_kept;    /* 1: so is the handler */
};

/*
 * Uses SIGPROF, a CPU timer of this thread at HZ and an alternative stack while burning NS of CPU,
 * and puts everything back. 0 or -1.
 */
int truth_sigprof(uint64_t ns, int hz, struct truth_sigprof *out);

struct truth_traps {
	int own;       /* signals that were sent, and breakpoints, as its handler saw them */
	int strangers; /* signals of a clock of the kernel's: somebody samples this program */
};

/*
 * A program that has a handler of SIGTRAP for a while: computes for `ns`, and meanwhile comes to
 * `times` breakpoints and sends itself as many signals. 0 or -1.
 */
int truth_traps(uint64_t ns, int times, struct truth_traps *out);

/*
 * Forks; the child, which never executes another program, burns NS, allocates, writes one byte and
 * ends with _exit(STATUS), or exit(STATUS) if RUN_HANDLERS. Its wait status, -2 if it did not end
 * within ten seconds and was killed, -1 on error.
 */
int truth_fork(uint64_t ns, int run_handlers, int status);

/* What a child does that never executes another program. */
enum truth_child {
	TRUTH_CHILD_EXITS,   /* exit(): handlers and destructors, the runtime's among them */
	TRUTH_CHILD_LOADS,   /* loads LIBRARY and unloads it, then ends with _exit() */
	TRUTH_CHILD_WALKS,   /* asks the dynamic linker what is loaded, then the same */
	TRUTH_CHILD_RETURNS, /* goes on where it was forked, and ends by truth_leave */
};

/* Forks such a child: its id, 0 in one that returns, -1 on error. */
int truth_child(int what, const char *library);

/* Waits for a child's end: its wait status, -2 if it had to be killed after so long, -1 on error.
 */
int truth_await(int pid, int patience_ms);

void truth_leave(int status);

/*
 * Runs /usr/bin/env from a fork with the environment that C code of this process sees; its output
 * goes to FD. Its wait status, -1 on error.
 */
int truth_env(int fd);

#endif
