/* SPDX-License-Identifier: MIT */
#include "unwind/cfi_state.h"

#include <string.h>

#include "unwind/cfi_cursor.h"

enum { REG_CX = 2, REG_BX = 3, REG_BP = 6, REG_SP = 7, REG_R10 = 10, REG_R11 = 11, REG_RA = 16 };

SIGSAFE static struct dnp_rule fault_rule(const struct dnp_cfi_state *s, struct dnp_rule rule)
{
	if (s->expression || s->cfa_reg != REG_SP || !dnp_rule_set_bx(&rule, s->ra.offset))
		return (struct dnp_rule){0};
	rule.cfa = DNP_CFA_FAULT;
	return rule;
}

/* The end of a function that goes on elsewhere: gcc's __builtin_eh_return. */
SIGSAFE static struct dnp_rule jump_rule(const struct dnp_cfi_state *s)
{
	if (s->expression || s->cfa_reg != REG_SP || s->cfa_offset ||
		s->bp.how != DNP_CFI_SAVED_NOT || s->ra.offset != REG_CX)
		return (struct dnp_rule){0};
	return (struct dnp_rule){.cfa = DNP_CFA_JUMP, .off = DNP_JUMP_CX};
}

SIGSAFE struct dnp_rule dnp_cfi_rule_of(const struct dnp_cfi_state *s, bool signal)
{
	struct dnp_rule rule = {0};

	if (signal)
		return (struct dnp_rule){.cfa = DNP_CFA_SIGNAL};
	if (s->no_caller)
		return (struct dnp_rule){.cfa = DNP_CFA_END};
	if (s->unknown_expression || s->cfa_offset < INT32_MIN || s->cfa_offset > INT32_MAX)
		return rule;
	if (s->ra.how == DNP_CFI_SAVED_IN_REGISTER)
		return jump_rule(s);
	rule.off = (int32_t)s->cfa_offset;
	if (s->bp.how == DNP_CFI_SAVED_UNKNOWN ||
		(s->bp.how == DNP_CFI_SAVED_AT_CFA && !dnp_rule_set_bp(&rule, s->bp.offset)))
		return (struct dnp_rule){0};
	rule.bp_at = s->bp.how == DNP_CFI_SAVED_AT_BP;
	if (s->ra.how == DNP_CFI_SAVED_AT_CFA && s->ra.offset != -8)
		return fault_rule(s, rule);
	if (s->bx.how == DNP_CFI_SAVED_AT_CFA)
		dnp_rule_set_bx(&rule, s->bx.offset);
	if (s->expression)
		rule.cfa = s->expression;
	else if (s->cfa_reg == REG_SP)
		rule.cfa = DNP_CFA_SP;
	else if (s->cfa_reg == REG_BP)
		rule.cfa = DNP_CFA_BP;
	else if (s->cfa_reg == REG_BX)
		rule.cfa = DNP_CFA_BX;
	else if (s->cfa_reg == REG_CX)
		rule.cfa = DNP_CFA_CX;
	else if (s->cfa_reg == REG_R10)
		rule.cfa = DNP_CFA_R10;
	else if (s->cfa_reg == REG_R11)
		rule.cfa = DNP_CFA_R11;
	else
		return (struct dnp_rule){0};
	return rule;
}

SIGSAFE void dnp_cfi_define(struct dnp_cfi_state *s, uint64_t reg, int64_t offset)
{
	s->cfa_reg = reg;
	s->cfa_offset = offset;
	s->expression = DNP_CFA_NONE;
	s->unknown_expression = false;
}

enum {
	OP_LIT0 = 0x30,
	OP_BREG_BP = 0x76,
	OP_BREG_SP = 0x77,
	OP_DEREF = 0x06,
	OP_PLUS_UCONST = 0x23
};

/*
 * Three expressions are in use: that of a PLT (rsp + 8, and 8 more from the byte on where the push
 * is done), the old rsp kept in the frame (hand-written code), and frames that realign the stack.
 */
