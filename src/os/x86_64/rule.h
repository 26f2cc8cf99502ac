/* SPDX-License-Identifier: MIT */
/*
 * How one frame is left: where its canonical frame address (CFA: the stack pointer before the call)
 * is, and where it keeps its caller's RBP and RBX. The return address is at CFA - 8, except in
 * frames that the runtime makes up so that its handler of a fault looks called by the instruction
 * that faulted; they step over the red zone. A rule is 8 bytes, so that one can be stored and read
 * in one piece.
 */
#ifndef DNP_OS_X86_64_RULE_H
#define DNP_OS_X86_64_RULE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

enum dnp_cfa {
	DNP_CFA_NONE = 0, /* no unwind information */
	DNP_CFA_SP,       /* rsp + off */
	DNP_CFA_BP,       /* rbp + off */
	DNP_CFA_BX,       /* rbx + off: the dynamic linker's resolver */
	DNP_CFA_CX,       /* rcx + off: the end of a function that goes on elsewhere; at an exact
			   * address only */
	DNP_CFA_R10,      /* r10 + off: prologs that realign the stack; there, too */
	DNP_CFA_R11,      /* r11 + off: prologs that probe a large frame's pages; there, too */
	DNP_CFA_AT_SP, /* *(rsp + off) + 8: hand-written code that keeps the old rsp in its frame */
	DNP_CFA_AT_BP, /* *(rbp + off): frames that realign the stack */
	DNP_CFA_FAULT, /* rsp + off; a frame made up below an instruction that faulted, see ra_slot
			*/
	DNP_CFA_PLT,   /* rsp + 8, and 8 more after the push in a 16 byte slot of a PLT */
	DNP_CFA_JUMP,  /* none any more: goes on at register `off` (enum dnp_jump), with all others
			* as they are; there, too */
	DNP_CFA_SIGNAL, /* a signal frame: the interrupted registers are in the ucontext at rsp */
	DNP_CFA_TAKEN,  /* no frame: the runtime took the return address away and put this one in
			 * its place; at an exact address the method has just returned there */
	DNP_CFA_HIJACK, /* rsp + off, behind that; the return address may not be there yet */
	DNP_CFA_END,    /* the thread's first frame: no caller */
	DNP_CFA_COUNT
};

/* As DWARF numbers them. */
enum dnp_jump { DNP_JUMP_AX = 0, DNP_JUMP_CX = 2 };

struct dnp_rule {
	unsigned cfa : 4;   /* enum dnp_cfa */
	unsigned kind : 3;  /* enum dnp_walk_kind, set by the walker */
	unsigned bp_at : 1; /* the caller's rbp is at *(rbp) whatever the CFA is */
	int bx_slot : 8; /* where rbx is saved, see dnp_rule_slot; 0: nowhere. FAULT: the address is
			  */
	int bp_slot : 16; /* the same for rbp */
	int32_t off;
};

static_assert(DNP_CFA_COUNT <= 16, "4 bits");
static_assert(sizeof(struct dnp_rule) == 8, "a rule is read and written in one piece");

static inline bool dnp_rule_same(struct dnp_rule a, struct dnp_rule b)
{
	return a.cfa == b.cfa && a.kind == b.kind && a.bp_at == b.bp_at && a.bx_slot == b.bx_slot &&
		a.bp_slot == b.bp_slot && a.off == b.off;
}

/* Windows has callers make room from the CFA up, where a function may save registers. */
#define DNP_HOME_BYTES 32

/* Words from the CFA, one more from there up. */
static inline int64_t dnp_rule_slot(int64_t offset)
{
	return offset / 8 + (offset >= 0);
}

static inline int64_t dnp_rule_offset(int slot)
{
	return 8 * (int64_t)(slot - (slot > 0));
}

/* The slot of a register saved at CFA + offset; false when it cannot be said in 16 (8) bits. */
static inline bool dnp_rule_set_bp(struct dnp_rule *rule, int64_t offset)
{
	int64_t slot = dnp_rule_slot(offset);

	if (offset % 8 || slot < INT16_MIN || slot > INT16_MAX)
		return false;
	rule->bp_slot = (int16_t)slot;
	return true;
}

static inline bool dnp_rule_set_bx(struct dnp_rule *rule, int64_t offset)
{
	int64_t slot = dnp_rule_slot(offset);

	if (offset % 8 || slot < INT8_MIN || slot > INT8_MAX)
		return false;
	rule->bx_slot = (int8_t)slot;
	return true;
}

#endif
