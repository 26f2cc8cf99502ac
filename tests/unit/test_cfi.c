/* SPDX-License-Identifier: MIT */
/*
 * The tables of real libraries against libunwind: both step from the same made-up registers over a
 * made-up stack, in which every word is different, so that the word they come back to tells which
 * canonical frame address they found.
 */
#include "test.h"

#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <libunwind.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "os/clock.h"
#include "os/x86_64/context.h"
#include "unwind/cfi.h"
#include "unwind/native.h"

#define STACK_WORDS 0x4000

static alignas(64) uintptr_t stack[STACK_WORDS];

/* No code and no stack is there. */
static uintptr_t word_at(size_t i)
{
	return UINT64_C(0x0123000000000000) + i * 16;
}

static void make_stack(ucontext_t *context, uintptr_t pc)
{
	greg_t *r = context->uc_mcontext.gregs;
	uintptr_t middle = (uintptr_t)&stack[STACK_WORDS / 2];

	for (size_t i = 0; i < STACK_WORDS; i++)
		stack[i] = word_at(i);
	getcontext(context);
	r[REG_RIP] = (greg_t)pc;
	r[REG_RSP] = (greg_t)middle;
	r[REG_RBP] = (greg_t)(middle + 0x800);
	r[REG_RBX] = (greg_t)(middle + 0x1000);
	r[REG_RCX] = (greg_t)(middle + 0x1400);
	r[REG_R10] = (greg_t)(middle + 0x1800);
	r[REG_R11] = (greg_t)(middle + 0x1c00);
}

struct outcome {
	uintptr_t pc, bp;
};

/* False when libunwind has no answer. */
static bool step_by_libunwind(ucontext_t *context, struct outcome *out)
{
	unw_cursor_t cursor;
	unw_word_t pc, bp;

	if (unw_init_local2(&cursor, context, UNW_INIT_SIGNAL_FRAME) < 0 || unw_step(&cursor) < 0)
		return false;
	if (unw_get_reg(&cursor, UNW_X86_64_RIP, &pc) < 0 ||
		unw_get_reg(&cursor, UNW_X86_64_RBP, &bp) < 0)
		return false;
	*out = (struct outcome){pc, bp};
	return true;
}

static bool load(uintptr_t address, uintptr_t *value)
{
	if (address - (uintptr_t)stack > sizeof(stack) - sizeof(*value))
		return false;
	memcpy(value, (const void *)address, sizeof(*value));
	return true;
}

/* False where the rule is none of the usual ones. */
static bool step_by_rule(const struct dnp_regs *regs, struct dnp_rule rule, struct outcome *out)
{
	uintptr_t off = (uintptr_t)(intptr_t)rule.off, cfa;

	if (rule.cfa == DNP_CFA_JUMP && rule.off == DNP_JUMP_CX) {
		*out = (struct outcome){.pc = regs->cx, .bp = regs->bp};
		return true;
	}
	if (rule.cfa == DNP_CFA_SP)
		cfa = regs->sp + off;
	else if (rule.cfa == DNP_CFA_BP)
		cfa = regs->bp + off;
	else if (rule.cfa == DNP_CFA_BX)
		cfa = regs->bx + off;
	else if (rule.cfa == DNP_CFA_CX)
		cfa = regs->cx + off;
	else if (rule.cfa == DNP_CFA_R10)
		cfa = regs->r10 + off;
	else if (rule.cfa == DNP_CFA_R11)
		cfa = regs->r11 + off;
	else
		return false;
	out->bp = regs->bp;
	if (rule.bp_slot && !load(cfa + (uintptr_t)dnp_rule_offset(rule.bp_slot), &out->bp))
		return false;
	if (rule.bp_at && !load(regs->bp, &out->bp))
		return false;
	return load(cfa - 8, &out->pc);
}

/* libunwind opens a pipe at its first step and keeps it: not in a test, whose descriptors count. */
__attribute__((constructor)) static void open_libunwind(void)
{
	struct outcome ignored;
	ucontext_t context;

	make_stack(&context, (uintptr_t)&qsort);
	step_by_libunwind(&context, &ignored);
}

static struct dnp_elf_module *module_of(const void *code)
{
	CHECK(dnp_native_refresh() >= 0);
	return dnp_module_find((uintptr_t)code);
}

#define PLACES_MAX 6000

/*
 * Places where a rule begins to hold, and the byte before it (but for the padding before a
 * function, of which libunwind knows nothing), spread over the module.
 */
static void compare(const struct dnp_elf_module *module)
{
	const struct dnp_cfi *table = module ? module->unwind : NULL;
	uint32_t step, compared = 0, silent = 0, different = 0;

	CHECK(table);
	step = table->rows / (PLACES_MAX / 2) + 1;

	for (uint32_t i = 1; i < table->rows; i += step) {
		uint32_t inside = table->ids[i] & DNP_CFI_FUNCTION ? 0 : 1;

		for (uint32_t before = 0; before <= inside; before++) {
			uintptr_t pc = module->low + table->offsets[i] - before;
			struct outcome theirs, ours;
			struct dnp_regs regs;
			struct dnp_rule rule;
			ucontext_t context;
			uint64_t start;

			make_stack(&context, pc);
			regs = dnp_regs_of(&context);
			if (!dnp_native_function(module, pc, &start))
				continue; /* it says nothing of that, libunwind guesses */
			CHECK(dnp_native_rule(module, pc, true, &rule));
			if (!step_by_rule(&regs, rule, &ours))
				continue;
			if (!step_by_libunwind(&context, &theirs)) {
				silent++;
				continue;
			}
			compared++;
			if (ours.pc != theirs.pc || ours.bp != theirs.bp) {
				if (different++ < 5)
					printf("# %s+%#lx: pc %#lx not %#lx, bp %#lx not %#lx\n",
						module->path, pc - module->bias, ours.pc, theirs.pc,
						ours.bp, theirs.bp);
			}
		}
	}
	printf("# %s: %u rows, %u compared, %u without an answer\n", module->path, table->rows,
		compared, silent);
	CHECK_EQ(different, 0);
	CHECK(compared > 100);
	CHECK(silent * 100 < compared);
}

