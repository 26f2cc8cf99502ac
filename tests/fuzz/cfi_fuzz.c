/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the .eh_frame of a module whose code lies around it, or as its header and that.
 * Memory comes without system calls: guarded reads see the input alone, and mappings are the heap's
 * or two that are used again. Bounds: code of 128 KiB, nine places in it.
 */
#include "fuzz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/cfi.h"

#define ADDRESS  0x100000U
#define CODE_MAX 0x10000U

#define POOL_BYTES ((size_t)256 << 10)

static uint8_t *readable; /* what guarded reads can see */
static size_t n_readable;

static _Alignas(64) uint8_t pool[2][POOL_BYTES];
static bool used[2];

/* By the linker in place of those of os/mem.h. */
void *__wrap_dnp_mem_map(size_t bytes);
void __wrap_dnp_mem_unmap(void *pages, size_t bytes);
int __wrap_dnp_mem_read(uintptr_t address, void *to, size_t n);
size_t __wrap_dnp_mem_read_some(uintptr_t address, void *to, size_t n);

void *__wrap_dnp_mem_map(size_t bytes)
{
	for (size_t i = 0; i < 2 && bytes > POOL_BYTES / 4 && bytes <= POOL_BYTES; i++)
		if (!used[i]) {
			used[i] = true;
			return pool[i];
		}
	return calloc(1, bytes);
}

void __wrap_dnp_mem_unmap(void *pages, size_t bytes)
{
	for (size_t i = 0; i < 2; i++)
		if (pages == pool[i]) {
			memset(pages, 0, bytes);
			used[i] = false;
			return;
		}
	free(pages);
}

size_t __wrap_dnp_mem_read_some(uintptr_t address, void *to, size_t n)
{
	size_t at = address - (uintptr_t)readable;

	if (address < (uintptr_t)readable || at >= n_readable)
		return 0;
	if (n > n_readable - at)
		n = n_readable - at;
	memcpy(to, readable + at, n);
	return n;
}

int __wrap_dnp_mem_read(uintptr_t address, void *to, size_t n)
{
	return __wrap_dnp_mem_read_some(address, to, n) == n ? 0 : -EFAULT;
}

/* As a whole; and behind a header whose only function begins where the code does. */
static void look_up(const uint8_t *data, size_t n)
{
	static const uint8_t head[20] = {
		1, 0x1b, 3, 0x3b, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0xff, 0xff, sizeof(head), 0, 0, 0};
	uint8_t *bytes = malloc(sizeof(head) + n);
	uintptr_t hdr = (uintptr_t)bytes, low = hdr - CODE_MAX;
	struct dnp_rule rule;
	uint32_t start;

	if (!bytes)
		return;
	memcpy(bytes, head, sizeof(head));
	memcpy(bytes + sizeof(head), data, n);
	readable = bytes;
	n_readable = sizeof(head) + n;
	for (uintptr_t pc = low; pc < low + 2 * CODE_MAX; pc += CODE_MAX / 4) {
		dnp_cfi_look_up(hdr, low, low + 2 * CODE_MAX, pc, &rule);
		dnp_cfi_look_up(hdr + sizeof(head), low, low + 2 * CODE_MAX, pc, &rule);
		if (dnp_cfi_look_up_function(hdr, low, low + 2 * CODE_MAX, pc, &start) &&
			start > pc - low)
			abort();
	}
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct dnp_cfi_input input = {.bytes = data,
		.n = n,
		.address = ADDRESS,
		.hdr = ADDRESS - 0x100,
		.low = ADDRESS - CODE_MAX,
		.high = ADDRESS + CODE_MAX};
	struct dnp_cfi *table;
	uint32_t start;

	look_up(data, n);
	if (dnp_cfi_build(&input, &table) < 0)
		return 0;
	for (uint32_t i = 0; i < table->rows; i++) {
		if (i && table->offsets[i] <= table->offsets[i - 1])
			abort(); /* a handler searches it */
		dnp_cfi_find(table, table->offsets[i]);
		if (dnp_cfi_function(table, table->offsets[i], &start) && start > table->offsets[i])
			abort();
	}
	dnp_cfi_find(table, 0);
	dnp_cfi_find(table, UINT32_MAX);
	dnp_cfi_free(table);
	return 0;
}
