/* SPDX-License-Identifier: MIT */
/*
 * What call frame information says at one instruction: how the frame's address (CFA) is reckoned,
 * and where the registers are that the way to the caller needs. Others are not kept.
 */
#ifndef DNP_UNWIND_CFI_STATE_H
#define DNP_UNWIND_CFI_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clean.h"
#include "os/x86_64/rule.h"

enum dnp_cfi_saved_how {
	DNP_CFI_SAVED_NOT = 0,
	DNP_CFI_SAVED_AT_CFA,
	DNP_CFI_SAVED_AT_BP,
	DNP_CFI_SAVED_IN_REGISTER, /* of the number `offset` */
	DNP_CFI_SAVED_UNKNOWN
};

struct dnp_cfi_saved {
	enum dnp_cfi_saved_how how;
	int64_t offset;
};

struct dnp_cfi_state {
	uint64_t cfa_reg;
	int64_t cfa_offset;
	enum dnp_cfa expression; /* NONE: register and offset */
	bool unknown_expression, no_caller;
	struct dnp_cfi_saved bp, bx, ra;
};

/* In a frame of a signal handler: `signal`. .cfa is DNP_CFA_NONE where the state has no rule. */
SIGSAFE struct dnp_rule dnp_cfi_rule_of(const struct dnp_cfi_state *s, bool signal);

/* The CFA is a register and an offset, or what an expression of n bytes gives. */
SIGSAFE void dnp_cfi_define(struct dnp_cfi_state *s, uint64_t reg, int64_t offset);
SIGSAFE void dnp_cfi_set_expression(struct dnp_cfi_state *s, const uint8_t *p, uint64_t n);

/* Where the caller's register is; `reg` by DWARF's number. */
SIGSAFE void dnp_cfi_save_at(struct dnp_cfi_state *s, uint64_t reg, int64_t offset);
SIGSAFE void dnp_cfi_save_how(struct dnp_cfi_state *s, uint64_t reg, enum dnp_cfi_saved_how how);
SIGSAFE void dnp_cfi_save_in(struct dnp_cfi_state *s, uint64_t reg, uint64_t other);
SIGSAFE void dnp_cfi_save_by_expression(
	struct dnp_cfi_state *s, uint64_t reg, const uint8_t *p, uint64_t n);
/* It is lost; of the return address: there is no caller. */
SIGSAFE void dnp_cfi_undefine(struct dnp_cfi_state *s, uint64_t reg);
SIGSAFE void dnp_cfi_restore(
	struct dnp_cfi_state *s, const struct dnp_cfi_state *initial, uint64_t reg);

#endif
