/* SPDX-License-Identifier: MIT */
/*
 * Forks of the program, and threads of ours.
 *
 * In a forked child there is the thread that forked and no other. What another one was at stays
 * half done in it for ever: a lock is held, the runtime is suspended. A child of native code that
 * would have ended well without us must not wait for that. So a thread of ours does such things in
 * a hold, and a fork waits until nobody is in one; whoever wants to begin one waits until the fork
 * is over.
 *
 * Neither waits for long: the thread that forks may have what the one in the hold is waiting for.
 * Children by vfork, posix_spawn or clone, as those of .NET's own Process, wait for nobody: they
 * execute another program and call nothing until then.
 */
#ifndef DNP_OS_FORKS_H
#define DNP_OS_FORKS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Forks wait from now on, until this library is unloaded; `child` is called in each child. It is to
 * call nothing that waits. Once is enough. 0 or -errno.
 */
int dnp_forks_watch(void (*child)(void));

/*
 * Between these two a fork waits. Not nested, and on threads only for which nobody waits who may
 * fork. What is done in between is to be short.
 */
void dnp_forks_hold(void);
void dnp_forks_release(void);

/* Whether no thread is at a fork, so that this library may go; waits a bit for that. */
bool dnp_forks_over(void);

#endif
