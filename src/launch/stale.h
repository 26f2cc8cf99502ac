/* SPDX-License-Identifier: MIT */
/* Sockets of agents whose processes have died without a word. */
#ifndef DNP_LAUNCH_STALE_H
#define DNP_LAUNCH_STALE_H

/*
 * Removes those of this user in a folder that surely are: no process has that id and start time,
 * and nobody listens there.
 */
void dnp_stale_remove(int folder);

/* The same for those that links in this folder lead to (format/session.h); the links go, too. */
void dnp_stale_follow(const char *path);

/* The same in the folder where programs that this user starts have theirs. */
void dnp_stale_remove_own(void);

#endif
