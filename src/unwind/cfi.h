/* SPDX-License-Identifier: MIT */
/*
 * Call frame information of one ELF module (.eh_frame) as a table that a handler can search.
 *
 * The reader trusts nothing: it works on a copy of the bytes, and what it does not understand
 * becomes a row without a rule. Source: DWARF 5, 6.4; Linux Standard Base, Exception Frames; the
 * System V ABI for x86-64, 3.7.
 *
 *   cfi_entry.c    entries: of functions, and what they have in common
 *   cfi_run.c      their instructions, from row to row
 *   cfi_state.c    what holds at one instruction, and the rule that it comes to
 *   cfi_rows.c     rows as they are made
 *   cfi_build.c    all of them → the table
 *   cfi.c          searching the table
 *   cfi_look_up.c  a rule without a table
 */
#ifndef DNP_UNWIND_CFI_H
#define DNP_UNWIND_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "os/x86_64/rule.h"

struct dnp_cfi_input {
	const uint8_t *bytes; /* borrowed: a copy of .eh_frame; may go on behind it */
	size_t n;
	uintptr_t address;       /* where bytes[0] is in the process */
	uintptr_t hdr;           /* where .eh_frame_hdr is: the base of data-relative pointers */
	uintptr_t low, high;     /* the module's code; offsets in the table count from low */
	void (*meanwhile)(void); /* called now and then while a table is built; NULL: nothing is */
};

struct dnp_cfi_stats {
	uint32_t functions, rows, rules;
	uint32_t without_rule; /* rows whose frame cannot be left: registers or expressions unknown
				*/
	size_t bytes;
};

/*
 * Row i holds from offsets[i] up to offsets[i + 1]. One mapping, owned by whoever called build.
 * Code is taken in pieces of 2^DNP_CFI_PIECE_BITS bytes: before piece i begins, starts[i] rows do,
 * so that a search stays in the few lines of memory that tell of one piece.
 */
struct dnp_cfi {
	size_t mapped_bytes;
	uint32_t rows, pieces;
	const uint32_t *starts;  /* of pieces + 1 */
	const uint32_t *offsets; /* ascending */
	const uint16_t *ids;     /* index into rules; DNP_CFI_FUNCTION: a function starts here */
	const struct dnp_rule *rules; /* [DNP_CFI_OUTSIDE], [DNP_CFI_NO_RULE]: none */
	struct dnp_cfi_stats stats;
};

#define DNP_CFI_OUTSIDE    0U /* of every function */
#define DNP_CFI_NO_RULE    1U /* the frame cannot be left */
#define DNP_CFI_FUNCTION   0x8000U
#define DNP_CFI_PIECE_BITS 10

/* 0 and *table (pair: dnp_cfi_free), -ENOMEM, -ENOENT when there is not one row. */
int dnp_cfi_build(const struct dnp_cfi_input *input, struct dnp_cfi **table);
void dnp_cfi_free(struct dnp_cfi *table);

/* The rule at an offset; .cfa is DNP_CFA_NONE where there is none, and outside of every function.
 */
SIGSAFE struct dnp_rule dnp_cfi_find(const struct dnp_cfi *table, uint32_t offset);

/* The offset of the first instruction of the function around an offset; false: in none. */
SIGSAFE bool dnp_cfi_function(const struct dnp_cfi *table, uint32_t offset, uint32_t *start);

/*
 * The rule at pc without a table: from the module's own description, which is searched by its
 * .eh_frame_hdr. A dozen guarded reads, so not for the usual path of a handler. False when that
 * cannot tell; .cfa as above.
 */
SIGSAFE bool dnp_cfi_look_up(
	uintptr_t hdr, uintptr_t low, uintptr_t high, uintptr_t pc, struct dnp_rule *rule);

/* dnp_cfi_function without a table, in the same way. False also where that cannot tell. */
SIGSAFE bool dnp_cfi_look_up_function(
	uintptr_t hdr, uintptr_t low, uintptr_t high, uintptr_t pc, uint32_t *start);

#endif
