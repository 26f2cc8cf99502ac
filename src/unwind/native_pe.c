/* SPDX-License-Identifier: MIT */
/*
 * PE describes each function that has a frame: where it is and what its prolog does, by the same
 * UNWIND_INFO as managed code. Both tables are copied when a module is met, so that nothing of a
 * module is read while a thread stands still but the code of an epilog, which has no description
 * other than its instructions, and that by guarded reads. Source: "x64 exception handling"
 * (Microsoft Learn).
 */
#include "unwind/native.h"

#include <stdlib.h>
#include <string.h>

#include "os/mem.h"
#include "unwind/native_table.h"
#include "unwind/x86_64/decode.h"
#include "unwind/x86_64/unwind_info.h"

/* Offsets in the image. */
struct function {
	uint32_t begin, end, info;
};

struct table {
	size_t bytes; /* of all this */
	const uint8_t *infos;
	uint32_t infos_at, infos_bytes; /* descriptions: offset in the image */
	uint32_t n;
	struct function functions[]; /* sorted */
};

/* Pairs with the release in native.c. */
SIGSAFE static const struct table *table_of(const struct dnp_elf_module *module)
{
	return atomic_load_explicit(&module->unwind, memory_order_acquire);
}

/* ---- Building */

#define INFOS_BYTES_MAX (UINT32_C(16) << 20)

