/* SPDX-License-Identifier: MIT */
/* What the system tells of another process. */
#ifndef DNP_LAUNCH_PROCESS_H
#define DNP_LAUNCH_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct dnp_process {
	char state;           /* R, S, … Z: ended, not waited for; R where the system has none */
	uint64_t cpu_ns;      /* user and system time of all threads, to the tick */
	uint64_t start_ticks; /* as dnp_process_start_ticks; with the pid it names a process for
				 good */
};

/* 0, or -ESRCH: there is no such process. */
int dnp_process_read(struct dnp_process *process, pid_t pid);

/* Whether a file whose name contains `text` is mapped into the process. */
bool dnp_process_maps(pid_t pid, const char *text);

/* Whether one of its threads is called so that a runtime is there. Anybody may know that. */
bool dnp_process_has_runtime_thread(pid_t pid);

/* Where the system lists its processes, and what to do where that cannot be read. */
extern const char dnp_process_list[], dnp_process_list_remedy[];

/* Calls visit for each process; ends early with what it returns but 0. Else 0 or -errno. */
int dnp_process_each(int (*visit)(pid_t pid, void *context), void *context);

/* Whether our agent's library is, or the runtime's, which a program in one file has in itself. */
bool dnp_process_has_agent(pid_t pid);
bool dnp_process_has_runtime_library(pid_t pid);

/* Whether a runtime is, which other signs than its library tell of, too. */
bool dnp_process_has_runtime(pid_t pid);

/*
 * The root of the files that it sees, which outlasts it: an O_PATH descriptor. -1: it sees those
 * that all do.
 */
int dnp_process_open_root(pid_t pid);

#endif
