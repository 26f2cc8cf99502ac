/* SPDX-License-Identifier: MIT */
/*
 * The functions of one file of native code, by address: from its own symbol tables, its
 * .gnu_debugdata, or a debug file that is installed for its build id. Never asks the network.
 */
#ifndef DNP_READ_ELF_SYMBOLS_H
#define DNP_READ_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "base/strings.h"
#include "base/vec.h"

struct dnp_symbol {
	uint64_t start, end; /* addresses, end not included */
	uint32_t name;       /* string */
	uint32_t rank;       /* of names for the same start the lowest is taken */
};

struct dnp_symbols {
	struct dnp_strings names;
	struct dnp_vec_of(struct dnp_symbol) list; /* by start */
};

int dnp_symbols_init(struct dnp_symbols *symbols);
void dnp_symbols_done(struct dnp_symbols *symbols);

/*
 * Adds the functions of the file at `path`, their addresses as in the file. 0 or -errno:
 * -ENOENT and the like: no such file; -EINVAL: not ELF; -ESTALE: it has another build id (checked
 * where build_id is not empty).
 */
int dnp_symbols_add_elf(struct dnp_symbols *symbols, const char *path, struct dnp_str build_id);

/*
 * Adds those of the code that the kernel maps into each process, as this kernel does it. -ESTALE:
 * build_id, which must not be empty, is of another.
 */
int dnp_symbols_add_vdso(struct dnp_symbols *symbols, struct dnp_str build_id);

/* Adds the running kernel's, where the system lets them be read. */
int dnp_symbols_add_kernel(struct dnp_symbols *symbols);

/* After adding. */
void dnp_symbols_sort(struct dnp_symbols *symbols);

/* The function that an address lies in, NULL: not known. Mangled as it was. */
const char *dnp_symbols_find(const struct dnp_symbols *symbols, uint64_t address);

/* The name as written in the source, if it is a C++ one that can be demangled; to be freed. NULL:
   it is to be shown as it is. */
char *dnp_demangle(const char *name);

#endif
