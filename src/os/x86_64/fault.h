/* SPDX-License-Identifier: MIT */
#ifndef DNP_OS_X86_64_FAULT_H
#define DNP_OS_X86_64_FAULT_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "base/clean.h"

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
