/* SPDX-License-Identifier: MIT */
/* Registers at an interrupted instruction, as a handler or a signal frame of Linux has them. */
#ifndef DNP_OS_X86_64_CONTEXT_H
#define DNP_OS_X86_64_CONTEXT_H

#include <ucontext.h>

#include "base/clean.h"
#include "os/x86_64/regs.h"

SIGSAFE static inline struct dnp_regs dnp_regs_of_machine(const mcontext_t *machine)
{
	const greg_t *r = machine->gregs;

	return (struct dnp_regs){
		.pc = (uintptr_t)r[REG_RIP],
		.sp = (uintptr_t)r[REG_RSP],
		.bp = (uintptr_t)r[REG_RBP],
		.bx = (uintptr_t)r[REG_RBX],
		.ax = (uintptr_t)r[REG_RAX],
		.cx = (uintptr_t)r[REG_RCX],
		.r10 = (uintptr_t)r[REG_R10],
		.r11 = (uintptr_t)r[REG_R11],
	};
}

SIGSAFE static inline struct dnp_regs dnp_regs_of(const ucontext_t *context)
{
	return dnp_regs_of_machine(&context->uc_mcontext);
}

#endif
