/* SPDX-License-Identifier: MIT */
/* A system without signals: no rule says that a frame is one. */
#include "unwind/signal_frame.h"

const size_t dnp_signal_frame_bytes = 0;

SIGSAFE bool dnp_signal_frame_read(struct dnp_stack_copy *copy, uintptr_t sp, struct dnp_regs *regs)
{
	(void)copy;
	(void)sp;
	(void)regs;
	return false;
}
