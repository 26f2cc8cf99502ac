/* SPDX-License-Identifier: MIT */
/*
 * The list that the loader of another process has of what it loaded, read from its memory: what
 * psapi reads as well, but each entry once. psapi goes through the list again for each name, some
 * thousand readings; where each of them stops the other process (Wine) that took minutes when the
 * CPUs were taken, and kept all other programs from the system meanwhile.
 */
#ifndef DNP_LAUNCH_WINDOWS_LOADER_LIST_H
#define DNP_LAUNCH_WINDOWS_LOADER_LIST_H

#include <wchar.h>

/*
 * Visits the path of each module of a process of 64 bits, the program first, until a visit returns
 * something else than 0, which is returned. The handle has rights to query and to read memory. Or
 * -errno: -EAGAIN: the list changes, or is not there yet; -ENOMEM. Any thread.
 */
int dnp_loader_each(void *process, int (*visit)(const wchar_t *path, void *context), void *context);

#endif
