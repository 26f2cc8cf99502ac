/* SPDX-License-Identifier: MIT */
/*
 * PE describes each function that has a frame: where it is and what its prolog does, by the same
 * UNWIND_INFO as managed code. Both tables are copied when a module is met, so that nothing of a
 * module is read while a thread stands still but the code of an epilog, which has no description
 * other than its instructions, and that by guarded reads. Source: "x64 exception handling"
 * (Microsoft Learn).
 */
#include "unwind/native.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "os/generation.h"
#include "os/mem.h"
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

/* Held while a list is made and its tables are built; taken before the lock of the modules. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dnp_native_stats totals; /* under lock */
static bool untried;                   /* under lock: some may have no table yet */

/* Pairs with the release in add_table. */
SIGSAFE static const struct table *table_of(const struct dnp_elf_module *module)
{
	return atomic_load_explicit(&module->unwind, memory_order_acquire);
}

static void release_table(void *unwind)
{
	struct table *table = unwind;

	totals.bytes -= table->bytes;
	dnp_mem_unmap(table, table->bytes);
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

static void add_table(struct dnp_elf_module *module)
{
	struct table *table = read_tables(module);

	module->tried = true;
	totals.modules++;
	if (!table) {
		totals.without_table++;
		return;
	}
	totals.functions += table->n;
	totals.rows += table->n;
	totals.bytes += table->bytes;
	/* Pairs with the acquire of table_of. */
	atomic_store_explicit(&module->unwind, table, memory_order_release);
}

int dnp_native_list(uint64_t now_ns)
{
	int changed;

	pthread_mutex_lock(&lock);
	changed = dnp_modules_refresh(now_ns);
	untried |= changed > 0;
	pthread_mutex_unlock(&lock);
	return changed;
}

/* All at once: they are copied, not built. */
bool dnp_native_build(uint64_t budget_ns)
{
	struct dnp_elf_module *module;

	(void)budget_ns;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; untried && (module = dnp_module_get(i)); i++)
		if (!module->tried)
			add_table(module);
	untried = false;
	pthread_mutex_unlock(&lock);
	return false;
}

void dnp_native_reclaim(uint64_t before_ns)
{
	pthread_mutex_lock(&lock);
	dnp_modules_reclaim(before_ns, release_table);
	pthread_mutex_unlock(&lock);
}

void dnp_native_done(void)
{
	pthread_mutex_lock(&lock);
	dnp_modules_done(release_table);
	dnp_generation_bump();
	memset(&totals, 0, sizeof(totals));
	untried = false;
	pthread_mutex_unlock(&lock);
}

void dnp_native_stats(struct dnp_native_stats *stats)
{
	pthread_mutex_lock(&lock);
	*stats = totals;
	pthread_mutex_unlock(&lock);
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

SIGSAFE static bool epilog_rule(
	uintptr_t base, const struct function *function, uintptr_t pc, struct dnp_rule *rule)
{
	uint8_t code[DNP_EPILOG_BYTES_MAX];
	size_t n = base + function->end - pc;

	n = dnp_mem_read_some(pc, code, n < sizeof(code) ? n : sizeof(code));
	return dnp_epilog_rule_here(
		code, n, pc, base + function->begin, function->end - function->begin, rule);
}

SIGSAFE bool dnp_native_rule(
	const struct dnp_elf_module *module, uintptr_t pc, bool exact, struct dnp_rule *rule)
{
	const struct table *table = table_of(module);
	const struct function *function;
	uint32_t at = (uint32_t)(pc - module->bias), prolog;
	const uint8_t *info;

	*rule = (struct dnp_rule){0};
	if (!table)
		return module->tried;
	function = function_at(table, at);
	if (!function) /* It has no frame: the return address is on top. */
		return true;
	if (!info_at(table, function->info, &info))
		return true;
	prolog = dnp_unwind_info_prolog(info);
	if (exact && at - function->begin >= prolog &&
		epilog_rule(module->bias, function, pc, rule))
		return true;
	if (!rule_of(table, *function, at - function->begin, rule))
		*rule = (struct dnp_rule){0};
	return true;
}

SIGSAFE bool dnp_native_rule_of_new(uintptr_t pc, struct dnp_rule *rule)
{
	(void)pc;
	(void)rule;
	return false;
}

SIGSAFE bool dnp_native_function(const struct dnp_elf_module *module, uintptr_t pc, uint64_t *start)
{
	const struct table *table = table_of(module);
	const struct function *found =
		table ? function_at(table, (uint32_t)(pc - module->bias)) : NULL;
	struct function function;

	if (!found)
		return false;
	function = *found;
	for (int i = 0; i < CHAIN_MAX; i++) {
		const uint8_t *info;
		size_t n = info_at(table, function.info, &info);

		if (n < DNP_UNWIND_INFO_HEADER || !next_of(info, n, &function))
			break;
	}
	*start = function.begin;
	return true;
}
