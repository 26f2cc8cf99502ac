/* SPDX-License-Identifier: MIT */
/*
 * A program as a child process, on systems where one is started whole rather than forked. It shares
 * the console and the standard streams, and has the environment that the caller has by then.
 */
#ifndef DNP_OS_SPAWN_H
#define DNP_OS_SPAWN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct dnp_spawned {
	int pid;
	uintptr_t process, thread; /* owned */
};

/*
 * Makes the process; nothing of the program runs before dnp_spawned_go. `command`: words, ended by
 * NULL; the first is looked for as the system does. 0 or -errno; err then says why.
 */
int dnp_spawn(struct dnp_spawned *child, char *const *command, struct dnp_err *err);
void dnp_spawned_go(const struct dnp_spawned *child);

/* Waits at most so long for its end: whether it has come, and with what status. */
bool dnp_spawned_wait(const struct dnp_spawned *child, unsigned timeout_ms, uint32_t *status);

/* Ends it, if it has not ended, as one that nobody has let go. */
void dnp_spawned_abandon(struct dnp_spawned *child);
void dnp_spawned_done(struct dnp_spawned *child);

/*
 * From now on ctrl-C and its like, which reach all processes of the console, do not end this one:
 * they are counted.
 */
void dnp_interrupts_count(void);
unsigned dnp_interrupts(void);

#endif
