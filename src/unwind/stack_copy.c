/* SPDX-License-Identifier: MIT */
#include "unwind/stack_copy.h"

#include <string.h>

#include "os/mem.h"

/* A frame's slots are read from the top down: keep some of what lies below the address, too. */
#define BELOW_BYTES 512

SIGSAFE static bool holds(const struct dnp_stack_copy *copy, uintptr_t address, size_t n)
{
	return address >= copy->low && address < copy->high && n <= copy->high - address;
}

SIGSAFE static void fill(struct dnp_stack_copy *copy, uintptr_t from)
{
	copy->low = from;
	copy->high = from + dnp_mem_read_some(from, copy->bytes, sizeof(copy->bytes));
}

SIGSAFE bool dnp_stack_copy_read(struct dnp_stack_copy *copy, uintptr_t address, void *to, size_t n)
{
	if (!holds(copy, address, n) && address <= UINTPTR_MAX - DNP_STACK_COPY_BYTES) {
		fill(copy, address > BELOW_BYTES ? address - BELOW_BYTES : address);
		if (!holds(copy, address, n))
			fill(copy, address); /* nothing is mapped below */
	}
	if (!holds(copy, address, n))
		return false;
	memcpy(to, copy->bytes + (address - copy->low), n);
	return true;
}
