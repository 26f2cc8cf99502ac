/* SPDX-License-Identifier: MIT */
/* Running the instructions of a function's call frame information, from row to row. */
#ifndef DNP_UNWIND_CFI_RUN_H
#define DNP_UNWIND_CFI_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/cfi_entry.h"
#include "unwind/cfi_rows.h"
#include "unwind/cfi_state.h"

#define DNP_CFI_REMEMBER_MAX 16

struct dnp_cfi_run {
	const struct dnp_cfi_reader *r; /* borrowed */
	const struct dnp_cfi_cie *cie;
	struct dnp_cfi_rows *out; /* borrowed; NULL: no rows are wanted */
	struct dnp_cfi_state state, initial;
	struct dnp_cfi_state remembered[DNP_CFI_REMEMBER_MAX];
	size_t n_remembered;
	uint64_t offset,
		end; /* the state holds from `offset` on; there is nothing to do behind `end` */
	bool over;   /* stopped by that */
};

/* Runs the initial instructions, those of r->cie; `end`: see above. */
SIGSAFE void dnp_cfi_begin(struct dnp_cfi_run *run, const struct dnp_cfi_reader *r,
	const struct dnp_cfi_fde *fde, uint64_t end);

/* False: an instruction was not understood, or there is nothing more to do. */
SIGSAFE bool dnp_cfi_run(struct dnp_cfi_run *run, struct dnp_cfi_cursor c);

/* The state so far holds up to `to`. */
SIGSAFE bool dnp_cfi_advance(struct dnp_cfi_run *run, uint64_t to);

#endif
