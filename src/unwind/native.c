/* SPDX-License-Identifier: MIT */
#include "unwind/native.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "os/clock.h"
#include "os/generation.h"
#include "os/mem.h"
#include "unwind/cfi.h"

/* Held while a list is made and its tables are built; taken before the lock of the modules. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dnp_native_stats totals; /* under lock */
static bool untried;                   /* under lock: some may have no table yet */

/* Pairs with the release in add_table. */
SIGSAFE static const struct dnp_cfi *table_of(const struct dnp_elf_module *module)
{
	return atomic_load_explicit(&module->unwind, memory_order_acquire);
}

static void release_table(void *unwind)
{
	const struct dnp_cfi *table = unwind;

	totals.bytes -= table->stats.bytes;
	dnp_cfi_free(unwind);
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
static int read_and_build(const struct dnp_elf_module *module, struct dnp_cfi **table)
{
	struct dnp_cfi_input in = {
		.hdr = module->eh_frame_hdr, .low = module->low, .high = module->high};
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

static void add_table(struct dnp_elf_module *module)
{
	struct dnp_cfi *table = NULL;

	module->tried = true;
	totals.modules++;
	if (read_and_build(module, &table) < 0) {
		totals.without_table++;
		return;
	}
	totals.functions += table->stats.functions;
	totals.rows += table->stats.rows;
	totals.without_rule += table->stats.without_rule;
	totals.bytes += table->stats.bytes;
	/* Pairs with the acquire of table_of. */
	atomic_store_explicit(&module->unwind, table, memory_order_release);
}

/* The biggest module that nobody has looked at, or NULL. */
static struct dnp_elf_module *next_untried(void)
{
	struct dnp_elf_module *best = NULL, *module;

	for (size_t i = 0; (module = dnp_module_get(i)); i++) {
		if (!module->tried &&
			(!best || module->high - module->low > best->high - best->low))
			best = module;
	}
	return best;
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

bool dnp_native_build(uint64_t budget_ns)
{
	struct dnp_elf_module *module;
	uint64_t begin_ns, now_ns;
	bool more;

	pthread_mutex_lock(&lock);
	begin_ns = now_ns = untried ? dnp_now_ns() : 0;
	while (untried && now_ns - begin_ns < budget_ns) {
		module = next_untried();
		untried = module != NULL;
		if (module)
			add_table(module);
		now_ns = dnp_now_ns();
		untried |= dnp_modules_refresh(now_ns) > 0; /* big ones take milliseconds */
	}
	more = untried;
	pthread_mutex_unlock(&lock);
	return more;
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

SIGSAFE bool dnp_native_rule(
	const struct dnp_elf_module *module, uintptr_t pc, bool exact, struct dnp_rule *rule)
{
	const struct dnp_cfi *table = table_of(module);

	(void)exact; /* every instruction has its own */
	if (!table)
		return module->eh_frame_hdr &&
			dnp_cfi_look_up(module->eh_frame_hdr, module->low, module->high, pc, rule);
	*rule = dnp_cfi_find(table, (uint32_t)(pc - module->low));
	return true;
}

SIGSAFE bool dnp_native_rule_of_new(uintptr_t pc, struct dnp_rule *rule)
{
	struct dnp_module_code code;

	return dnp_module_find_new(pc, &code) &&
		dnp_cfi_look_up(code.eh_frame_hdr, code.low, code.high, pc, rule);
}

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