TEST(cfi_of_libc_is_what_libunwind_says)
{
	/* One that no sanitizer puts its own in front of. */
	compare(module_of(dlsym(RTLD_DEFAULT, "gnu_get_libc_version")));
}

static void compare_library(const char *name, const char *symbol)
{
	void *library = dlopen(name, RTLD_NOW);

	if (!library)
		SKIP("the library is not installed");
	compare(module_of(dlsym(library, symbol)));
	dlclose(library);
}

TEST(cfi_of_libm_is_what_libunwind_says)
{
	compare_library("libm.so.6", "exp2");
}

TEST(cfi_of_libstdcxx_is_what_libunwind_says)
{
	compare_library("libstdc++.so.6", "_ZSt9terminatev");
}

/* Its functions that end where an exception is caught. */
TEST(cfi_of_libgcc_is_what_libunwind_says)
{
	compare_library("libgcc_s.so.1", "_Unwind_RaiseException");
}

TEST(cfi_of_the_dynamic_linker_is_what_libunwind_says)
{
	compare(module_of(dlsym(RTLD_DEFAULT, "_dl_mcount")));
}

/* As gcc begins a function with a large frame under -fstack-clash-protection. */
extern const char probing_function[], probing_loop[], probing_end[];
__asm__(".pushsection .text\n"
	".type probing_function, @function\n"
	"probing_function:\n"
	"	.cfi_startproc\n"
	"	lea	-0x8000(%rsp), %r11\n"
	"	.cfi_def_cfa %r11, 0x8008\n"
	"probing_loop:\n"
	"	sub	$0x1000, %rsp\n"
	"	orq	$0, (%rsp)\n"
	"	cmp	%r11, %rsp\n"
	"	jne	probing_loop\n"
	"probing_end:\n"
	"	.cfi_def_cfa_register %rsp\n"
	"	add	$0x8000, %rsp\n"
	"	.cfi_def_cfa_offset 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".popsection\n");

TEST(cfi_of_a_prolog_that_probes_its_frame)
{
	const struct dnp_elf_module *module = module_of(probing_function);
	struct dnp_rule rule;

	CHECK(dnp_native_rule(module, (uintptr_t)probing_function, true, &rule));
	CHECK_EQ(rule.cfa, DNP_CFA_SP);
	for (const char *pc = probing_loop; pc < probing_end; pc++) {
		CHECK(dnp_native_rule(module, (uintptr_t)pc, true, &rule));
		CHECK_EQ(rule.cfa, DNP_CFA_R11);
		CHECK_EQ(rule.off, 0x8008);
	}
	CHECK(dnp_native_rule(module, (uintptr_t)probing_end, true, &rule));
	CHECK_EQ(rule.cfa, DNP_CFA_SP);
	CHECK_EQ(rule.off, 0x8008);
	dnp_native_done();
}

TEST(cfi_tells_where_functions_begin)
{
	static const char *const names[] = {"qsort", "printf", "malloc", "fopen", "strtod"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uintptr_t begin = (uintptr_t)dlsym(RTLD_DEFAULT, names[i]);
		const struct dnp_elf_module *module = module_of((const void *)begin);
		uint64_t start;

		for (uintptr_t pc = begin; pc < begin + 16; pc++) {
			CHECK(dnp_native_function(module, pc, &start));
			CHECK_EQ(start + module->bias, begin);
		}
	}
}

TEST(cfi_of_libraries_that_come_and_go)
{
	void *library = dlopen("libm.so.6", RTLD_NOW);
	struct dnp_elf_module *module;
	uint64_t then_ns;
	uintptr_t code;
	char path[256];

	if (!library)
		SKIP("libm.so.6 is not installed");
	code = (uintptr_t)dlsym(library, "exp2");
	module = module_of((const void *)code);
	CHECK(module && module->unwind && module->build_id_bytes);
	snprintf(path, sizeof(path), "%s", module->path);
	CHECK_EQ(dnp_native_refresh(), 0);
	then_ns = dnp_now_ns();
	dlclose(library);
	if (dnp_native_refresh() == 0)
		SKIP("something else keeps libm.so.6 loaded");
	CHECK(!dnp_module_find(code));
	/* A sample from before may still ask. */
	CHECK(dnp_module_find_at(code, then_ns));
	CHECK_STR(dnp_module_find_at(code, then_ns)->path, path);
	CHECK(!dnp_module_find_at(code, UINT64_MAX));
	dnp_native_reclaim(UINT64_MAX);
	CHECK(!dnp_module_find_at(code, then_ns));
	dnp_native_done();
}
