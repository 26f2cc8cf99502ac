/* SPDX-License-Identifier: MIT */
/* Libraries that a runtime will be asked to load: whether they can be, since it keeps that to
 * itself. */
#ifndef DNP_LAUNCH_LIBRARY_H
#define DNP_LAUNCH_LIBRARY_H

#include <stddef.h>

/*
 * Loads a profiler's library in a child process, without its output, and looks for
 * DllGetClassObject. 0, or -errno and why not in out: what the loader says.
 */
int dnp_library_try(const char *path, char *out, size_t capacity);

#endif
