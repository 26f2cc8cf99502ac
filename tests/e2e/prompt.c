/* SPDX-License-Identifier: MIT */
/*
 * Loaded before the thread sanitizer's library: keeps the runtime's activation signal away from it.
 *
 * The sanitizer notes a signal, and calls the handler when the thread is next at the end of one of
 * the C library's functions, with the registers of before. By these the runtime's handler finds the
 * thread in managed code, and has it wait for the end of a suspension where it is now: behind
 * pthread_mutex_lock(), say, with a lock of the runtime for which another thread in managed code
 * waits, for whose stop the suspension does. Without the sanitizer the handler runs where the
 * thread is, and does nothing but in managed code.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>

typedef int sigaction_fn(int sig, const struct sigaction *action, struct sigaction *old);

int sigaction(int sig, const struct sigaction *action, struct sigaction *old)
{
	static sigaction_fn *of_libc, *next;

	if (!next) {
		of_libc = (sigaction_fn *)dlsym(
			dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD), "sigaction");
		next = (sigaction_fn *)dlsym(RTLD_NEXT, "sigaction");
	}
	return (sig == SIGRTMIN ? of_libc : next)(sig, action, old);
}
