/* SPDX-License-Identifier: MIT */
/*
 * Reads of what the runtime keeps of code that it has just made, of which there is more every
 * moment while a program starts. A read that cannot fault is a system call; so pages that the
 * program may touch are remembered until code goes away (os/generation.h), and what lies in one of
 * them is copied.
 *
 * Only for addresses of code, or of what belongs to it, that live meanwhile (where they point to
 * nothing the page is not there, and nothing is read): any thread, not handlers.
 */
#ifndef DNP_UNWIND_MADE_H
#define DNP_UNWIND_MADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether all n bytes could be read. */
bool dnp_made_read(uintptr_t at, void *to, size_t n);

/* The same, but takes what there is up to the first page that cannot be read: how many bytes. */
size_t dnp_made_read_some(uintptr_t at, void *to, size_t n);

#endif
