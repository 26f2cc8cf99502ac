/* SPDX-License-Identifier: MIT */
/* What a process was started with, as it stands in its own memory. */
#ifndef DNP_OS_WINDOWS_PEB_H
#define DNP_OS_WINDOWS_PEB_H

#include <wchar.h>

/* Owned by the caller; NULL: there is no such process, or it lets nobody look into it. */
wchar_t *dnp_peb_command_line(int pid);

/* The same for its environment: NAME=VALUE, each ended by a zero, and behind the last one more. */
wchar_t *dnp_peb_environment(int pid);

#endif
