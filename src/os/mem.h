/* SPDX-License-Identifier: MIT */
/*
 * Memory of this process: reads that never fault, and pages of one's own that are no part of the
 * program's heap.
 */
#ifndef DNP_OS_MEM_H
#define DNP_OS_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"

/*
 * Copies n bytes from any address of this process. Returns 0, or -EFAULT when not all of them can
 * be read. Async-signal-safe; a system call (well under a microsecond), so not for the usual path
 * of a handler.
 */
SIGSAFE int dnp_mem_read(uintptr_t address, void *to, size_t n);

/*
 * The same, but takes what there is up to the first page that cannot be read, and not more than 31
 * pages: how many bytes.
 */
SIGSAFE size_t dnp_mem_read_some(uintptr_t address, void *to, size_t n);

/* Zeroed pages; NULL when there are none. Pair: dnp_mem_unmap with the same size. */
void *dnp_mem_map(size_t bytes);
void dnp_mem_unmap(void *pages, size_t bytes);

#endif
