/* SPDX-License-Identifier: MIT */
/*
 * Asks the agent in a process (format/control.h), whoever has brought it there. The process may
 * have its own view of the file system and its own process ids; it is found through them.
 */
#ifndef DNP_LAUNCH_CONTROL_H
#define DNP_LAUNCH_CONTROL_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * Has the stacks of all threads of a process taken, now. *fd: a file in memory with the recording
 * of them, the caller's. 0 or -errno: -ESRCH no such process, -ENOENT no agent in it, -EACCES it is
 * another user's, -ETIMEDOUT no answer within that time, -EPROTONOSUPPORT its agent is of another
 * version, …
 */
int dnp_control_stack(pid_t pid, uint64_t patience_ns, int *fd, struct dnp_err *err);

/*
 * Removes the socket that a process which has died could not remove itself. `start_ticks` as of
 * format/control.h. Nothing happens where there is none.
 */
void dnp_control_remove(pid_t pid, uint64_t start_ticks);

#endif
