/* SPDX-License-Identifier: MIT */
#include "unwind/signal_frame.h"

#include "os/x86_64/context.h"
#include "unwind/stack_copy.h"

const size_t dnp_signal_frame_bytes = sizeof(ucontext_t);

SIGSAFE bool dnp_signal_frame_read(struct dnp_stack_copy *copy, uintptr_t sp, struct dnp_regs *regs)
{
	uintptr_t at = sp + offsetof(ucontext_t, uc_mcontext);
	mcontext_t machine;

	if (!copy) {
		/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
		*regs = dnp_regs_of_machine((const mcontext_t *)at);
		return true;
	}
	if (!dnp_stack_copy_read(copy, at, &machine, sizeof(machine)))
		return false;
	*regs = dnp_regs_of_machine(&machine);
	return true;
}