static int by_begin(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

/* How many bytes there are up to the first page that cannot be read. */
static size_t read_all(uintptr_t address, void *to, size_t n)
{
	size_t done = 0, more;

	do {
		more = dnp_mem_read_some(address + done, (char *)to + done, n - done);
		done += more;
	} while (more && done < n);
	return done;
}

/* From the first to the last description. False: they make no sense. */
static bool find_infos(const struct dnp_elf_module *module, const struct function *functions,
	uint32_t n, uint32_t *low, uint32_t *bytes)
{
	uint32_t high = 0;

	*low = UINT32_MAX;
	for (uint32_t i = 0; i < n; i++) {
		if (functions[i].info < *low)
			*low = functions[i].info;
		if (functions[i].info > high)
			high = functions[i].info;
	}
	if (*low > high || high >= module->image_bytes || high - *low >= INFOS_BYTES_MAX)
		return false;
	*bytes = high - *low + DNP_UNWIND_INFO_MAX + (uint32_t)sizeof(struct function);
	if (*bytes > module->image_bytes - *low)
		*bytes = module->image_bytes - *low;
	return true;
}

static struct table *copy_tables(
	const struct dnp_elf_module *module, struct function *functions, uint32_t n)
{
	uint32_t infos_at, infos_bytes;
	struct table *table;
	size_t bytes;
	uint8_t *infos;

	if (!find_infos(module, functions, n, &infos_at, &infos_bytes))
		return NULL;
	bytes = sizeof(*table) + n * sizeof(*functions) + infos_bytes;
	table = dnp_mem_map(bytes);
	if (!table)
		return NULL;
	memcpy(table->functions, functions, n * sizeof(*functions));
	infos = (uint8_t *)(table->functions + n);
	/* The last may lie at the end of a section. */
	table->infos_bytes = (uint32_t)read_all(module->bias + infos_at, infos, infos_bytes);
	table->infos = infos;
	table->infos_at = infos_at;
	table->bytes = bytes;
	table->n = n;
	return table;
}

static struct table *read_tables(const struct dnp_elf_module *module)
{
	uint32_t n = module->functions_bytes / (uint32_t)sizeof(struct function);
	size_t bytes = n * sizeof(struct function);
	struct function *functions = n ? dnp_mem_map(bytes) : NULL;
	struct table *table = NULL;

	if (functions && read_all(module->functions, functions, bytes) == bytes) {
		while (n && !functions[n - 1].begin) /* left over by linkers */
			n--;
		qsort(functions, n, sizeof(*functions), by_begin);
		table = n ? copy_tables(module, functions, n) : NULL;
	}
	dnp_mem_unmap(functions, bytes);
	return table;
}

/* Tables are copied: there is not much to wait for. */
void *dnp_native_table_make(const struct dnp_elf_module *module, struct dnp_native_stats *stats,
	void (*meanwhile)(void))
{
	struct table *table = read_tables(module);

	(void)meanwhile;
	if (!table)
		return NULL;
	stats->functions += table->n;
	stats->rows += table->n;
	stats->bytes += table->bytes;
	return table;
}

void dnp_native_table_free(void *table, struct dnp_native_stats *stats)
{
	size_t bytes = ((struct table *)table)->bytes;

	stats->bytes -= bytes;
	dnp_mem_unmap(table, bytes);
}

/* ---- Looking up */

/* The function that an offset in the image is in, NULL: none that has a frame. */
SIGSAFE static const struct function *function_at(const struct table *table, uint32_t at)
{
	uint32_t low = 0, high = table->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (table->functions[middle].end <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low < table->n && table->functions[low].begin <= at ? &table->functions[low] : NULL;
}

/* Bytes of a description that are there, 0: none; in that case *info is not set. */
SIGSAFE static size_t info_at(const struct table *table, uint32_t at, const uint8_t **info)
{
	uint32_t offset = at - table->infos_at;

	if (at < table->infos_at || offset >= table->infos_bytes)
		return 0;
	*info = table->infos + offset;
	return table->infos_bytes - offset;
}

/* Of the function that goes on with the description; false: there is none. */
SIGSAFE static bool next_of(const uint8_t *info, size_t n, struct function *next)
{
	size_t at = dnp_unwind_info_chained(info);

	if (!at || n < at + sizeof(*next))
		return false;
	memcpy(next, info + at, sizeof(*next));
	return true;
}

#define CHAIN_MAX 16

SIGSAFE static bool rule_of(
	const struct table *table, struct function function, uint32_t offset, struct dnp_rule *rule)
{
	struct dnp_unwind_undo undo = DNP_UNWIND_UNDO;

	for (int i = 0; i < CHAIN_MAX; i++) {
		const uint8_t *info;
		size_t n = info_at(table, function.info, &info);

		if (n < DNP_UNWIND_INFO_HEADER || !dnp_unwind_info_undo(info, n, offset, &undo))
			return false;
		if (!next_of(info, n, &function))
			return dnp_unwind_undo_rule_bx(&undo, rule);
		offset = DNP_UNWIND_BODY;
	}
	return false;
}

/* ---- Functions in several pieces */

/*
 * Compilers put what is seldom run elsewhere. The description of such a piece is continued by that
 * of the one that the function begins with, whose offset this is.
 */
SIGSAFE static uint32_t beginning(const struct table *table, struct function piece)
{
	for (int i = 0; i < CHAIN_MAX; i++) {
		const uint8_t *info;
		size_t n = info_at(table, piece.info, &info);

		if (n < DNP_UNWIND_INFO_HEADER || !next_of(info, n, &piece))
			break;
	}
	return piece.begin;
}

/* Where a direct jump at pc leads, as an offset in the image; 0: there is none. */
SIGSAFE static uint32_t jump_at(uintptr_t base, uintptr_t pc)
{
	uintptr_t target;
	uint8_t code[5];
	size_t n = dnp_mem_read_some(pc, code, sizeof(code));

	return dnp_jump_target(code, n, pc, &target) ? (uint32_t)(target - base) : 0;
}

/* A jump to another piece leaves the frame as it is; one to a function's beginning is a call. */
SIGSAFE static bool jumps_to_piece(
	const struct table *table, uintptr_t base, const struct function *from, uintptr_t pc)
{
	uint32_t to = jump_at(base, pc), begin;
	const struct function *piece = to ? function_at(table, to) : NULL;

	if (!piece || piece == from)
		return false;
	begin = beginning(table, *piece);
	return to != begin && begin == beginning(table, *from);
}

/* ---- Epilogs */

SIGSAFE static bool epilog_rule(
	uintptr_t base, const struct function *function, uintptr_t pc, struct dnp_rule *rule)
{
	uint8_t code[DNP_EPILOG_BYTES_MAX];
	size_t n = base + function->end - pc;

	n = dnp_mem_read_some(pc, code, n < sizeof(code) ? n : sizeof(code));
	return dnp_epilog_rule_here(
		code, n, pc, base + function->begin, function->end - function->begin, rule);
}

/* ---- Looking up in an image itself, by guarded reads */

/* Of `n` functions; 1: found, 0: none that has a frame, -1: they cannot be read. */
SIGSAFE static int read_function(
	uintptr_t functions, uint32_t n, uint32_t at, struct function *found)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (dnp_mem_read(functions + middle * sizeof(*found), found, sizeof(*found)))
			return -1;
		if (at < found->begin)
			high = middle;
		else if (at >= found->end && found->begin)
			low = middle + 1;
		else if (found->begin)
			return 1;
		else
			high = middle; /* left over by linkers, at the end */
	}
	return 0;
}

SIGSAFE static uint32_t read_beginning(uintptr_t base, struct function piece)
{
	uint8_t info[DNP_UNWIND_INFO_MAX + sizeof(struct function)];

	for (int i = 0; i < CHAIN_MAX; i++) {
		size_t n = dnp_mem_read_some(base + piece.info, info, sizeof(info));

		if (n < DNP_UNWIND_INFO_HEADER || !next_of(info, n, &piece))
			break;
	}
	return piece.begin;
}

