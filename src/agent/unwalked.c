/* SPDX-License-Identifier: MIT */
#include "agent/unwalked.h"

#include "agent/knowledge.h"
#include "unwind/code.h"
#include "unwind/target.h"

uint32_t dnp_unwalked_learn(const dnp_frame_word *frames, uint32_t at, size_t n)
{
	for (; at < n; at++)
		if (dnp_frame_is_unknown(frames[at]) &&
			dnp_knowledge_ask(dnp_code_of_frame(frames[at])) == DNP_KNOWLEDGE_METHOD)
			return at + 1;
	return 0;
}

uint32_t dnp_unwalked_walk(const struct dnp_unwalked *left, const void *stack, size_t n_bytes,
	dnp_frame_word *frames, uint32_t max, enum dnp_walk_stop *stop)
{
	uint32_t learnt = 0, n;

	do {
		n = (uint32_t)dnp_target_walk_copy(
			&left->regs, left->exact, left->low, stack, n_bytes, frames, max, stop);
		learnt = dnp_unwalked_learn(frames, learnt, n);
	} while (learnt);
	/* What the thread could not walk either, and of which there is no more than this. */
	if (*stop == DNP_STOP_BAD_STACK)
		*stop = DNP_STOP_UNKNOWN;
	return n;
}
