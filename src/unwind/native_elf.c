/* SPDX-License-Identifier: MIT */
#include "unwind/native.h"

#include <errno.h>
#include <string.h>

#include "os/mem.h"
#include "unwind/cfi.h"
#include "unwind/native_table.h"

/* Pairs with the release in native.c. */
SIGSAFE static const struct dnp_cfi *table_of(const struct dnp_elf_module *module)
{
	return atomic_load_explicit(&module->unwind, memory_order_acquire);
}

/* ---- Building */

enum { HDR_VERSION = 1, HDR_BYTES = 12 };

/* Where .eh_frame is, from its header: version, encoding of the pointer, two more, the pointer. */
static uintptr_t find_eh_frame(const struct dnp_elf_module *module)
{
	uint8_t hdr[HDR_BYTES];
	uintptr_t field = module->eh_frame_hdr + 4;
	int32_t relative;
	uint64_t absolute;

	if (!module->eh_frame_hdr || dnp_mem_read(module->eh_frame_hdr, hdr, sizeof(hdr)) < 0 ||
		hdr[0] != HDR_VERSION)
		return 0;
	memcpy(&relative, hdr + 4, sizeof(relative));
	memcpy(&absolute, hdr + 4, sizeof(absolute));
	switch (hdr[1]) {
	case 0x1b: return field + (uintptr_t)(intptr_t)relative;                /* pcrel sdata4 */
	case 0x3b: return module->eh_frame_hdr + (uintptr_t)(intptr_t)relative; /* datarel sdata4 */
	case 0x03: return (uint32_t)relative;
	case 0x00:
	case 0x04: return absolute;
	default: return 0;
	}
}

#define EH_FRAME_BYTES_MAX ((size_t)64 << 20)

/* Reads a copy, so that the module may be unloaded meanwhile. */
static int read_and_build(
	const struct dnp_elf_module *module, void (*meanwhile)(void), struct dnp_cfi **table)
{
	struct dnp_cfi_input in = {.hdr = module->eh_frame_hdr,
		.low = module->low,
		.high = module->high,
		.meanwhile = meanwhile};
	uint8_t *copy;
	int result;

	in.address = find_eh_frame(module);
	if (!in.address || in.address >= module->readable_end)
		return -ENOENT;
	in.n = module->readable_end - in.address;
	if (in.n > EH_FRAME_BYTES_MAX)
		in.n = EH_FRAME_BYTES_MAX;
	copy = dnp_mem_map(in.n);
	if (!copy)
		return -ENOMEM;
	in.bytes = copy;
	result = dnp_mem_read(in.address, copy, in.n);
	if (result == 0)
		result = dnp_cfi_build(&in, table);
	dnp_mem_unmap(copy, in.n);
	return result;
}

void *dnp_native_table_make(const struct dnp_elf_module *module, struct dnp_native_stats *stats,
	void (*meanwhile)(void))
{
	struct dnp_cfi *table = NULL;

	if (read_and_build(module, meanwhile, &table) < 0)
		return NULL;
	stats->functions += table->stats.functions;
	stats->rows += table->stats.rows;
	stats->without_rule += table->stats.without_rule;
	stats->bytes += table->stats.bytes;
	return table;
}

void dnp_native_table_free(void *table, struct dnp_native_stats *stats)
{
	const struct dnp_cfi *cfi = table;

	stats->bytes -= cfi->stats.bytes;
	dnp_cfi_free(table);
}

/* ---- Looking up */

SIGSAFE static bool look_up(uintptr_t hdr, uintptr_t low, uintptr_t high, uintptr_t pc, bool exact,
	struct dnp_rule *rule)
{
	uint32_t start;

	if (!hdr || !dnp_cfi_look_up(hdr, low, high, pc, rule))
		return false;
	if (rule->cfa == DNP_CFA_NONE && !dnp_cfi_look_up_function(hdr, low, high, pc, &start))
		*rule = dnp_native_undescribed(exact);
	return true;
}

SIGSAFE bool dnp_native_rule(
	const struct dnp_elf_module *module, uintptr_t pc, bool exact, struct dnp_rule *rule)
{
	const struct dnp_cfi *table = table_of(module);
	uint32_t offset = (uint32_t)(pc - module->low), start;

	if (!table)
		return look_up(module->eh_frame_hdr, module->low, module->high, pc, exact, rule);
	*rule = dnp_cfi_find(table, offset);
	if (rule->cfa == DNP_CFA_NONE && !dnp_cfi_function(table, offset, &start))
		*rule = dnp_native_undescribed(exact);
	return true;
}

SIGSAFE bool dnp_native_rule_of_new(uintptr_t pc, bool exact, struct dnp_rule *rule)
{
	struct dnp_module_code code;

	return dnp_module_find_new(pc, &code) &&
		look_up(code.eh_frame_hdr, code.low, code.high, pc, exact, rule);
}

/* A word is pushed for the address, which is said to be above it. */
const struct dnp_hijack dnp_native_hijack = {
	.code = {0x50, 0x55, 0x53, 0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0x41, 0x54},
	.n = 11,
	.off = -8,
	.exact = true,
};

SIGSAFE bool dnp_native_function(const struct dnp_elf_module *module, uintptr_t pc, uint64_t *start)
{
	const struct dnp_cfi *table = table_of(module);
	uint32_t offset;

	if (table ? pc - module->low > UINT32_MAX ||
				!dnp_cfi_function(table, (uint32_t)(pc - module->low), &offset)
		  : !module->eh_frame_hdr ||
				!dnp_cfi_look_up_function(module->eh_frame_hdr, module->low,
					module->high, pc, &offset))
		return false;
	*start = (module->low - module->bias) + offset;
	return true;
}
