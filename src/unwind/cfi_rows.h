/* SPDX-License-Identifier: MIT */
/*
 * Rows of a table as they are made, by ascending offset. Distinct rules are few (some hundreds), so
 * a row is an offset and an index: 6 bytes in the table.
 */
#ifndef DNP_UNWIND_CFI_ROWS_H
#define DNP_UNWIND_CFI_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "os/x86_64/rule.h"

struct dnp_cfi_row {
	uint32_t offset;
	uint16_t id;
};

struct dnp_cfi_rows {
	struct dnp_cfi_row *all; /* owned: mapped, as all here */
	size_t n, room;
	struct dnp_rule *rules; /* as in struct dnp_cfi */
	uint16_t *hash;         /* rule index, 0: free */
	uint32_t n_rules, functions;
};

/* Room for so many rows. 0 or -ENOMEM; dnp_cfi_rows_close in either case. */
int dnp_cfi_rows_open(struct dnp_cfi_rows *rows, size_t room);
void dnp_cfi_rows_close(struct dnp_cfi_rows *rows);

/* A function begins there. */
void dnp_cfi_put_function(struct dnp_cfi_rows *rows, uint32_t start);

/* A rule holds from an offset on. */
SIGSAFE void dnp_cfi_put_row(struct dnp_cfi_rows *rows, uint32_t offset, struct dnp_rule rule);

/* The function ends there. */
void dnp_cfi_put_end(struct dnp_cfi_rows *rows, uint32_t offset);

#endif
