/* SPDX-License-Identifier: MIT */
/*
 * The thread of our own. While there is a recording it looks every few milliseconds for new threads
 * and modules, and drains the rings; else it sleeps until somebody asks. It alone writes
 * recordings, also their end: it has all signals blocked, so that a write beyond a file size limit
 * cannot kill the program. Between its rounds it serves the control socket.
 */
#ifndef DNP_AGENT_RECORDER_H
#define DNP_AGENT_RECORDER_H

#include <stdbool.h>

#include "base/err.h"
#include "format/rec.h"

/*
 * What the thread sleeps on and is asked by. `begin` is the first that it does once it may. 0 or
 * -errno: without the socket nobody can ask, and all else goes on.
 */
int dnp_recorder_open(void (*begin)(void));
/* Then the thread. 0 or -errno. */
int dnp_recorder_start(struct dnp_err *err);
/* It may begin, or may as soon as it has started: the runtime takes calls. Any thread. */
void dnp_recorder_go(void);
/*
 * Ends what is recorded and the thread, which is not waited for for ever: whether it has ended. Any
 * thread but that; a second call does nothing.
 */
bool dnp_recorder_stop(enum dnp_end_reason reason);
/* Whether one that had not ended then has by now. */
bool dnp_recorder_has_stopped(void);

#endif
