/* SPDX-License-Identifier: MIT */
/* Functions of one file of native code, by address. One thread at a time. */
#ifndef DNP_READ_SYMBOLS_H
#define DNP_READ_SYMBOLS_H

#include <stdint.h>

#include "base/str.h"
#include "base/vec.h"

struct dnp_symbol {
	uint64_t start, end; /* addresses, end not included */
	uint32_t name;       /* where it begins in `names` */
	uint32_t rank;       /* of names for the same start the lowest is taken */
};

/* All-zero is the empty one. */
struct dnp_symbols {
	struct dnp_vec_of(char) names;             /* each ends with a zero */
	struct dnp_vec_of(struct dnp_symbol) list; /* by start after sorting */
};

void dnp_symbols_done(struct dnp_symbols *symbols);

/* 0 or -ENOMEM. One that ends before it starts is left out. */
int dnp_symbols_add(struct dnp_symbols *symbols, struct dnp_str name, uint64_t start, uint64_t end,
	uint32_t rank);

/* After adding: by start, of each the best name. */
void dnp_symbols_sort(struct dnp_symbols *symbols);

/* The function that an address lies in, NULL: not known. Mangled as it was. After sorting. */
const char *dnp_symbols_find(const struct dnp_symbols *symbols, uint64_t address);

#endif
