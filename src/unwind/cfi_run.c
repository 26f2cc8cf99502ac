/* SPDX-License-Identifier: MIT */
#include "unwind/cfi_run.h"

/* DW_CFA_… */
enum {
	NOP = 0x00,
	SET_LOC = 0x01,
	ADVANCE_LOC1 = 0x02,
	ADVANCE_LOC2 = 0x03,
	ADVANCE_LOC4 = 0x04,
	OFFSET_EXTENDED = 0x05,
	RESTORE_EXTENDED = 0x06,
	UNDEFINED = 0x07,
	SAME_VALUE = 0x08,
	REGISTER = 0x09,
	REMEMBER_STATE = 0x0a,
	RESTORE_STATE = 0x0b,
	DEF_CFA = 0x0c,
	DEF_CFA_REGISTER = 0x0d,
	DEF_CFA_OFFSET = 0x0e,
	DEF_CFA_EXPRESSION = 0x0f,
	EXPRESSION = 0x10,
	OFFSET_EXTENDED_SF = 0x11,
	DEF_CFA_SF = 0x12,
	DEF_CFA_OFFSET_SF = 0x13,
	VAL_OFFSET = 0x14,
	VAL_OFFSET_SF = 0x15,
	VAL_EXPRESSION = 0x16,
	GNU_ARGS_SIZE = 0x2e,
	GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
	ADVANCE_LOC = 0x40, /* these three by the two high bits alone */
	OFFSET = 0x80,
	RESTORE = 0xc0,
};

/* Offsets are multiplied and added without a trap: nonsense gives a nonsense number, checked later.
 */
SIGSAFE static int64_t scaled(uint64_t value, int64_t factor)
{
	return (int64_t)(value * (uint64_t)factor);
}

SIGSAFE bool dnp_cfi_advance(struct dnp_cfi_run *run, uint64_t to)
{
	if (run->out)
		dnp_cfi_put_row(run->out, (uint32_t)run->offset,
			dnp_cfi_rule_of(&run->state, run->cie->signal));
	run->over = to > run->end;
	if (to < run->offset || run->over)
		return false;
	run->offset = to;
	return true;
}

SIGSAFE static bool remember(struct dnp_cfi_run *run)
{
	if (run->n_remembered == DNP_CFI_REMEMBER_MAX)
		return false;
	run->remembered[run->n_remembered++] = run->state;
	return true;
}

SIGSAFE static bool recall(struct dnp_cfi_run *run)
{
	if (!run->n_remembered)
		return false;
	run->state = run->remembered[--run->n_remembered];
	return true;
}

/* Where the state before ends. */
SIGSAFE static bool run_advance(struct dnp_cfi_run *run, unsigned op, struct dnp_cfi_cursor *c)
{
	size_t bytes = op == ADVANCE_LOC1 ? 1 : op == ADVANCE_LOC2 ? 2 : 4;
	uint64_t location;

	if (op != SET_LOC)
		return dnp_cfi_advance(
			run, run->offset + dnp_cfi_take(c, bytes) * run->cie->code_factor);
	location = dnp_cfi_take_pointer(run->r, c, run->cie->pointer_encoding);
	return !c->bad && dnp_cfi_advance(run, location - run->r->in->low);
}

/* How the CFA is reckoned. */
SIGSAFE static void run_cfa(struct dnp_cfi_run *run, unsigned op, struct dnp_cfi_cursor *c)
{
	struct dnp_cfi_state *s = &run->state;
	int64_t factor = run->cie->data_factor;
	uint64_t reg, n;

	switch (op) {
	case DEF_CFA:
		reg = dnp_cfi_take_uleb(c);
		dnp_cfi_define(s, reg, (int64_t)dnp_cfi_take_uleb(c));
		break;
	case DEF_CFA_SF:
		reg = dnp_cfi_take_uleb(c);
		dnp_cfi_define(s, reg, scaled((uint64_t)dnp_cfi_take_sleb(c), factor));
		break;
	case DEF_CFA_REGISTER: dnp_cfi_define(s, dnp_cfi_take_uleb(c), s->cfa_offset); break;
	case DEF_CFA_OFFSET: s->cfa_offset = (int64_t)dnp_cfi_take_uleb(c); break;
	case DEF_CFA_OFFSET_SF:
		s->cfa_offset = scaled((uint64_t)dnp_cfi_take_sleb(c), factor);
		break;
	default: /* DEF_CFA_EXPRESSION */
		n = dnp_cfi_take_uleb(c);
		dnp_cfi_skip(c, n);
		if (!c->bad)
			dnp_cfi_set_expression(s, c->at - n, n);
	}
}

