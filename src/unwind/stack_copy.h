/* SPDX-License-Identifier: MIT */
/*
 * A window on another thread's stack: a copy of a piece of it, taken by guarded reads, that moves
 * on as a walk asks for more. The stack may change or go away meanwhile; that is for the caller to
 * find out, a read never faults.
 */
#ifndef DNP_UNWIND_STACK_COPY_H
#define DNP_UNWIND_STACK_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"

#define DNP_STACK_COPY_BYTES 16384

/* Zeroed memory is an empty one. */
struct dnp_stack_copy {
	uintptr_t low, high; /* what of the thread's memory is in here */
	uint8_t bytes[DNP_STACK_COPY_BYTES];
};

/* Forgets what is in it: the thread has moved since, or it is another one. */
SIGSAFE static inline void dnp_stack_copy_clear(struct dnp_stack_copy *copy)
{
	copy->low = copy->high = 0;
}

/* n bytes at an address; false: they are not there, or more than the copy can hold. */
SIGSAFE bool dnp_stack_copy_read(
	struct dnp_stack_copy *copy, uintptr_t address, void *to, size_t n);

#endif
