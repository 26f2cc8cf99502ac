/* SPDX-License-Identifier: MIT */
/*
 * What decides how well a process can be profiled, as read from the system: of the machine, and of
 * one process or of those that the caller would start. capabilities.h judges it.
 */
#ifndef DNP_LAUNCH_FACTS_H
#define DNP_LAUNCH_FACTS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "launch/runtime.h"
#include "launch/status.h"

#define DNP_FACT_UNKNOWN LONG_MIN /* the system does not have it, or does not tell */

/* Why something is so, "" if it is as it should be: "what is wrong; what to do". */
typedef char dnp_fact_text[384];

struct dnp_facts {
	/* The machine: the kernel's version (of Windows "10.0.19045"), and the processor. */
	char kernel[65], machine[65];

	/* Who asks, or the process that is asked about. */
	pid_t pid;                /* 0: the programs that the caller starts */
	dnp_fact_text agent_file; /* why our library does not load here */
	dnp_fact_text folder;     /* why TMPDIR, or TEMP, cannot be used */
	char folder_path[256];
	dnp_fact_text environment; /* why the caller's would hinder `dnprof run` */
	char other[256];           /* a profiler that the environment names, "" none */

	/* The process, where pid is not 0. */
	bool nativeaot;
	char kind[64]; /* what the program is, as "a native program" */
	bool own_kind; /* for this processor, 64 bits */
	struct dnp_runtime runtime;
	bool has_socket;       /* of the runtime's diagnostics; a pipe of Windows */
	char switched_off[96]; /* the variable that says so, "" none */
	bool asked;            /* the agent in it answers */
	struct dnp_status status;
	dnp_fact_text no_answer; /* it has the agent: why not */

	/* ---- Linux */
	long perf_paranoid, kptr_restrict, ptrace_scope, perf_mlock_kb; /* settings of the kernel */
	long processors;
	long tick_hz;      /* of POSIX timers on CPU time */
	bool kernel_names; /* the kernel tells its symbols' addresses to who asks */

	unsigned uid, caller;
	uint64_t privileges; /* effective capabilities of Linux, a bit each */
	bool user_namespace; /* they do not count outside of it */
	long seccomp;        /* 0 none, 1 strict, 2 a filter */
	uint64_t files_max, memlock_max, signals_max; /* UINT64_MAX: no limit */
	uint64_t signals;        /* pending for all processes of its user, and timers */
	uint64_t files, threads; /* open now; 0: unknown */
	uint64_t caught;         /* signals with a handler, a bit each */
	char state;              /* as in /proc/PID/stat */
	int perf_error;          /* errno of counting CPU time and the kernel's; 0: it works */
	int switches_error;      /* errno of being told of switches of threads */
	dnp_fact_text place;     /* why the library cannot be put where the process sees it */

	/* ---- Windows */
	char wine[32]; /* the version of what stands for Windows, "" Windows itself */
	char user[33], caller_user[33]; /* "?": not known */
	uint64_t step_ns;               /* of a thread's CPU clock, 0: as it runs */
	bool low_code;                  /* see agent/windows/listening.c; DNP_IN_PLACE_ENV helps */
	dnp_fact_text threads_shut;     /* why its threads may not be looked at */
};

/* pid 0: of programs that the caller would start. 0, or -errno with err: no such process. */
int dnp_facts_read(struct dnp_facts *facts, pid_t pid, uint64_t patience_ns, struct dnp_err *err);
void dnp_facts_done(struct dnp_facts *facts);

#endif
