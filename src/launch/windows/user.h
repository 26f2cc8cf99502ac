/* SPDX-License-Identifier: MIT */
/* Whom processes belong to. */
#ifndef DNP_LAUNCH_WINDOWS_USER_H
#define DNP_LAUNCH_WINDOWS_USER_H

#include <sys/types.h>

#define DNP_USER_NAME 33 /* with its zero; longer names are cut */

/* "?": it does not say. */
void dnp_user_name(pid_t pid, char name[DNP_USER_NAME]);

#endif
