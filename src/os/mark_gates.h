/* SPDX-License-Identifier: MIT */
/*
 * The gates of dnprof/mark.h in this process: programs and libraries that include it tell where
 * they are. They are looked for anew each time, while nobody can unload them: no address of one is
 * kept.
 *
 * By one thread at a time.
 */
#ifndef DNP_OS_MARK_GATES_H
#define DNP_OS_MARK_GATES_H

#include <stdbool.h>

#define DNPROF_MARK_TYPES_ONLY
#include <dnprof/mark.h>

/*
 * Opens those that are closed; those of libraries that come later are open before anything of these
 * runs. `say` is called by the program's threads until dnp_mark_gates_close has returned true.
 */
void dnp_mark_gates_open(dnprof_mark_function say);

/*
 * Closes those that were opened. False: calls were still inside after some seconds, and `say` has
 * to stay; to be called again then.
 */
bool dnp_mark_gates_close(void);

#endif
