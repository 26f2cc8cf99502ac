/* SPDX-License-Identifier: MIT */
/* Rules of native code by the table that is made of a module, and by its image itself. */
#include "unwind/native.h"

#include <windows.h>

#include "os/clock.h"
#include "test.h"

/* The same at instructions all over the module; how many have a frame. */
static unsigned compare(uintptr_t inside, unsigned step)
{
	const struct dnp_elf_module *module = dnp_module_find(inside);
	unsigned frames = 0;

	CHECK(module != NULL);
	for (uintptr_t pc = module->low; pc < module->high; pc += step) {
		bool exact = pc & 1;
		struct dnp_rule listed, found;

		CHECK(dnp_native_rule(module, pc, exact, &listed));
		CHECK(dnp_native_rule_of_new(pc, exact, &found));
		CHECK(dnp_rule_same(listed, found));
		frames += listed.cfa != DNP_CFA_NONE;
	}
	return frames;
}

TEST(new_module_has_the_rules_that_its_table_will_have)
{
	HMODULE kernel = GetModuleHandleW(L"kernel32.dll");
	uintptr_t function = (uintptr_t)GetProcAddress(kernel, "CreateFileW");

	CHECK(dnp_native_refresh(dnp_now_ns()) > 0);
	CHECK(compare(function, 211) > 100);
	CHECK(compare((uintptr_t)compare, 97) > 100);
	dnp_native_done();
}

TEST(module_without_a_table_has_the_rules_of_its_image)
{
	uintptr_t here = (uintptr_t)compare;
	struct dnp_rule listed, found;

	CHECK(dnp_native_list(dnp_now_ns()) > 0);
	CHECK(dnp_native_rule(dnp_module_find(here), here + 64, false, &listed));
	CHECK(dnp_native_rule_of_new(here + 64, false, &found));
	CHECK(dnp_rule_same(listed, found));
	CHECK(found.cfa != DNP_CFA_NONE);
	dnp_native_done();
}

TEST(memory_that_is_no_module_has_no_rule)
{
	struct dnp_rule rule;
	int on_the_stack;

	CHECK(!dnp_native_rule_of_new((uintptr_t)&on_the_stack, false, &rule));
	CHECK(!dnp_native_rule_of_new(16, false, &rule));
}
