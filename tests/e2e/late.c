/* SPDX-License-Identifier: MIT */
/*
 * Loaded before the thread sanitizer's library: the runtime takes no notice of its activation
 * signal where the sanitizer hands it on late.
 *
 * The sanitizer notes a signal, and calls the handler when the thread is next at the end of one of
 * the C library's functions, with the registers of before. By these the runtime finds the thread in
 * managed code that it has left meanwhile, and writes to where the return address of that code was.
 * It is another's by now: the helper's by which a method in a loop goes on in better code
 * (JIT_Patchpoint), say, which then ends the program ("TRANSITION unexpected context IP", 134).
 * Told that the thread is in native code it does nothing, and asks again.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

/* The kernel puts the registers on the handler's own stack, the sanitizer keeps them elsewhere. */
#define FRAME_BYTES 0x10000

typedef int sigaction_fn(int sig, const struct sigaction *action, struct sigaction *old);

static struct sigaction runtimes;

static void on_activation(int sig, siginfo_t *info, void *context)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	ucontext_t late;

	if ((uintptr_t)context - here >= FRAME_BYTES) {
		late = *(ucontext_t *)context;
		late.uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)on_activation;
		context = &late;
	}
	runtimes.sa_sigaction(sig, info, context);
}

/* The first that wants it is the runtime. */
int sigaction(int sig, const struct sigaction *action, struct sigaction *old)
{
	static sigaction_fn *next;
	struct sigaction ours;

	if (!next)
		next = (sigaction_fn *)dlsym(RTLD_NEXT, "sigaction");
	if (sig != SIGRTMIN || !action || !(action->sa_flags & SA_SIGINFO) || runtimes.sa_sigaction)
		return next(sig, action, old);
	runtimes = ours = *action;
	ours.sa_sigaction = on_activation;
	return next(sig, &ours, old);
}
