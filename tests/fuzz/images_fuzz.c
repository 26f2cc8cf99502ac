/* SPDX-License-Identifier: MIT */
/* Any bytes as a PE file with names of functions. */
#include "fuzz.h"

#include <errno.h>
#include <stdlib.h>

#include "read/pe_symbols.h"

static void check(int good)
{
	if (!good)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct dnp_symbols symbols = {0};
	int status = dnp_symbols_add_pe(&symbols, data, n, (struct dnp_str){0});

	check((status != -ENOEXEC && status != -EBADMSG) || !symbols.list.n);
	check(symbols.names.n <= 16 * n);
	for (size_t i = 0; i < symbols.list.n; i++) {
		const struct dnp_symbol *symbol = &symbols.list.p[i];
		const char *name = dnp_symbols_find(&symbols, symbol->start);

		check(symbol->start <= symbol->end && (!name || *name));
		check(i + 1 == symbols.list.n || symbol->end <= symbol[1].start);
	}
	dnp_symbols_done(&symbols);
	return 0;
}
