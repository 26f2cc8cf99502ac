/* SPDX-License-Identifier: MIT */
/* The libraries in a process. */
#ifndef DNP_LAUNCH_WINDOWS_MODULES_H
#define DNP_LAUNCH_WINDOWS_MODULES_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Calls visit with the path of each, the program's own first; ends early with what it returns but
 * 0. Else 0, -ESRCH: there is no such process, -EACCES: nobody may look into it, or -ENOMEM.
 */
int dnp_modules_each(pid_t pid, int (*visit)(const char *path, void *context), void *context);

/* The path of the program, the caller's; NULL: it is not known. Returns as dnp_modules_each. */
int dnp_modules_program(pid_t pid, char **path);

/* Whether a path ends with that name of a file, in whatever letters. */
bool dnp_modules_is(const char *path, const char *name);

#endif
