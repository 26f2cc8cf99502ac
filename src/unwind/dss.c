/* SPDX-License-Identifier: MIT */
#include "unwind/dss.h"

#include <string.h>

#include "clr/context.h"
#include "clr/hresult.h"

#ifndef __x86_64__
#error "no registers for this processor"
#endif

/* ---- The runtime's walk */

static void make_seed(uint8_t *context, const struct dnp_regs *regs)
{
	uint32_t flags = DNP_CONTEXT_CONTROL_AND_INTEGER;

	memset(context, 0, DNP_CONTEXT_BYTES);
	memcpy(context + DNP_CONTEXT_FLAGS, &flags, sizeof(flags));
	dnp_context_put(context, DNP_CONTEXT_RIP, regs->pc);
	dnp_context_put(context, DNP_CONTEXT_RSP, regs->sp);
	dnp_context_put(context, DNP_CONTEXT_RBP, regs->bp);
	dnp_context_put(context, DNP_CONTEXT_RBX, regs->bx);
	dnp_context_put(context, DNP_CONTEXT_R10, regs->r10);
}

STOPPED struct dnp_regs dnp_dss_registers(const uint8_t *context)
{
	return (struct dnp_regs){
		.pc = dnp_context_get(context, DNP_CONTEXT_RIP),
		.sp = dnp_context_get(context, DNP_CONTEXT_RSP),
		.bp = dnp_context_get(context, DNP_CONTEXT_RBP),
		.bx = dnp_context_get(context, DNP_CONTEXT_RBX),
		.r10 = dnp_context_get(context, DNP_CONTEXT_R10),
	};
}

/* Stores and returns: the runtime may hold locks, and other threads may stand still. */
static HRESULT DNP_COM on_frame(FunctionID function, uintptr_t ip, COR_PRF_FRAME_INFO frame,
	uint32_t context_size, uint8_t *context, void *data)
{
	struct dnp_dss *dss = data;
	struct dnp_dss_frame *out;

	(void)frame;
	if (dss->n == dss->max) {
		dss->full = true;
		return S_FALSE;
	}
	out = &dss->frames[dss->n++];
	*out = (struct dnp_dss_frame){.function = function, .ip = ip};
	if (context && context_size >= DNP_CONTEXT_INTEGER_END)
		out->regs = dnp_dss_registers(context);
	return S_OK;
}

HRESULT dnp_dss_walk(const struct dnp_info *info, ThreadID thread, uint32_t flags,
	const struct dnp_regs *seed, struct dnp_dss *dss)
{
	_Alignas(64) uint8_t context[DNP_CONTEXT_BYTES];

	dss->n = 0;
	dss->full = false;
	dss->seeded = seed;
	if (seed)
		make_seed(context, seed);
	/* sigsafe: while the runtime is suspended, on a thread that has walked before */
	dss->result = dnp_com(info->com, DoStackSnapshot, thread, on_frame, flags, dss,
		seed ? context : NULL, seed ? sizeof(context) : 0);
	return dss->result;
}

/* ---- Native runs */

#define RED_ZONE 128 /* bytes below the stack pointer that are a frame's, too */

SIGSAFE static void stop_at(struct dnp_mixed *mixed, enum dnp_walk_stop why)
{
	if (mixed->stop == DNP_STOP_END)
		mixed->stop = why;
}

SIGSAFE static void put(struct dnp_mixed *mixed, dnp_frame_word word, FunctionID function,
	const struct dnp_regs *regs)
{
	if (mixed->n == mixed->max) {
		stop_at(mixed, DNP_STOP_DEPTH);
		return;
	}
	mixed->frames[mixed->n] = word;
	mixed->registers[mixed->n] = regs ? *regs : (struct dnp_regs){0};
	if (mixed->functions)
		mixed->functions[mixed->n] = function;
	mixed->n++;
}

/* A run of native frames to be filled. */
struct run {
	struct dnp_regs from;
	bool exact;      /* `from` is an instruction, not where a call returns to */
	bool called;     /* `from` is the managed frame that the run has called: no part of it */
	uintptr_t until; /* the stack pointer of the managed frame behind, or the stack's end */
	uintptr_t end;   /* of what may be read: registers may be saved in what that frame made room
			    for */
	uintptr_t ip;    /* where that frame goes on, 0: there is none */
	bool to_start;   /* there is none behind: the run goes on to the thread's start */
	bool stands;     /* see struct dnp_stacks */
};

/*
 * Walks the run right into the result, over the frame that it has called where there is one, then
 * takes out what is no native frame. Reads stop a little behind the managed frame behind the run,
 * so that the walk ends there, and what it found from that frame on is left away. Of a method that
 * calls native code by itself the runtime may tell a stack pointer above the one it had at the call
 * (seen: ModuleHandle.GetDynamicMethod, coreclr 10): it is known by its address, too.
 */
