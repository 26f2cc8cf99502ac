/* SPDX-License-Identifier: MIT */
/* dnprof timeline --live: the threads of a process, drawn on the terminal while they run. */
#ifndef DNP_CLI_LIVE_H
#define DNP_CLI_LIVE_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Draws until the user ends it, the process ends, or duration_ns have passed (0: no limit). An exit
 * status; the terminal is as it was.
 */
int dnp_live(pid_t pid, uint64_t duration_ns);

#endif
