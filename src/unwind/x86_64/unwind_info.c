/* SPDX-License-Identifier: MIT */
/*
 * The codes stand in the reverse order of the prolog. Reading them forwards undoes the prolog: from
 * the stack pointer as it is at `offset` up to the return address.
 */
#include "unwind/x86_64/unwind_info.h"

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

enum { RBX = 3, RBP = 5, CHAINED = 4 };

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

/* What was saved in the frame is counted from here, too. */
SIGSAFE static void set_base(struct dnp_unwind_undo *undo, int64_t offset)
{
	undo->depth = 0;
	undo->base = -offset;
	undo->with_register = true;
}

/* Where a register is saved, if it is one that walks go by. */
SIGSAFE static void save(struct dnp_unwind_undo *undo, unsigned reg, int64_t depth)
{
	if (reg == RBP)
		undo->bp_depth = depth;
	else if (reg == RBX)
		undo->bx_depth = depth;
}

SIGSAFE static void undo_code(
	struct dnp_unwind_undo *undo, const uint8_t *code, uint32_t n_slots, unsigned frame_offset)
{
	unsigned op = code[1] & 15, info = code[1] >> 4;

	switch (op) {
	case PUSH_NONVOL:
		save(undo, info, undo->depth);
		undo->depth += 8;
		break;
	case ALLOC_LARGE: undo->depth += operand(code, n_slots) * (n_slots == 2 ? 8 : 1); break;
	case ALLOC_SMALL: undo->depth += info * 8 + 8; break;
	case SET_FPREG: set_base(undo, (int64_t)frame_offset * 16); break;
	case SET_FPREG_LARGE: set_base(undo, operand(code, n_slots) * 16); break;
	case SAVE_NONVOL: save(undo, info, operand(code, n_slots) * 8); break;
	case SAVE_NONVOL_FAR: save(undo, info, operand(code, n_slots)); break;
	case PUSH_MACHFRAME:
		undo->depth += info ? 48 : 40;
		undo->interrupted = true;
		break;
	default: break;
	}
}

SIGSAFE bool dnp_unwind_info_undo(
	const uint8_t *info, size_t n, uint32_t offset, struct dnp_unwind_undo *undo)
{
	const uint8_t *codes = info + DNP_UNWIND_INFO_HEADER;
	uint32_t count;

	if (n < DNP_UNWIND_INFO_HEADER || n < dnp_unwind_info_bytes(info) ||
		((info[0] & 7) != 1 && (info[0] & 7) != 2))
		return false;
	count = info[2];
	for (uint32_t i = 0, taken; i < count; i += taken) {
		const uint8_t *code = codes + (size_t)2 * i;
		unsigned op = code[1] & 15;

		taken = slots(op, code[1] >> 4);
		if (!taken || taken > count - i)
			return false;
		if (op == SET_FPREG || op == SET_FPREG_LARGE) {
			undo->frame_register = info[3] & 15;
			if (undo->frame_register != RBP && undo->frame_register != RBX)
				return false;
		}
		if (code[0] <= offset)
			undo_code(undo, code, taken, info[3] >> 4);
	}
	return true;
}

SIGSAFE bool dnp_unwind_undo_rule(const struct dnp_unwind_undo *undo, struct dnp_rule *rule)
{
	int64_t off = undo->base + undo->depth + 8;

	*rule = (struct dnp_rule){.cfa = DNP_CFA_SP};
	if (undo->with_register)
		rule->cfa = undo->frame_register == RBP ? DNP_CFA_BP : DNP_CFA_BX;
	if (off < INT32_MIN || off > INT32_MAX)
		return false;
	rule->off = (int32_t)off;
	return undo->bp_depth < 0 || dnp_rule_set_bp(rule, undo->bp_depth - undo->depth - 8);
}

SIGSAFE bool dnp_unwind_undo_rule_bx(const struct dnp_unwind_undo *undo, struct dnp_rule *rule)
{
	if (undo->interrupted || !dnp_unwind_undo_rule(undo, rule))
		return false;
	return undo->bx_depth < 0 || dnp_rule_set_bx(rule, undo->bx_depth - undo->depth - 8);
}

SIGSAFE bool dnp_unwind_info_rule(
	const uint8_t *info, size_t n, uint32_t offset, struct dnp_rule *rule)
{
	struct dnp_unwind_undo undo = DNP_UNWIND_UNDO;

	return n >= DNP_UNWIND_INFO_HEADER && !((info[0] >> 3) & CHAINED) &&
		dnp_unwind_info_undo(info, n, offset, &undo) && undo.frame_register != RBX &&
		dnp_unwind_undo_rule(&undo, rule);
}

SIGSAFE size_t dnp_unwind_info_chained(const uint8_t *info)
{
	return (info[0] >> 3) & CHAINED
		? DNP_UNWIND_INFO_HEADER + (size_t)2 * ((info[2] + 1U) & ~1U)
		: 0;
}
