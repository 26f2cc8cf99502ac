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
#include "base/vec.h"

struct dnp_symbol {
	uint64_t start, end; /* addresses, end not included */
	uint32_t name;       /* where it begins in `names` */
	uint32_t rank;       /* of names for the same start the lowest is taken */
};

/* All-zero is the empty one. */
struct dnp_symbols {
	struct dnp_vec_of(char) names;             /* each ends with a zero */
	struct dnp_vec_of(struct dnp_symbol) list; /* by start */
};

void dnp_symbols_done(struct dnp_symbols *symbols);

/*
 * Files to read, descriptors that the caller closes, or -errno: a regular file, -EINVAL: it is
 * none; the debug file that is installed for a build id; the code that the kernel maps into each
 * process, as this kernel does it; and the running kernel's symbols, where the system lets them be
 * read.
 */
int dnp_symbols_open_file(const char *path);
int dnp_symbols_open_debug(struct dnp_str build_id);
int dnp_symbols_open_vdso(void);
int dnp_symbols_open_kernel(void);

/*
 * Adds the functions of an ELF file, their addresses as in it, and of its debug file, -1: none.
 * Both are closed. They are read by libdw, which is no match for somebody who made them for it:
 * call it where nothing can come of that (os/confined.h). 0 or -errno, -EINVAL: not ELF; -ESTALE:
 * it has another build id (checked where build_id is not empty).
 */
int dnp_symbols_add_elf(struct dnp_symbols *symbols, int fd, int debug, struct dnp_str build_id);

/* Adds the kernel's. -EPERM: they are hidden. The same. */
int dnp_symbols_add_kernel(struct dnp_symbols *symbols, int fd);

/* After adding. */
void dnp_symbols_sort(struct dnp_symbols *symbols);

/* The function that an address lies in, NULL: not known. Mangled as it was. */
const char *dnp_symbols_find(const struct dnp_symbols *symbols, uint64_t address);

/* The name as written in the source, if it is a C++ one that can be demangled; to be freed. NULL:
   it is to be shown as it is. */
char *dnp_demangle(const char *name);
/* Loads what that needs, for where no file can be opened. */
void dnp_demangle_prepare(void);

#endif
