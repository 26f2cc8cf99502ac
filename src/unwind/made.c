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

/* What stands in the place of a page that could be read in this generation; never 0. */
static uint64_t mark_of(uintptr_t page, uint64_t generation)
{
	return (generation + 1) << KEY_BITS | (page & ((UINT64_C(1) << KEY_BITS) - 1));
}

static bool is_known(uintptr_t page, uint64_t generation)
{
	/* Beyond what marks can tell apart there is memory only for who asks for it. */
	return !(page >> KEY_BITS) &&
		atomic_load_explicit(&pages[page % PAGES], memory_order_relaxed) ==
		mark_of(page, generation);
}

/* Copies what lies in pages that are known. */
static bool copy(uintptr_t at, void *to, size_t n, uint64_t generation)
{
	if (!n || at + n < at)
		return false;
	for (uintptr_t page = at >> PAGE_BITS; page <= (at + n - 1) >> PAGE_BITS; page++)
		if (!is_known(page, generation))
			return false;
	memcpy(to, (const void *)at, n); /* NOLINT(performance-no-int-to-ptr) */
	return true;
}

static void remember(uintptr_t at, size_t n, uint64_t generation)
{
	for (uintptr_t page = at >> PAGE_BITS; n && page <= (at + n - 1) >> PAGE_BITS; page++)
		atomic_store_explicit(
			&pages[page % PAGES], mark_of(page, generation), memory_order_relaxed);
}

size_t dnp_made_read_some(uintptr_t at, void *to, size_t n)
{
	uint64_t generation = dnp_generation();

	if (copy(at, to, n, generation))
		return n;
	n = dnp_mem_read_some(at, to, n);
	remember(at, n, generation);
	return n;
}

bool dnp_made_read(uintptr_t at, void *to, size_t n)
{
	uint64_t generation = dnp_generation();

	if (copy(at, to, n, generation))
		return true;
	if (dnp_mem_read(at, to, n))
		return false;
	remember(at, n, generation);
	return true;
}
