/* SPDX-License-Identifier: MIT */
#include "unwind/made.h"

#include <stdatomic.h>
#include <string.h>

#include "os/generation.h"
#include "os/mem.h"

#define PAGE_BITS 12
#define PAGES     256u /* places for those that are remembered; by the page's number */
#define KEY_BITS  36   /* of a page's number, in front of which the generation stands */

static _Atomic uint64_t pages[PAGES];

/* What stands in the place of a page that may be touched in this generation; never 0. */
static uint64_t mark_of(uintptr_t page, uint64_t generation)
{
	return (generation + 1) << KEY_BITS | page;
}

/*
 * Whether all n bytes lie in one page that may be touched. The first of them is of something that
 * lives, so that this page stays; of what is behind it nobody knows.
 */
static bool may_touch(uintptr_t at, size_t n)
{
	uint64_t generation = dnp_generation();
	uintptr_t page = at >> PAGE_BITS;
	_Atomic uint64_t *known = &pages[page % PAGES];

	/* Beyond what marks can tell apart there is memory only for who asks for it. */
	if (!n || page >> KEY_BITS || (at + (n - 1)) >> PAGE_BITS != page)
		return false;
	if (atomic_load_explicit(known, memory_order_relaxed) == mark_of(page, generation))
		return true;
	if (!dnp_mem_may_touch(at))
		return false;
	atomic_store_explicit(known, mark_of(page, generation), memory_order_relaxed);
	return true;
}

static void copy(uintptr_t at, void *to, size_t n)
{
	memcpy(to, (const void *)at, n); /* NOLINT(performance-no-int-to-ptr) */
}

size_t dnp_made_read_some(uintptr_t at, void *to, size_t n)
{
	if (!may_touch(at, n))
		return dnp_mem_read_some(at, to, n);
	copy(at, to, n);
	return n;
}

bool dnp_made_read(uintptr_t at, void *to, size_t n)
{
	if (!may_touch(at, n))
		return dnp_mem_read(at, to, n) == 0;
	copy(at, to, n);
	return true;
}