SIGSAFE static bool reads_jump_to_piece(
	const struct dnp_module_code *code, struct function from, uintptr_t pc)
{
	uint32_t n = code->functions_bytes / (uint32_t)sizeof(from);
	uint32_t to = jump_at(code->low, pc), begin;
	struct function piece;

	if (!to || read_function(code->functions, n, to, &piece) <= 0 || piece.begin == from.begin)
		return false;
	begin = read_beginning(code->low, piece);
	return to != begin && begin == read_beginning(code->low, from);
}

SIGSAFE static bool read_rule(const struct dnp_module_code *code, struct function function,
	uintptr_t pc, bool exact, struct dnp_rule *rule)
{
	uintptr_t base = code->low;
	uint8_t info[DNP_UNWIND_INFO_MAX + sizeof(struct function)];
	uint32_t offset = (uint32_t)(pc - base) - function.begin;
	struct dnp_unwind_undo undo = DNP_UNWIND_UNDO;

	for (int i = 0; i < CHAIN_MAX; i++) {
		size_t n = dnp_mem_read_some(base + function.info, info, sizeof(info));

		if (n < DNP_UNWIND_INFO_HEADER)
			return false;
		if (!i && exact && offset >= dnp_unwind_info_prolog(info) &&
			!reads_jump_to_piece(code, function, pc) &&
			epilog_rule(base, &function, pc, rule))
			return true;
		if (!dnp_unwind_info_undo(info, n, offset, &undo))
			return false;
		if (!next_of(info, n, &function))
			return dnp_unwind_undo_rule_bx(&undo, rule);
		offset = DNP_UNWIND_BODY;
	}
	return false;
}

SIGSAFE static bool rule_in_image(
	const struct dnp_module_code *code, uintptr_t pc, bool exact, struct dnp_rule *rule)
{
	uint32_t n = code->functions_bytes / (uint32_t)sizeof(struct function);
	struct function function;
	int found = read_function(code->functions, n, (uint32_t)(pc - code->low), &function);

	*rule = found ? (struct dnp_rule){0} : dnp_native_undescribed(exact);
	if (found > 0 && code->low + read_beginning(code->low, function) == code->thread_start)
		rule->cfa = DNP_CFA_END;
	else if (found > 0 && !read_rule(code, function, pc, exact, rule))
		*rule = (struct dnp_rule){0};
	return found >= 0;
}

/* Nobody has built its table yet. */
SIGSAFE static bool rule_of_untried(
	const struct dnp_elf_module *module, uintptr_t pc, bool exact, struct dnp_rule *rule)
{
	return rule_in_image(&(struct dnp_module_code){.low = module->bias,
				     .functions = module->functions,
				     .functions_bytes = module->functions_bytes,
				     .thread_start = module->thread_start},
		pc, exact, rule);
}

/* ---- Rules */

SIGSAFE bool dnp_native_rule(
	const struct dnp_elf_module *module, uintptr_t pc, bool exact, struct dnp_rule *rule)
{
	const struct table *table = table_of(module);
	const struct function *function;
	uint32_t at = (uint32_t)(pc - module->bias), prolog;
	const uint8_t *info;

	if (!table && !module->tried)
		return rule_of_untried(module, pc, exact, rule);
	function = table ? function_at(table, at) : NULL;
	*rule = function ? (struct dnp_rule){0} : dnp_native_undescribed(exact);
	if (!function)
		return true;
	if (!info_at(table, function->info, &info))
		return true;
	if (module->bias + beginning(table, *function) == module->thread_start) {
		rule->cfa = DNP_CFA_END;
		return true;
	}
	prolog = dnp_unwind_info_prolog(info);
	if (exact && at - function->begin >= prolog &&
		!jumps_to_piece(table, module->bias, function, pc) &&
		epilog_rule(module->bias, function, pc, rule))
		return true;
	if (!rule_of(table, *function, at - function->begin, rule))
		*rule = (struct dnp_rule){0};
	return true;
}

SIGSAFE bool dnp_native_rule_of_new(uintptr_t pc, bool exact, struct dnp_rule *rule)
{
	struct dnp_module_code code;

	return dnp_module_find_new(pc, &code) && rule_in_image(&code, pc, exact, rule);
}

/* Two words are pushed, the first one for the address, of which nothing is said. */
const struct dnp_hijack dnp_native_hijack = {
	.code = {0x48, 0x8b, 0xd4, 0x50, 0x52, 0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0x41, 0x54},
	.n = 13,
	.off = 8,
};

SIGSAFE bool dnp_native_function(const struct dnp_elf_module *module, uintptr_t pc, uint64_t *start)
{
	const struct table *table = table_of(module);
	const struct function *found =
		table ? function_at(table, (uint32_t)(pc - module->bias)) : NULL;

	if (!found)
		return false;
	*start = beginning(table, *found);
	return true;
}