/* Where a register is; false: op is none of these. */
SIGSAFE static bool run_register(struct dnp_cfi_run *run, unsigned op, struct dnp_cfi_cursor *c)
{
	struct dnp_cfi_state *s = &run->state;
	int64_t factor = run->cie->data_factor;
	uint64_t reg = dnp_cfi_take_uleb(c), n;

	switch (op) {
	case OFFSET_EXTENDED:
		dnp_cfi_save_at(s, reg, scaled(dnp_cfi_take_uleb(c), factor));
		return true;
	case OFFSET_EXTENDED_SF:
		dnp_cfi_save_at(s, reg, scaled((uint64_t)dnp_cfi_take_sleb(c), factor));
		return true;
	case GNU_NEGATIVE_OFFSET_EXTENDED:
		dnp_cfi_save_at(s, reg, scaled(0 - dnp_cfi_take_uleb(c), factor));
		return true;
	case RESTORE_EXTENDED: dnp_cfi_restore(s, &run->initial, reg); return true;
	case UNDEFINED: dnp_cfi_undefine(s, reg); return true;
	case SAME_VALUE: dnp_cfi_save_how(s, reg, DNP_CFI_SAVED_NOT); return true;
	case EXPRESSION:
		n = dnp_cfi_take_uleb(c);
		dnp_cfi_skip(c, n);
		if (!c->bad)
			dnp_cfi_save_by_expression(s, reg, c->at - n, n);
		return true;
	case REGISTER: dnp_cfi_save_in(s, reg, dnp_cfi_take_uleb(c)); return true;
	case VAL_OFFSET:
	case VAL_OFFSET_SF: dnp_cfi_take_uleb(c); break;
	case VAL_EXPRESSION: dnp_cfi_skip(c, dnp_cfi_take_uleb(c)); break;
	default: return false;
	}
	dnp_cfi_save_how(s, reg, DNP_CFI_SAVED_UNKNOWN);
	return true;
}

/* Those whose operand is in the opcode's low 6 bits are done by the caller. */
SIGSAFE static bool run_other(struct dnp_cfi_run *run, unsigned op, struct dnp_cfi_cursor *c)
{
	switch (op) {
	case NOP: return true;
	case SET_LOC:
	case ADVANCE_LOC1:
	case ADVANCE_LOC2:
	case ADVANCE_LOC4: return run_advance(run, op, c);
	case REMEMBER_STATE: return remember(run);
	case RESTORE_STATE: return recall(run);
	case DEF_CFA:
	case DEF_CFA_SF:
	case DEF_CFA_REGISTER:
	case DEF_CFA_OFFSET:
	case DEF_CFA_OFFSET_SF:
	case DEF_CFA_EXPRESSION: run_cfa(run, op, c); return true;
	case GNU_ARGS_SIZE: dnp_cfi_take_uleb(c); return true;
	default: return run_register(run, op, c);
	}
}

SIGSAFE bool dnp_cfi_run(struct dnp_cfi_run *run, struct dnp_cfi_cursor c)
{
	while (c.at < c.end && !c.bad) {
		unsigned op = (unsigned)dnp_cfi_take(&c, 1), low = op & 0x3f;
		bool ok = true;

		switch (op & 0xc0) {
		case ADVANCE_LOC:
			ok = dnp_cfi_advance(run, run->offset + low * run->cie->code_factor);
			break;
		case OFFSET:
			dnp_cfi_save_at(&run->state, low,
				scaled(dnp_cfi_take_uleb(&c), run->cie->data_factor));
			break;
		case RESTORE: dnp_cfi_restore(&run->state, &run->initial, low); break;
		default: ok = run_other(run, op, &c);
		}
		if (!ok)
			return false;
	}
	return !c.bad;
}

SIGSAFE void dnp_cfi_begin(struct dnp_cfi_run *run, const struct dnp_cfi_reader *r,
	const struct dnp_cfi_fde *fde, uint64_t end)
{
	*run = (struct dnp_cfi_run){
		.r = r, .cie = &r->cie, .offset = fde->start, .end = fde->start};
	if (!dnp_cfi_run(run, (struct dnp_cfi_cursor){r->cie.begin, r->cie.end, false}))
		run->state.unknown_expression = true;
	run->initial = run->state;
	run->n_remembered = 0;
	run->end = end;
	run->over = false;
}
