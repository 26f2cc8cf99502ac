/* SPDX-License-Identifier: MIT */
/* What /proc tells of another process. */
#ifndef DNP_LAUNCH_PROCESS_H
#define DNP_LAUNCH_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct dnp_process {
	char state;           /* R, S, … Z: ended, not waited for */
	uint64_t cpu_ns;      /* user and system time of all threads, to the tick */
	uint64_t start_ticks; /* since boot; with the pid it names a process for good */
};

/* 0, or -ESRCH: there is no such process. */
int dnp_process_read(struct dnp_process *process, pid_t pid);

/* Whether a file whose name contains `text` is mapped into the process. */
bool dnp_process_maps(pid_t pid, const char *text);

#endif