SIGSAFE void dnp_cfi_set_expression(struct dnp_cfi_state *s, const uint8_t *p, uint64_t n)
{
	static const uint8_t plt[] = {
		OP_BREG_SP, 8, 0x80, 0, 0x3f, 0x1a, 0, 0x2a, 0x33, 0x24, 0x22};
	struct dnp_cfi_cursor c = {p + 1, p + n, false};
	int64_t offset;

	s->unknown_expression = true;
	s->expression = DNP_CFA_NONE;
	if (n == sizeof(plt) && memcmp(p, plt, 6) == 0 && memcmp(p + 7, plt + 7, 4) == 0 &&
		p[6] >= OP_LIT0 && p[6] < OP_LIT0 + 16) {
		s->expression = DNP_CFA_PLT;
		s->cfa_offset = p[6] - OP_LIT0;
		s->unknown_expression = false;
		return;
	}
	if (n < 3 || (p[0] != OP_BREG_SP && p[0] != OP_BREG_BP))
		return;
	offset = dnp_cfi_take_sleb(&c);
	if (dnp_cfi_take(&c, 1) != OP_DEREF || c.bad)
		return;
	if (p[0] == OP_BREG_BP && c.at == c.end)
		s->expression = DNP_CFA_AT_BP;
	else if (p[0] == OP_BREG_SP && c.end - c.at == 2 && c.at[0] == OP_PLUS_UCONST &&
		c.at[1] == 8)
		s->expression = DNP_CFA_AT_SP;
	else
		return;
	s->cfa_offset = offset;
	s->unknown_expression = false;
}

SIGSAFE static struct dnp_cfi_saved *tracked(struct dnp_cfi_state *s, uint64_t reg)
{
	return reg == REG_BP ? &s->bp : reg == REG_BX ? &s->bx : reg == REG_RA ? &s->ra : NULL;
}

SIGSAFE void dnp_cfi_save_at(struct dnp_cfi_state *s, uint64_t reg, int64_t offset)
{
	struct dnp_cfi_saved *saved = tracked(s, reg);

	if (saved)
		*saved = (struct dnp_cfi_saved){DNP_CFI_SAVED_AT_CFA, offset};
}

SIGSAFE void dnp_cfi_save_how(struct dnp_cfi_state *s, uint64_t reg, enum dnp_cfi_saved_how how)
{
	struct dnp_cfi_saved *saved = tracked(s, reg);

	if (saved)
		*saved = (struct dnp_cfi_saved){how, 0};
	if (reg == REG_RA && how != DNP_CFI_SAVED_NOT)
		s->unknown_expression = true; /* the return address is somewhere else */
}

SIGSAFE void dnp_cfi_save_in(struct dnp_cfi_state *s, uint64_t reg, uint64_t other)
{
	if (reg == REG_RA && other <= REG_RA)
		s->ra = (struct dnp_cfi_saved){DNP_CFI_SAVED_IN_REGISTER, (int64_t)other};
	else
		dnp_cfi_save_how(s, reg, DNP_CFI_SAVED_UNKNOWN);
}

SIGSAFE void dnp_cfi_undefine(struct dnp_cfi_state *s, uint64_t reg)
{
	if (reg == REG_RA)
		s->no_caller = true;
	else
		dnp_cfi_save_how(s, reg, DNP_CFI_SAVED_NOT);
}

SIGSAFE void dnp_cfi_save_by_expression(
	struct dnp_cfi_state *s, uint64_t reg, const uint8_t *p, uint64_t n)
{
	if (reg == REG_BP && n == 2 && p[0] == OP_BREG_BP && p[1] == 0)
		s->bp = (struct dnp_cfi_saved){DNP_CFI_SAVED_AT_BP, 0};
	else
		dnp_cfi_save_how(s, reg, DNP_CFI_SAVED_UNKNOWN);
}

SIGSAFE void dnp_cfi_restore(
	struct dnp_cfi_state *s, const struct dnp_cfi_state *initial, uint64_t reg)
{
	if (reg == REG_BP)
		s->bp = initial->bp;
	else if (reg == REG_BX)
		s->bx = initial->bx;
	else if (reg == REG_RA)
		s->ra = initial->ra;
}
