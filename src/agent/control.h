/* SPDX-License-Identifier: MIT */
/*
 * The control socket of this process (format/control.h): others ask by it for what they want to
 * know. The recorder serves it between its rounds; nothing here waits for a client, so that a slow
 * or hostile one takes nothing but its own answer.
 */
#ifndef DNP_AGENT_CONTROL_H
#define DNP_AGENT_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Makes the socket and has the watch (os/watch.h, open by now) look at it. 0, or -errno: then
 * nobody can ask, and all else goes on. Before the recorder runs, or on it; as the next.
 */
int dnp_control_open(void);

/*
 * Makes a link of the socket's name in `folder`, which leads to where the socket lies, wherever
 * TMPDIR led (format/session.h). Where that fails the socket of a process that is killed stays.
 */
void dnp_control_tell(const char *folder);

/* Removes the socket; whoever has asked and has no answer gets none. */
void dnp_control_close(void);

/*
 * Answers what was asked. `meanwhile` is called while a long answer is made, after each thread that
 * is walked: what must not wait is done there. It returns false to end that.
 */
void dnp_control_serve(bool (*meanwhile)(void));

/* When dnp_control_serve is to be called even if nobody says anything; UINT64_MAX: never. */
uint64_t dnp_control_deadline(void);

#endif
