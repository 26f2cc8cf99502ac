/* SPDX-License-Identifier: MIT */
/*
 * Rules of native code by the table that is made of a module, and by its image itself; and whether
 * they lead where the system's own unwinder does.
 */
#include "unwind/native.h"

#include <stdatomic.h>
#include <string.h>
#include <windows.h>

#include "base/clean.h"
#include "unwind/native_table.h"
#include "unwind/x86_64/unwind_info.h"

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

	CHECK(dnp_native_refresh() > 0);
	CHECK(compare(function, 211) > 100);
	CHECK(compare((uintptr_t)compare, 97) > 100);
	dnp_native_done();
}

static void check_ends(uintptr_t start)
{
	const struct dnp_elf_module *module = dnp_module_find(start);

	CHECK(module && module->thread_start == start);
	for (uintptr_t pc = start; pc < start + 16; pc++) {
		struct dnp_rule rule;

		CHECK(dnp_native_rule(module, pc, true, &rule));
		CHECK_EQ(rule.cfa, DNP_CFA_END);
		CHECK(dnp_native_rule_of_new(pc, false, &rule));
		CHECK_EQ(rule.cfa, DNP_CFA_END);
	}
}

TEST(code_that_threads_begin_in_has_no_caller)
{
	HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
	uintptr_t start = (uintptr_t)GetProcAddress(ntdll, "RtlUserThreadStart");

	CHECK(dnp_modules_refresh() > 0);
	check_ends(start);
	dnp_native_build(NULL);
	check_ends(start);
	dnp_native_done();
}

