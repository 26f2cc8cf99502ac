/* SPDX-License-Identifier: MIT */
/* Rules of native code before there is a table, against those of the table. */
#include "test.h"

#include <dlfcn.h>
#include <stdio.h>

#include "unwind/cfi.h"
#include "unwind/native.h"

/* A description that is too long for a rule does not say less about where its function begins. */
static void check_function(
	const struct dnp_elf_module *module, const struct dnp_cfi *table, uint32_t offset)
{
	uint32_t expected, start;

	if (!dnp_cfi_function(table, offset, &expected))
		return;
	CHECK(dnp_cfi_look_up_function(
		module->eh_frame_hdr, module->low, module->high, module->low + offset, &start));
	CHECK_EQ(start, expected);
}

/*
 * Without the table the same comes out, at the first byte of each row and the last (but for the
 * padding before a function); only few descriptions are too long for that.
 */
static void look_up(const void *code)
{
	const struct dnp_elf_module *module = dnp_module_find((uintptr_t)code);
	const struct dnp_cfi *table = module ? module->unwind : NULL;
	uint32_t unknown = 0, different = 0;

	CHECK(table);
	for (uint32_t i = 0; i + 1 < table->rows; i++) {
		bool padded = table->ids[i + 1] & DNP_CFI_FUNCTION;
		uint32_t ends[] = {table->offsets[i], table->offsets[i + 1] - 1};

		for (unsigned k = 0; k < (padded ? 1 : 2); k++) {
			struct dnp_rule expected = dnp_cfi_find(table, ends[k]), rule;

			check_function(module, table, ends[k]);
			if (!dnp_cfi_look_up(module->eh_frame_hdr, module->low, module->high,
				    module->low + ends[k], &rule))
				unknown++;
			else if (!dnp_rule_same(rule, expected) && different++ < 5)
				printf("# %s+%#lx: cfa %u %d, not %u %d\n", module->path,
					module->low - module->bias + ends[k], rule.cfa, rule.off,
					expected.cfa, expected.off);
		}
	}
	printf("# %s: looked up %u rows, %u unknown\n", module->path, table->rows, unknown);
	CHECK_EQ(different, 0);
	CHECK(unknown * 50 <= table->rows);
}

static void look_up_in(const char *name, const char *symbol)
{
	void *library = dlopen(name, RTLD_NOW);

	if (!library)
		SKIP("the library is not installed");
	CHECK(dnp_native_refresh() >= 0);
	look_up(dlsym(library, symbol));
	dlclose(library);
	dnp_native_done();
}

TEST(look_up_libc)
{
	look_up_in("libc.so.6", "gnu_get_libc_version");
}

TEST(look_up_libm)
{
	look_up_in("libm.so.6", "exp2");
}

TEST(look_up_libstdcxx)
{
	look_up_in("libstdc++.so.6", "_ZSt9terminatev");
}

TEST(look_up_where_nothing_is)
{
	struct dnp_rule rule;
	char nothing[64] = {0};
	uint32_t start;
	uintptr_t hdr = (uintptr_t)nothing;

	CHECK(!dnp_cfi_look_up(hdr, hdr, hdr + 1, hdr, &rule));
	CHECK(!dnp_cfi_look_up(8, 0, UINTPTR_MAX, hdr, &rule));
	CHECK(!dnp_cfi_look_up_function(hdr, hdr, hdr + 1, hdr, &start));
	CHECK(!dnp_cfi_look_up_function(8, 0, UINTPTR_MAX, hdr, &start));
}

static unsigned times_meanwhile;

static void count_meanwhile(void)
{
	times_meanwhile++;
}

/* Code of a library can be walked as soon as it is listed, and whoever builds tables is not kept
 * from other work. */
TEST(walks_do_not_wait_for_tables)
{
	void *library = dlopen("libstdc++.so.6", RTLD_NOW);
	const struct dnp_elf_module *module;
	struct dnp_rule before, after;
	uint64_t begins, begins_after;
	uintptr_t pc;

	if (!library)
		SKIP("the library is not installed");
	pc = (uintptr_t)dlsym(library, "_ZSt9terminatev");
	CHECK(dnp_modules_refresh() > 0);
	module = dnp_module_find(pc);
	CHECK(module && !module->unwind);
	CHECK(dnp_native_rule(module, pc, true, &before));
	CHECK(dnp_native_function(module, pc, &begins));
	dnp_native_build(count_meanwhile);
	CHECK(times_meanwhile > 3); /* of thousands of functions */
	CHECK(module->unwind);
	CHECK(dnp_native_rule(module, pc, true, &after));
	CHECK(dnp_native_function(module, pc, &begins_after));
	CHECK(before.cfa != DNP_CFA_NONE && dnp_rule_same(before, after));
	CHECK_EQ(begins, pc - module->bias);
	CHECK_EQ(begins_after, begins);
	dlclose(library);
	dnp_native_done();
}
