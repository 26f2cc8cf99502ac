/* SPDX-License-Identifier: MIT */
/*
 * Memory of this process: reads that never fault, and pages of one's own that are no part of the
 * program's heap.
 */
#ifndef DNP_OS_MEM_H
#define DNP_OS_MEM_H

#include <stdbool.h>
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

/*
 * Whether every page of [low, high) can be read now; 0 as well where a sandbox refuses to tell.
 * Async-signal-safe; a system call for each 128 KiB.
 */
SIGSAFE int dnp_mem_is_readable(uintptr_t low, uintptr_t high);

/*
 * Whether an instruction of this process could read the page of an address now. More than that
 * dnp_mem_read could, which in some sandboxes, and under Wine, reads what nobody may touch; false
 * where that cannot be told. Async-signal-safe; a system call.
 */
SIGSAFE bool dnp_mem_may_touch(uintptr_t address);

/*
 * Whether code could be at an address that was made at run time: executable memory behind which is
 * no file, or one of the runtime's that are only memory. What the kernel said less than a second
 * ago may be the answer; else it takes up to a millisecond. Not for handlers.
 */
bool dnp_mem_is_generated_code(uintptr_t address);

/*
 * Calls `is_it` with where files of this name, whatever their folder, are mapped from their first
 * byte on, the lowest address first, until it says so; false: it never did. Not for handlers.
 */
bool dnp_mem_find_file(
	const char *name, bool (*is_it)(uintptr_t base, void *context), void *context);

/* Zeroed pages; NULL when there are none. Pair: dnp_mem_unmap with the same size. */
void *dnp_mem_map(size_t bytes);
void dnp_mem_unmap(void *pages, size_t bytes);

/*
 * Address space of which the system has promised no memory: pages can be used as far as
 * dnp_mem_commit has been asked for them, which gives 0 or -ENOMEM; once is enough, and they are
 * zeroed then. dnp_mem_decommit takes all of them back. Pair: dnp_mem_unmap with the same size.
 */
void *dnp_mem_reserve(size_t bytes);
int dnp_mem_commit(void *from, size_t bytes);
void dnp_mem_decommit(void *pages, size_t bytes);

/* Such pages are as if they were mapped anew. */
void dnp_mem_clear(void *pages, size_t bytes);

/*
 * A file's first bytes, shared with all processes that map them; NULL and errno (EINVAL: it has not
 * as many). The file is not made. Pair: dnp_mem_unshare.
 */
void *dnp_mem_share(const char *path, size_t bytes);
void dnp_mem_unshare(void *shared, size_t bytes);

/* A hint, for memory that is met in no order: pages as large as there are. Nothing for little. */
void dnp_mem_want_large_pages(void *memory, size_t bytes);
/* For what may be touched here and there only: such pages would take more memory than is used. */
void dnp_mem_want_small_pages(void *pages, size_t bytes);
/* What is there of [from, end) already, now; where the system cannot, it stays as it is. */
void dnp_mem_make_pages_large(void *from, const void *end);

#endif
