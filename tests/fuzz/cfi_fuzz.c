/* SPDX-License-Identifier: MIT */
/* Any bytes as the .eh_frame of a module whose code lies around it. */
#include "fuzz.h"

#include <stdlib.h>

#include "unwind/cfi.h"

#define ADDRESS  0x100000U
#define CODE_MAX 0x10000U

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct dnp_cfi_input input = {.bytes = data,
		.n = n,
		.address = ADDRESS,
		.hdr = ADDRESS - 0x100,
		.low = ADDRESS - CODE_MAX,
		.high = ADDRESS + CODE_MAX};
	struct dnp_cfi *table;
	uint32_t start;

	if (dnp_cfi_build(&input, &table) < 0)
		return 0;
	for (uint32_t i = 0; i < table->rows; i++) {
		if (i && table->offsets[i] <= table->offsets[i - 1])
			abort(); /* a handler searches it */
		dnp_cfi_find(table, table->offsets[i]);
		if (dnp_cfi_function(table, table->offsets[i], &start) && start > table->offsets[i])
			abort();
	}
	dnp_cfi_find(table, 0);
	dnp_cfi_find(table, UINT32_MAX);
	dnp_cfi_free(table);
	return 0;
}
