/* SPDX-License-Identifier: MIT */
#include "unwind/cfi.h"

#include "os/mem.h"

void dnp_cfi_free(struct dnp_cfi *table)
{
	if (table)
		dnp_mem_unmap(table, table->mapped_bytes);
}

/* The row at or before an offset, or UINT32_MAX. */
SIGSAFE static uint32_t row_at(const struct dnp_cfi *table, uint32_t offset)
{
	uint32_t piece = offset >> DNP_CFI_PIECE_BITS, low, high;

	if (piece >= table->pieces)
		return table->rows - 1;
	low = table->starts[piece];
	high = table->starts[piece + 1];
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (table->offsets[middle] <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low - 1;
}

SIGSAFE struct dnp_rule dnp_cfi_find(const struct dnp_cfi *table, uint32_t offset)
{
	uint32_t row = row_at(table, offset);

	if (row == UINT32_MAX)
		return (struct dnp_rule){0};
	return table->rules[table->ids[row] & ~DNP_CFI_FUNCTION];
}

SIGSAFE bool dnp_cfi_function(const struct dnp_cfi *table, uint32_t offset, uint32_t *start)
{
	uint32_t row = row_at(table, offset);

	if (row == UINT32_MAX || table->ids[row] == DNP_CFI_OUTSIDE)
		return false; /* before the first function, or in a gap */
	while (row > 0 && !(table->ids[row] & DNP_CFI_FUNCTION))
		row--;
	*start = table->offsets[row];
	return true;
}
