/* SPDX-License-Identifier: MIT */
/* Registers that a stack is walked by. */
#ifndef DNP_OS_X86_64_REGS_H
#define DNP_OS_X86_64_REGS_H

#include <stdint.h>

#include "base/clean.h"

#ifndef __x86_64__
#error "no registers for this processor"
#endif

/* Of one frame; ax, cx, r10 and r11 of an interrupted one alone. */
struct dnp_regs {
	uintptr_t pc, sp, bp, bx, ax, cx, r10, r11;
};

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
