/* SPDX-License-Identifier: MIT */
/*
 * The gates of dnprof/mark.h in this process: each program or library that includes it has one, and
 * a note in its file that says where. They are looked for anew each time, while the dynamic linker
 * cannot unload them: no address of one is kept.
 *
 * By one thread at a time.
 */
#ifndef DNP_OS_MARK_GATES_H
#define DNP_OS_MARK_GATES_H

#include <stdbool.h>

#define DNPROF_MARK_TYPES_ONLY
#include <dnprof/mark.h>

typedef uint64_t (*dnp_mark_gate_say)(enum dnprof_say what, uint64_t id, const char *text);

/* Whether native code of this system has any. */
extern const bool dnp_mark_gates_exist;

/*
 * Opens those that are closed; libraries that come later open theirs, before anything of their own
 * runs. `say` is called by the program's threads until dnp_mark_gates_close has returned true.
 */
void dnp_mark_gates_open(dnp_mark_gate_say say);

/*
 * Closes those that were opened. False: calls were still inside after some seconds, and `say` has
 * to stay; to be called again then.
 */
bool dnp_mark_gates_close(void);

#endif