SIGSAFE static void fill(struct dnp_mixed *mixed, const struct run *run)
{
	struct dnp_stacks stacks = {
		.now = {run->from.sp - RED_ZONE, run->end},
		.stands = run->stands,
	};
	size_t called = run->called, room = mixed->max - mixed->n + called;
	dnp_frame_word *frames = mixed->frames + mixed->n - called, first = frames[0];
	struct dnp_regs *registers = mixed->registers + mixed->n - called;
	enum dnp_walk_stop stop;
	bool whole;
	size_t n;

	n = run->exact ? dnp_walk_registers(&run->from, stacks, frames, registers, room, &stop)
		       : dnp_walk_caller(&run->from, stacks, frames, registers, room, &stop);
	if (called)
		frames[0] = first;
	whole = run->to_start && stop == DNP_STOP_END;
	for (size_t i = called; i < n; i++) {
		if (!run->to_start &&
			(registers[i].sp >= run->until || registers[i].pc == run->ip)) {
			whole = true;
			break;
		}
		if (!dnp_frame_is_managed(frames[i]))
			put(mixed, frames[i], 0, &registers[i]);
	}
	if (whole)
		return;
	put(mixed, DNP_FRAME_HOLE, 0, NULL);
	stop_at(mixed, stop);
}

/* The next managed frame from `i` on; dss->n: there is none. */
SIGSAFE static size_t next_managed(const struct dnp_dss *dss, size_t i)
{
	while (i < dss->n && !dss->frames[i].function)
		i++;
	return i;
}

/* Registers may be those of a wrong seed: what lies between them must be the thread's stack. */
SIGSAFE static bool can_read(const struct dnp_stack_range *stack, uintptr_t from, uintptr_t until)
{
	return from && from < until &&
		(!stack->high || (from >= stack->low && until <= stack->high));
}

/*
 * The run in front of frame `next`, which may be the last one's successor. `before` is the managed
 * frame that the run has called, NULL: the run is at the leaf.
 */
SIGSAFE static void put_run(struct dnp_mixed *mixed, const struct dnp_dss *dss,
	enum dnp_native_mode mode, const struct dnp_dss_place *place,
	const struct dnp_dss_frame *before, size_t next)
{
	struct run run = {.called = before, .to_start = next == dss->n, .stands = place->stands};
	const struct dnp_regs *from = NULL;

	if (before) {
		from = &before->regs;
	} else if (place->native && place->leaf) {
		from = place->leaf;
		run.exact = true;
	} else if (dss->n && !dss->frames[0].function) {
		from = &dss->frames[0].regs; /* what called managed code that the runtime hides */
	}
	run.until = run.end = run.to_start ? place->stack.high : dss->frames[next].regs.sp;
	run.ip = run.to_start ? 0 : dss->frames[next].ip;
	if (!run.to_start &&
		(!place->stack.high || place->stack.high - run.until >= DNP_HOME_BYTES))
		run.end += DNP_HOME_BYTES;
	if (mode == DNP_NATIVE_NONE || (before && mode != DNP_NATIVE_ALL)) {
		put(mixed, DNP_FRAME_HOLE, 0, NULL);
		return;
	}
	if (!from || !can_read(&place->stack, from->sp, run.until)) {
		put(mixed, DNP_FRAME_HOLE, 0, NULL);
		mixed->unknown = true;
		return;
	}
	if (mixed->n == mixed->max) {
		stop_at(mixed, DNP_STOP_DEPTH);
		return;
	}
	run.from = *from;
	fill(mixed, &run);
}

SIGSAFE void dnp_dss_fill(const struct dnp_dss *dss, enum dnp_native_mode mode,
	const struct dnp_dss_place *place, struct dnp_mixed *mixed)
{
	const struct dnp_dss_frame *before = NULL;
	bool run = place->native;
	size_t i = 0;

	mixed->n = 0;
	mixed->stop = DNP_STOP_END;
	mixed->unknown = false;
	for (;;) {
		size_t next = next_managed(dss, i);

		if (next == dss->n && dss->full)
			break;
		if (run || next > i)
			put_run(mixed, dss, mode, place, before, next);
		if (next == dss->n)
			break;
		before = &dss->frames[next];
		put(mixed, dnp_walk_frame(before->ip, dss->seeded && next == 0), before->function,
			&before->regs);
		run = false;
		i = next + 1;
	}
	if (dss->full)
		stop_at(mixed, DNP_STOP_DEPTH);
}
