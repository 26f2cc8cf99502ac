/* SPDX-License-Identifier: MIT */
#ifndef DNP_OS_X86_64_FAULT_H
#define DNP_OS_X86_64_FAULT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "base/clean.h"

typedef void (*dnp_fault_handler)(int signo, siginfo_t *info, void *context);

/*
 * The handler (fault.S): asks dnp_fault_next whom to leave the signal to, and goes there as if the
 * kernel had called that. Nothing of ours is on the stack then: the runtime's handler may never
 * return.
 */
void dnp_fault_entry(int signo, siginfo_t *info, void *context);

/* Of os/linux/no_room.c; NULL: nobody, the thread goes on. */
SIGSAFE dnp_fault_handler dnp_fault_next(int signo, const siginfo_t *info, const void *context);

static inline SIGSAFE uintptr_t dnp_fault_sp(const void *context)
{
	return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RSP];
}

/* Whether the last fault of the thread was one of those that have no address: #SS, #GP. */
static inline SIGSAFE bool dnp_fault_has_number(const void *context)
{
	greg_t number = ((const ucontext_t *)context)->uc_mcontext.gregs[REG_TRAPNO];

	return number == 12 || number == 13;
}

#endif
