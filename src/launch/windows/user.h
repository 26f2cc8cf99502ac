/* SPDX-License-Identifier: MIT */
/* Whom processes belong to. */
#ifndef DNP_LAUNCH_WINDOWS_USER_H
#define DNP_LAUNCH_WINDOWS_USER_H

#include <stdbool.h>
#include <sys/types.h>

#define DNP_USER_NAME 33 /* with its zero; longer names are cut */

/* "?": it does not say. */
void dnp_user_name(pid_t pid, char name[DNP_USER_NAME]);

/*
 * False: it is another user's, whose agent would let in nobody else (os/windows/private.h), not an
 * administrator either.
 */
bool dnp_user_is_own(pid_t pid);

#endif
