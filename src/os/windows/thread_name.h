/* SPDX-License-Identifier: MIT */
#ifndef DNP_OS_WINDOWS_THREAD_NAME_H
#define DNP_OS_WINDOWS_THREAD_NAME_H

#include <stddef.h>
#include <windows.h>

/* As much of a thread's name as fits, in whole characters; "" where it has none. */
void dnp_windows_thread_name(HANDLE thread, char *name, size_t size);

#endif
