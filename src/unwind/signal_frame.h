/* SPDX-License-Identifier: MIT */
/*
 * What the system leaves on a stack when it interrupts a thread to call a handler there:
 * signal_frame.c where there are signals, no_signal_frame.c where there are none.
 */
#ifndef DNP_UNWIND_SIGNAL_FRAME_H
#define DNP_UNWIND_SIGNAL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "unwind/walk.h"

/* Bytes of it that can be read for sure from where the stack pointer is. */
extern const size_t dnp_signal_frame_bytes;

/*
 * The registers that were interrupted, by the frame at `sp`, where so many bytes lie on the stack;
 * through `copy`, if it is not NULL. False: they cannot be read.
 */
SIGSAFE bool dnp_signal_frame_read(
	struct dnp_stack_copy *copy, uintptr_t sp, struct dnp_regs *regs);

#endif
