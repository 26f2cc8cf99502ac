/* SPDX-License-Identifier: MIT */
/*
 * What another thread of this process is doing, asked of the system; the thread does not notice.
 * A cheaper question is whether it has done anything at all since the last time: dnp_thread_cpu_ns.
 */
#ifndef DNP_OS_THREAD_STATE_H
#define DNP_OS_THREAD_STATE_H

#include <stdbool.h>
#include <stdint.h>

struct dnp_thread_state {
	bool asleep;  /* it waits for something, and does not run nor could; else the rest is 0 */
	long syscall; /* number of the system call that it is in, -1: in none (a page fault) */
	uint64_t argument[6]; /* of the call */
	uintptr_t sp, pc;     /* where it will go on in user space */
};

/*
 * A thread's file of its state, which can be read again and again; a descriptor, to be closed.
 * -ESRCH: there is no such thread, or -errno where the system does not tell.
 */
int dnp_thread_state_open(int tid);

/* 0, -ESRCH: it has gone, or -errno. The same again means: it has not moved, or is back. */
int dnp_thread_state_read(int fd, struct dnp_thread_state *state);

/* Both, for one look. */
int dnp_thread_state(int tid, struct dnp_thread_state *state);

/*
 * Whether it sleeps at a word that others change (a futex). So does one that slept there with a
 * time-out when the process was stopped (SIGSTOP, a debugger, a container that was paused): until
 * it wakes, the system calls that restart_syscall, with the arguments of the call.
 */
bool dnp_thread_waits_at_word(const struct dnp_thread_state *state);

/* Whether it waits for an event (pthread_cond_wait), and not for a lock. */
bool dnp_thread_waits_for_event(const struct dnp_thread_state *state);

#endif
