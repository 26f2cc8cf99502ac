/* SPDX-License-Identifier: MIT */
/* Threads of this process: their ids, stacks, names, and threads of our own. */
#ifndef DNP_OS_THREAD_H
#define DNP_OS_THREAD_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clean.h"

/* The calling thread's operating system id. */
SIGSAFE int dnp_thread_id(void);

/* Whether a thread of this process has that id. */
int dnp_thread_exists(int tid);

/*
 * The stack of the calling thread, from the thread library. 0 or -errno.
 * Not for handlers (allocates).
 */
int dnp_thread_stack(uintptr_t *low, uintptr_t *high);

/*
 * The mapping that `sp` lies in, cut above at the thread's control block when that is in it too:
 * the stack of the calling thread, found in a handler, for threads that never told us theirs. With
 * another thread's stack pointer it is that one's stack, together with what lies on top of it. Of
 * the stack that the program began with, which is mapped as it grows, `low` is how far it may.
 * Reads the memory map: some 0.1 ms, so once a thread. 0 or -ENOENT.
 */
SIGSAFE int dnp_thread_stack_find(uintptr_t sp, uintptr_t *low, uintptr_t *high);

/* Name of a thread of this process, "" when it has gone. `name` holds at least 16 bytes. */
void dnp_thread_name(int tid, char *name, size_t size);

/* The calling thread's name, as the system knows it. */
SIGSAFE void dnp_thread_own_name(char name[16]);

/* Names the calling thread; at most 15 bytes are kept. */
void dnp_thread_set_name(const char *name);

/*
 * Asks the scheduler to let the calling thread run soon whenever it has something to do, as far as
 * the system allows it: for threads that read what would be lost, and need little time for it.
 */
void dnp_thread_hurry(void);

/* Calls visit(tid) for each thread of this process; ends early when it returns nonzero. */
void dnp_thread_each(int (*visit)(int tid, void *context), void *context);

struct dnp_own_thread {
	uintptr_t handle;
	int running;
	int tid;
	void *stack; /* owned */
};

/*
 * Starts a thread with all signals blocked and a small stack, which never runs the application's
 * code. 0 or -errno.
 */
int dnp_own_thread_start(struct dnp_own_thread *thread, void *(*run)(void *), void *context);
/*
 * On such a thread that calls what may run managed code: lets signals through by which the runtime
 * learns of faults in it, and stops it.
 */
void dnp_own_thread_open_signals(void);
/* Waits for its end; nothing of it is left then. */
void dnp_own_thread_join(struct dnp_own_thread *thread);

/* How many there are that were started and not joined. */
unsigned dnp_own_thread_count(void);

/* CPU time of all there are and were; of one that is just being joined it may be missing once. */
uint64_t dnp_own_threads_cpu_ns(void);

/* Whether a thread is one of these: from before its start returns until it is joined. */
int dnp_thread_is_own(int tid);

/*
 * The same of a thread that lived then, as what is told late is about (dnp_now_ns(); end_ns 0: it
 * lives). The last 64 that were joined are remembered.
 */
bool dnp_thread_was_own(int tid, uint64_t begin_ns, uint64_t end_ns);

#endif
