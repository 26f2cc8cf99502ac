/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "unwind/stack_copy.h"
#include "unwind/target.h"

static struct dnp_stack_copy copy; /* whose turn it is */

size_t dnp_target_walk_copy(const struct dnp_regs *regs, bool exact, uintptr_t low,
	const void *bytes, size_t n_bytes, dnp_frame_word *frames, size_t max,
	enum dnp_walk_stop *stop)
{
	struct dnp_walk walk = {.regs = *regs,
		.stacks = {.now = {low, low + n_bytes}, .copy = &copy},
		.exact = exact};
	size_t n;

	dnp_turn_take(0); /* no thread's end is waited for, but that of modules is */
	copy.low = low;
	copy.high = low + n_bytes;
	memcpy(copy.bytes, bytes, n_bytes);
	n = dnp_walk_on(&walk, frames, NULL, max, stop);
	dnp_turn_end();
	return n;
}
