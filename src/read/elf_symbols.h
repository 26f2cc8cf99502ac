/* SPDX-License-Identifier: MIT */
/*
 * The functions of an ELF file: from its own symbol tables, its .gnu_debugdata, or a debug file
 * that is installed for its build id. Never asks the network.
 */
#ifndef DNP_READ_ELF_SYMBOLS_H
#define DNP_READ_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "read/native_names.h"
#include "read/symbols.h"

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

/*
 * Adds the kernel's, as far as one of n addresses, in their order, may lie in them. -EPERM: they
 * are hidden. The same.
 */
int dnp_symbols_add_kernel(
	struct dnp_symbols *symbols, int fd, const struct dnp_wanted *wanted, size_t n);

/* The name as written in the source, if it is a C++ one that can be demangled; to be freed. NULL:
   it is to be shown as it is. */
char *dnp_demangle(const char *name);
/* Loads what that needs, for where no file can be opened. */
void dnp_demangle_prepare(void);

#endif
