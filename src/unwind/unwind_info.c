/* SPDX-License-Identifier: MIT */
/*
 * The codes stand in the reverse order of the prolog. Reading them forwards undoes the prolog: from
 * the stack pointer as it is at `offset` up to the return address.
 */
#include "unwind/unwind_info.h"

#include <string.h>

enum {
	PUSH_NONVOL = 0,
	ALLOC_LARGE = 1,
	ALLOC_SMALL = 2,
	SET_FPREG = 3,
	SAVE_NONVOL = 4,
	SAVE_NONVOL_FAR = 5,
	EPILOG = 6,
	SPARE = 7,
	SAVE_XMM128 = 8,
	SAVE_XMM128_FAR = 9,
	PUSH_MACHFRAME = 10,
	SET_FPREG_LARGE = 11,
};

enum { RBP = 5, CHAINED = 4 };

struct undo {
	int64_t depth;    /* bytes from the base (sp, or bp - something) up to here */
	int64_t bp_depth; /* where rbp is saved, from the base; -1: not */
	int64_t bp_base;  /* with_bp: the base is rbp + bp_base */
	bool with_bp;
};

/* Slots of 2 bytes that a code takes, 0: unknown. */
SIGSAFE static uint32_t slots(unsigned op, unsigned info)
{
	switch (op) {
	case PUSH_NONVOL:
	case ALLOC_SMALL:
	case SET_FPREG:
	case EPILOG:
	case PUSH_MACHFRAME: return 1;
	case ALLOC_LARGE: return info == 0 ? 2 : 3;
	case SAVE_NONVOL:
	case SPARE:
	case SAVE_XMM128: return 2;
	case SAVE_NONVOL_FAR:
	case SAVE_XMM128_FAR:
	case SET_FPREG_LARGE: return 3;
	default: return 0;
	}
}

/* The 16 or 32 bits behind a code. */
SIGSAFE static int64_t operand(const uint8_t *code, uint32_t n_slots)
{
	uint16_t small;
	uint32_t large;

	if (n_slots == 2) {
		memcpy(&small, code + 2, sizeof(small));
		return small;
	}
	memcpy(&large, code + 2, sizeof(large));
	return large;
}

SIGSAFE static void set_base(struct undo *undo, int64_t offset)
{
	*undo = (struct undo){.bp_depth = -1, .bp_base = -offset, .with_bp = true};
}

SIGSAFE static void undo_code(
	struct undo *undo, const uint8_t *code, uint32_t n_slots, unsigned frame_offset)
{
	unsigned op = code[1] & 15, info = code[1] >> 4;

	switch (op) {
	case PUSH_NONVOL:
		if (info == RBP)
			undo->bp_depth = undo->depth;
		undo->depth += 8;
		break;
	case ALLOC_LARGE: undo->depth += operand(code, n_slots) * (n_slots == 2 ? 8 : 1); break;
	case ALLOC_SMALL: undo->depth += info * 8 + 8; break;
	case SET_FPREG: set_base(undo, (int64_t)frame_offset * 16); break;
	case SET_FPREG_LARGE: set_base(undo, operand(code, n_slots) * 16); break;
	case SAVE_NONVOL:
		if (info == RBP)
			undo->bp_depth = operand(code, n_slots) * 8;
		break;
	case SAVE_NONVOL_FAR:
		if (info == RBP)
			undo->bp_depth = operand(code, n_slots);
		break;
	case PUSH_MACHFRAME: undo->depth += info ? 48 : 40; break;
	default: break;
	}
}

SIGSAFE bool dnp_unwind_info_rule(
	const uint8_t *info, size_t n, uint32_t offset, struct dnp_rule *rule)
{
	struct undo undo = {.bp_depth = -1};
	const uint8_t *codes = info + DNP_UNWIND_INFO_HEADER;
	uint32_t count;
	int64_t off;

	if (n < DNP_UNWIND_INFO_HEADER || n < dnp_unwind_info_bytes(info))
		return false;
	if (((info[0] & 7) != 1 && (info[0] & 7) != 2) || (info[0] >> 3) & CHAINED)
		return false;
	count = info[2];
	for (uint32_t i = 0, taken; i < count; i += taken) {
		const uint8_t *code = codes + (size_t)2 * i;
		unsigned op = code[1] & 15;

		taken = slots(op, code[1] >> 4);
		if (!taken || taken > count - i)
			return false;
		if ((op == SET_FPREG || op == SET_FPREG_LARGE) && (info[3] & 15) != RBP)
			return false;
		if (code[0] <= offset)
			undo_code(&undo, code, taken, info[3] >> 4);
	}
	*rule = (struct dnp_rule){.cfa = undo.with_bp ? DNP_CFA_BP : DNP_CFA_SP};
	off = undo.bp_base + undo.depth + 8;
	if (off < INT32_MIN || off > INT32_MAX)
		return false;
	rule->off = (int32_t)off;
	return undo.bp_depth < 0 || dnp_rule_set_bp(rule, undo.bp_depth - undo.depth - 8);
}
