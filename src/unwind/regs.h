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

SIGSAFE static inline struct dnp_regs dnp_regs_of_machine(const mcontext_t *machine)
{
	const greg_t *r = machine->gregs;

	return (struct dnp_regs){
		.pc = (uintptr_t)r[REG_RIP],
		.sp = (uintptr_t)r[REG_RSP],
		.bp = (uintptr_t)r[REG_RBP],
		.bx = (uintptr_t)r[REG_RBX],
		.r10 = (uintptr_t)r[REG_R10],
		.r11 = (uintptr_t)r[REG_R11],
	};
}

SIGSAFE static inline struct dnp_regs dnp_regs_of(const ucontext_t *context)
{
	return dnp_regs_of_machine(&context->uc_mcontext);
}

/* Where the calling function is now: the leaf of a walk of the calling thread's own stack. */
SIGSAFE static inline __attribute__((always_inline)) struct dnp_regs dnp_regs_here(void)
{
	struct dnp_regs regs = {0};

	__asm__ volatile("leaq 0(%%rip), %0\n\t"
			 "movq %%rsp, %1\n\t"
			 "movq %%rbp, %2\n\t"
			 "movq %%rbx, %3"
			 : "=&r"(regs.pc), "=&r"(regs.sp), "=&r"(regs.bp), "=&r"(regs.bx));
	return regs;
}

#endif