TEST(module_without_a_table_has_the_rules_of_its_image)
{
	uintptr_t here = (uintptr_t)compare;
	struct dnp_rule listed, found;

	CHECK(dnp_modules_refresh() > 0);
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

/* ---- A step, on a stack whose words are all different, and point into it */

#define WORDS 65536

static uintptr_t stack[WORDS];

struct step {
	uintptr_t pc, sp, bp;
};

static void fill_stack(void)
{
	for (size_t i = 0; i < WORDS; i++)
		stack[i] = (uintptr_t)&stack[(i * 40503) % WORDS];
}

static CONTEXT registers(uintptr_t pc)
{
	uintptr_t sp = (uintptr_t)&stack[WORDS / 4], other = (uintptr_t)&stack[WORDS / 2];

	return (CONTEXT){.Rip = pc, .Rsp = sp, .Rbp = other, .Rbx = other + 4096};
}

static bool load(uintptr_t address, uintptr_t *value)
{
	size_t at = (address - (uintptr_t)stack) / sizeof(*value);

	if (at >= WORDS)
		return false;
	*value = stack[at];
	return true;
}

static bool step_by_rule(struct dnp_rule rule, const CONTEXT *context, struct step *to)
{
	uintptr_t base = context->Rbx;

	if (rule.cfa == DNP_CFA_SP)
		base = context->Rsp;
	else if (rule.cfa == DNP_CFA_BP)
		base = context->Rbp;
	to->sp = base + (uintptr_t)(intptr_t)rule.off;
	to->bp = context->Rbp;
	return load(to->sp - 8, &to->pc) &&
		(!rule.bp_slot || load(to->sp + (uintptr_t)dnp_rule_offset(rule.bp_slot), &to->bp));
}

static struct step step_by_system(uintptr_t image, RUNTIME_FUNCTION *function, CONTEXT context)
{
	uint64_t frame;
	void *data;

	RtlVirtualUnwind(
		UNW_FLAG_NHANDLER, image, context.Rip, function, &context, &data, &frame, NULL);
	return (struct step){context.Rip, context.Rsp, context.Rbp};
}

/* Whether it could be compared: there are frames that nobody leaves without more registers. */
static bool compare_step(
	const struct dnp_elf_module *module, RUNTIME_FUNCTION *function, uintptr_t pc)
{
	CONTEXT context = registers(pc);
	struct step ours, theirs;
	struct dnp_rule rule;

	CHECK(dnp_native_rule(module, pc, true, &rule));
	if (rule.cfa == DNP_CFA_NONE || !step_by_rule(rule, &context, &ours))
		return false;
	theirs = step_by_system(module->bias, function, context);
	CHECK_EQ(ours.pc, theirs.pc);
	CHECK_EQ(ours.sp, theirs.sp);
	CHECK_EQ(ours.bp, theirs.bp);
	return true;
}

/* At the first instruction of each function, and behind its prolog. */
static void compare_with_system(uintptr_t inside)
{
	const struct dnp_elf_module *module = dnp_module_find(inside);
	RUNTIME_FUNCTION *functions;
	size_t n, compared = 0;

	CHECK(module);
	functions = (RUNTIME_FUNCTION *)module->functions;
	n = module->functions_bytes / sizeof(*functions);
	while (n && !functions[n - 1].BeginAddress)
		n--;
	for (size_t i = 0; i < n; i++) {
		uintptr_t begin = module->bias + functions[i].BeginAddress;
		const uint8_t *info = (const uint8_t *)(module->bias + functions[i].UnwindData);

		compared += compare_step(module, &functions[i], begin);
		compared +=
			compare_step(module, &functions[i], begin + dnp_unwind_info_prolog(info));
	}
	CHECK(compared > n);
}

TEST(rules_lead_where_the_system_unwinds)
{
	HMODULE kernel = GetModuleHandleW(L"kernel32.dll");

	fill_stack();
	CHECK(dnp_native_refresh() > 0);
	compare_with_system((uintptr_t)GetProcAddress(kernel, "CreateFileW"));
	compare_with_system((uintptr_t)compare);
	dnp_native_done();
}

/* ---- What this compiler does not make: an image by hand */

#define A_BEGIN 0x100u
#define A_END   0x113u
#define A_INFO  0x400u

static _Alignas(16) uint8_t image[4096];

static void put(size_t at, const void *bytes, size_t n)
{
	memcpy(image + at, bytes, n);
}

static struct dnp_elf_module make_image(void)
{
	static const uint8_t a[] = {0x48, 0x83, 0xec, 0x28,    /* 100: sub rsp, 28h */
		0x90,                                          /* 104: nop */
		0xe9, 0xf6, 0, 0, 0,                           /* 105: jmp 200 */
		0x48, 0x83, 0xc4, 0x28,                        /* 10a: add rsp, 28h */
		0xe9, 0xed, 1, 0, 0};                          /* 10e: jmp 300 */
	static const uint8_t b[] = {0x90,                      /* 200: nop */
		0xe9, 4, 0xff, 0xff, 0xff};                    /* 201: jmp 10a */
	static const uint8_t c[] = {0x48, 0x89, 0x6c, 0x24, 8, /* 300: mov [rsp + 8], rbp */
		0x48, 0x83, 0xec, 0x28,                        /* 305: sub rsp, 28h */
		0x31, 0xed,                                    /* 309: xor ebp, ebp */
		0x48, 0x8b, 0x6c, 0x24, 0x30,                  /* 30b: mov rbp, [rsp + 30h] */
		0x48, 0x83, 0xc4, 0x28,                        /* 310: add rsp, 28h */
		0xc3};                                         /* 314: ret */
	static const uint8_t a_info[] = {1, 4, 1, 0, 4, 0x42}, b_info[] = {0x21, 0, 0, 0},
			     c_info[] = {1, 9, 3, 0, 9, 0x54, 6, 0, 9, 0x42};
	static const RUNTIME_FUNCTION functions[] = {
		{A_BEGIN, A_END, A_INFO}, {0x200, 0x206, 0x410}, {0x300, 0x315, 0x420}};

	put(A_BEGIN, a, sizeof(a));
	put(0x200, b, sizeof(b));
	put(0x300, c, sizeof(c));
	put(A_INFO, a_info, sizeof(a_info));
	put(0x410, b_info, sizeof(b_info)); /* goes on with A's */
	put(0x414, &functions[0], sizeof(functions[0]));
	put(0x420, c_info, sizeof(c_info));
	put(0x500, functions, sizeof(functions));
	return (struct dnp_elf_module){.low = (uintptr_t)image,
		.high = (uintptr_t)image + sizeof(image),
		.bias = (uintptr_t)image,
		.functions = (uintptr_t)image + 0x500,
		.functions_bytes = sizeof(functions),
		.image_bytes = sizeof(image)};
}

static void check_image(const struct dnp_elf_module *module)
{
	static const struct {
		unsigned at;
		int off;    /* from the stack pointer to the CFA */
		bool saved; /* rbp, in the word at the CFA */
	} want[] = {{0x100, 8, false}, {0x104, 0x30, false}, {0x105, 0x30, false},
		{0x10a, 0x30, false}, {0x10e, 8, false}, {0x200, 0x30, false}, {0x201, 0x30, false},
		{0x300, 8, false}, {0x309, 0x30, true}, {0x30b, 0x30, true}, {0x310, 0x30, false},
		{0x314, 8, false}};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(want); i++) {
		CONTEXT context = registers(module->bias + want[i].at);
		struct dnp_rule rule;
		struct step to;

		CHECK(dnp_native_rule(module, context.Rip, true, &rule));
		CHECK_EQ(rule.cfa, DNP_CFA_SP);
		CHECK_EQ(rule.off, want[i].off);
		CHECK(step_by_rule(rule, &context, &to));
		CHECK_EQ(to.bp, want[i].saved ? *(uintptr_t *)to.sp : context.Rbp);
	}
}

TEST(functions_in_pieces_and_registers_in_the_room_that_callers_make)
{
	struct dnp_elf_module module = make_image();
	struct dnp_native_stats stats = {0};
	void *table;

	fill_stack();
	check_image(&module); /* as it is … */
	table = dnp_native_table_make(&module, &stats, NULL);
	CHECK(table);
	atomic_store(&module.unwind, table);
	check_image(&module); /* … and by its table */
	dnp_native_table_free(table, &stats);
}
