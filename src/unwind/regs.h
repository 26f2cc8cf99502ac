/* SPDX-License-Identifier: MIT */
/* Registers at an interrupted instruction, as a handler or a signal frame has them. */
#ifndef DNP_UNWIND_REGS_H
#define DNP_UNWIND_REGS_H

#include <ucontext.h>

#include "base/clean.h"
#include "unwind/walk.h"

#ifndef __x86_64__
#error "no registers for this processor"
#endif

SIGSAFE static inline struct dnp_regs dnp_regs_of(const ucontext_t *context)
{
	const greg_t *r = context->uc_mcontext.gregs;

	return (struct dnp_regs){
		.pc = (uintptr_t)r[REG_RIP],
		.sp = (uintptr_t)r[REG_RSP],
		.bp = (uintptr_t)r[REG_RBP],
		.bx = (uintptr_t)r[REG_RBX],
		.r10 = (uintptr_t)r[REG_R10],
		.r11 = (uintptr_t)r[REG_R11],
	};
}

#endif
