/* SPDX-License-Identifier: MIT */
#include "unwind/dss.h"
#include "walker/walker.h"

struct telling {
	const struct dnp_teller *teller;
	uint32_t run; /* native frames left out since the last frame told */
	bool in_run, hole;
	bool managed; /* a managed frame was told */
	bool any;
};

/* A function of the runtime's walk may be one that the host has not heard of yet. */
static enum dnprof_frame_kind kind_of(dnp_frame_word frame, FunctionID function)
{
	if (function && DNP_FRAME_KIND(frame) == DNP_WALK_UNKNOWN)
		return DNPROF_FRAME_MANAGED;
	switch (DNP_FRAME_KIND(frame)) {
	case DNP_WALK_JIT: return DNPROF_FRAME_MANAGED;
	case DNP_WALK_R2R: return DNPROF_FRAME_READYTORUN;
	case DNP_WALK_DYNAMIC: return DNPROF_FRAME_DYNAMIC;
	case DNP_WALK_NATIVE: return DNPROF_FRAME_NATIVE;
	case DNP_WALK_STUB: return DNPROF_FRAME_STUB;
	default: return DNPROF_FRAME_UNKNOWN;
	}
}

static bool is_managed(enum dnprof_frame_kind kind)
{
	return kind == DNPROF_FRAME_MANAGED || kind == DNPROF_FRAME_READYTORUN ||
		kind == DNPROF_FRAME_DYNAMIC;
}

/* Nonzero: the callback ends the walk. */
static int tell_frame(struct telling *telling, struct dnprof_frame *frame)
{
	frame->struct_size = sizeof(*frame);
	frame->thread = telling->teller->thread;
	telling->any = true;
	return telling->teller->frame(frame, telling->teller->context);
}

static int tell_run(struct telling *telling)
{
	struct dnprof_frame frame = {
		.kind = DNPROF_FRAME_NATIVE_RUN,
		.native_frames = telling->hole ? 0 : telling->run,
	};

	if (!telling->in_run)
		return 0;
	telling->in_run = telling->hole = false;
	telling->run = 0;
	return tell_frame(telling, &frame);
}

static int tell_one(struct telling *telling, const struct dnp_gathered *gathered, size_t i,
	enum dnprof_frame_kind kind)
{
	const struct dnp_regs *regs = &gathered->registers[i];
	struct dnprof_registers registers = {
		.struct_size = sizeof(registers),
		.pc = regs->pc,
		.sp = regs->sp,
		.bp = regs->bp,
		.bx = regs->bx,
		.r10 = regs->r10,
	};
	struct dnprof_frame frame = {
		.function = dnp_walker_function_left(gathered, i),
		.ip = regs->sp ? regs->pc : DNP_FRAME_ADDR(gathered->frames[i]),
		.registers = regs->sp ? &registers : NULL,
		.kind = kind,
		.exact = !!(gathered->frames[i] & DNP_FRAME_EXACT),
	};

	return tell_frame(telling, &frame);
}

/* Whether a frame is a part of a run, and not told by itself. */
static bool left_out(
	const struct telling *telling, dnp_frame_word word, enum dnprof_frame_kind kind)
{
	enum dnprof_native native = telling->teller->native;

	if (is_managed(kind))
		return false;
	return word == DNP_FRAME_HOLE || native == DNPROF_NATIVE_NONE ||
		(native == DNPROF_NATIVE_LEAF && telling->managed);
}

HRESULT dnp_tell(const struct dnp_teller *teller, const struct dnp_gathered *gathered, size_t first,
	size_t n)
{
	struct telling telling = {.teller = teller};

	for (size_t i = first; i < first + n; i++) {
		dnp_frame_word word = gathered->frames[i];
		enum dnprof_frame_kind kind = kind_of(word, gathered->functions[i]);

		if (left_out(&telling, word, kind)) {
			telling.in_run = true;
			telling.hole |= word == DNP_FRAME_HOLE;
			telling.run++;
			continue;
		}
		if (tell_run(&telling) || tell_one(&telling, gathered, i, kind))
			return CORPROF_E_STACKSNAPSHOT_ABORTED;
		telling.managed |= is_managed(kind);
	}
	/* A run behind the last managed frame is not told: the thread's start. */
	return telling.any ? S_OK : E_FAIL;
}

HRESULT dnp_tell_result(HRESULT gathering, const struct dnp_teller *teller,
	const struct dnp_gathered *gathered, size_t first, size_t n)
{
	HRESULT telling = SUCCEEDED(gathering) ? dnp_tell(teller, gathered, first, n) : S_OK;

	return FAILED(telling) ? telling : gathering;
}
