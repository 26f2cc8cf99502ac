/* SPDX-License-Identifier: MIT */
/*
 * The entries of .eh_frame: common information (CIE), and the description of each function (FDE),
 * which refers to one. What makes no sense is not read: false.
 */
#ifndef DNP_UNWIND_CFI_ENTRY_H
#define DNP_UNWIND_CFI_ENTRY_H

#include "unwind/cfi.h"
#include "unwind/cfi_cursor.h"

struct dnp_cfi_cie {
	const uint8_t *begin, *end; /* initial instructions */
	uint64_t code_factor;
	int64_t data_factor;
	unsigned pointer_encoding;
	bool augmented, signal;
};

struct dnp_cfi_reader {
	const struct dnp_cfi_input *in;
	const uint8_t *end;
	struct dnp_cfi_cie cie; /* of the last function read */
	size_t cie_at;          /* its offset in the input, SIZE_MAX: none */
};

struct dnp_cfi_fde {
	uint32_t start, end;        /* offsets from the module's code */
	struct dnp_cfi_cursor code; /* its instructions */
};

/* A pointer of that encoding (DW_EH_PE_…) at a cursor in the reader's input. */
SIGSAFE uint64_t dnp_cfi_take_pointer(
	const struct dnp_cfi_reader *r, struct dnp_cfi_cursor *c, unsigned encoding);

/* Bounds of the entry at an offset: *body is its id field, false at the end of the section. */
SIGSAFE bool dnp_cfi_entry_at(
	const struct dnp_cfi_reader *r, size_t at, struct dnp_cfi_cursor *body);

SIGSAFE bool dnp_cfi_read_cie(const struct dnp_cfi_reader *r, size_t at, struct dnp_cfi_cie *cie);

/* The function whose entry goes on at a cursor, behind the reference to its CIE, which is r->cie.
 */
SIGSAFE bool dnp_cfi_read_function(
	const struct dnp_cfi_reader *r, struct dnp_cfi_cursor c, struct dnp_cfi_fde *fde);

/* Reads the function at an offset of the input; its CIE is in r->cie then. */
SIGSAFE bool dnp_cfi_read_fde(struct dnp_cfi_reader *r, size_t at, struct dnp_cfi_fde *fde);

#endif
