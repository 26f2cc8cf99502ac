/* SPDX-License-Identifier: MIT */
/* Prologs, epilogs and their descriptions, made by hand: what each says is known. */
#include "test.h"

#include "base/clean.h"
#include "unwind/contract.h"
#include "unwind/x86_64/decode.h"
#include "unwind/x86_64/unwind_info.h"

#define CHECK_RULE(rule, cfa_, off_, bp_)                                                          \
	do {                                                                                       \
		CHECK_EQ((rule).cfa, cfa_);                                                        \
		CHECK_EQ((rule).off, off_);                                                        \
		CHECK_EQ(dnp_rule_offset((rule).bp_slot), bp_);                                    \
	} while (0)

/*
 * push rbp (ends at 1); push r15 (3); sub rsp, 0x28 (7); lea rbp, [rsp + 0x30] (12), which the
 * compiler does not describe unless rsp moves later.
 */
static const uint8_t framed_info[] = {
	1, 12, 3, 0, 7, 0x42, 3, 0xf0, 1, 0x50, 0, 0}; /* ALLOC_SMALL 4, PUSH r15, PUSH rbp */
static const uint8_t framed[] = {0x55, 0x41, 0x57, 0x48, 0x83, 0xec, 0x28, 0x48, 0x8d, 0x6c, 0x24,
	0x30, 0x90, 0x48, 0x83, 0xc4, 0x28, 0x41, 0x5f, 0x5d, 0xc3};

TEST(unwind_info_by_the_offset_in_the_prolog)
{
	static const struct {
		uint32_t offset;
		int32_t off;
		int bp;
	} want[] = {{0, 8, 0}, {1, 16, -16}, {2, 16, -16}, {3, 24, -16}, {7, 64, -16},
		{DNP_UNWIND_BODY, 64, -16}};
	struct dnp_rule rule;

	CHECK_EQ(dnp_unwind_info_prolog(framed_info), 12);
	for (size_t i = 0; i < DNP_ARRAY_SIZE(want); i++) {
		CHECK(dnp_unwind_info_rule(
			framed_info, sizeof(framed_info), want[i].offset, &rule));
		CHECK_RULE(rule, DNP_CFA_SP, want[i].off, want[i].bp);
	}
}

TEST(unwind_info_with_a_frame_register)
{
	/* push rbp; sub rsp, 0x100; lea rbp, [rsp + 0x80], of which 0x80 = 8 * 16. */
	static const uint8_t info[] = {1, 16, 4, 0x85, 16, 0x03, 8, 0x01, 0x20, 0, 1, 0x50};
	struct dnp_rule rule;

	CHECK(dnp_unwind_info_rule(info, sizeof(info), DNP_UNWIND_BODY, &rule));
	/* rbp = entry rsp - 8 - 0x100 + 0x80; CFA = entry rsp + 8 */
	CHECK_RULE(rule, DNP_CFA_BP, 0x90, -16);
	CHECK(dnp_unwind_info_rule(info, sizeof(info), 8, &rule));
	CHECK_RULE(rule, DNP_CFA_SP, 0x110, -16);
}

TEST(unwind_info_with_the_large_frame_register_of_unix)
{
	/* push rbp; sub rsp, 0x12340 (ALLOC_LARGE, 32 bits); lea rbp, [rsp + 0x12340]. */
	static const uint8_t info[] = {1, 24, 7, 0x05, 24, 0x0b, 0x34, 0x12, 0, 0, 9, 0x11, 0x40,
		0x23, 1, 0, 1, 0x50, 0, 0};
	struct dnp_rule rule;

	CHECK(dnp_unwind_info_rule(info, sizeof(info), DNP_UNWIND_BODY, &rule));
	CHECK_RULE(rule, DNP_CFA_BP, 16, -16);
	CHECK(dnp_unwind_info_rule(info, sizeof(info), 9, &rule));
	CHECK_RULE(rule, DNP_CFA_SP, 0x12340 + 16, -16);
}

TEST(unwind_info_that_is_damaged_is_refused)
{
	uint8_t info[sizeof(framed_info)];
	struct dnp_rule rule;

	for (size_t n = 0; n < DNP_UNWIND_INFO_HEADER + 6; n++)
		CHECK(!dnp_unwind_info_rule(framed_info, n, 0, &rule));
	memcpy(info, framed_info, sizeof(info));
	info[0] = 3; /* no such version */
	CHECK(!dnp_unwind_info_rule(info, sizeof(info), 0, &rule));
	info[0] = 1 | 4 << 3; /* chained */
	CHECK(!dnp_unwind_info_rule(info, sizeof(info), 0, &rule));
	memcpy(info, framed_info, sizeof(info));
	info[5] = 0x0d; /* no such code */
	CHECK(!dnp_unwind_info_rule(info, sizeof(info), 0, &rule));
	info[5] = 0x11; /* needs three slots and has three, and then no more */
	CHECK(dnp_unwind_info_rule(info, sizeof(info), 0, &rule));
	info[2] = 2;
	CHECK(!dnp_unwind_info_rule(info, sizeof(info), 0, &rule));
}

TEST(prolog_by_its_instructions)
{
	struct dnp_prolog prolog;
	struct dnp_rule rule;

	dnp_prolog_decode(framed, sizeof(framed), &prolog);
	CHECK_EQ(prolog.bytes, 12);
	CHECK_EQ(prolog.depth, 0x38);
	CHECK(prolog.sets_bp && prolog.bp_offset == 0x30);
	CHECK(dnp_prolog_rule(&prolog, &rule));
	CHECK_RULE(rule, DNP_CFA_BP, 16, -16);
	/* As far as it has run: nothing, the pushes, the allocation. */
	dnp_prolog_decode(framed, 0, &prolog);
	CHECK(dnp_prolog_rule(&prolog, &rule));
	CHECK_RULE(rule, DNP_CFA_SP, 8, 0);
	dnp_prolog_decode(framed, 3, &prolog);
	CHECK(dnp_prolog_rule(&prolog, &rule));
	CHECK_RULE(rule, DNP_CFA_SP, 24, -16);
	dnp_prolog_decode(framed, 7, &prolog);
	CHECK(dnp_prolog_rule(&prolog, &rule));
	CHECK_RULE(rule, DNP_CFA_SP, 64, -16);
}

TEST(prolog_of_other_kinds)
{
	static const uint8_t frameless[] = {0x48, 0x83, 0xec, 0x08, 0xe8, 0, 0, 0, 0};
	static const uint8_t osr[] = {0x48, 0x8b, 0x45, 0x00, 0x50, 0x48, 0x83, 0xec, 0x20};
	/* lea r11, [rsp - 0x5000]; call; mov rsp, r11 */
	static const uint8_t probed[] = {0x55, 0x4c, 0x8d, 0x9c, 0x24, 0x00, 0xb0, 0xff, 0xff, 0xe8,
		1, 2, 3, 4, 0x49, 0x8b, 0xe3, 0x90};
	/* vzeroupper; push rbp; mov rbp, rsp */
	static const uint8_t vector[] = {0xc5, 0xf8, 0x77, 0x55, 0x48, 0x8b, 0xec, 0x90};
	struct dnp_prolog prolog;
	struct dnp_rule rule;

	dnp_prolog_decode(frameless, sizeof(frameless), &prolog);
	CHECK(dnp_prolog_rule(&prolog, &rule));
	CHECK_RULE(rule, DNP_CFA_SP, 16, 0);
	dnp_prolog_decode(osr, sizeof(osr), &prolog);
	CHECK(prolog.osr && !dnp_prolog_rule(&prolog, &rule));
	dnp_prolog_decode(probed, sizeof(probed), &prolog);
	CHECK(dnp_prolog_rule(&prolog, &rule));
	CHECK_RULE(rule, DNP_CFA_SP, 0x5010, -16);
	dnp_prolog_decode(vector, sizeof(vector), &prolog);
	CHECK(dnp_prolog_rule(&prolog, &rule));
	CHECK_RULE(rule, DNP_CFA_BP, 16, -16);
}

/* As coreclr 8 and 9 begin handlers, there and on Windows. */
TEST(prolog_of_a_handler_takes_the_frame_of_its_method)
{
	static const uint8_t near[] = {
		0x48, 0x8b, 0x2f, 0x48, 0x89, 0x2c, 0x24, 0x48, 0x8d, 0x6d, 0x10, 0xc7, 0x45, 0xfc};
	/* mov rbp, [rcx + 0x20]; mov [rsp + 0x20], rbp; lea rbp, [rbp + 0x50] */
	static const uint8_t windows[] = {
		0x48, 0x8b, 0x69, 0x20, 0x48, 0x89, 0x6c, 0x24, 0x20, 0x48, 0x8d, 0x6d, 0x50};
	static const uint8_t far[] = {0x48, 0x8b, 0xaf, 0, 1, 0, 0, 0x48, 0x89, 0xac, 0x24, 0, 1, 0,
		0, 0x48, 0x8d, 0xad, 0, 2, 0, 0};
	static const uint8_t other[] = {0x48, 0x8b, 0x2f, 0x48, 0x89, 0x2c, 0x24, 0x90};

	CHECK_EQ(dnp_prolog_takes_frame(near, sizeof(near)), 11);
	CHECK_EQ(dnp_prolog_takes_frame(windows, sizeof(windows)), sizeof(windows));
	CHECK_EQ(dnp_prolog_takes_frame(far, sizeof(far)), DNP_TAKE_FRAME_MAX);
	CHECK_EQ(dnp_prolog_takes_frame(other, sizeof(other)), 0);
	for (size_t n = 0; n < 11; n++)
		CHECK_EQ(dnp_prolog_takes_frame(near, n), 0);
}

TEST(epilog_at_each_of_its_instructions)
{
	static const struct {
		size_t at;
		int32_t off;
		int bp;
	} want[] = {{13, 64, -16}, {17, 24, -16}, {19, 16, -16}, {20, 8, 0}};
	struct dnp_rule rule;

	for (size_t i = 0; i < DNP_ARRAY_SIZE(want); i++) {
		CHECK(dnp_epilog_rule(framed, sizeof(framed), 0x1000, want[i].at, &rule));
		CHECK_RULE(rule, DNP_CFA_SP, want[i].off, want[i].bp);
	}
	for (size_t at = 0; at < 13; at++)
		CHECK(!dnp_epilog_rule(framed, sizeof(framed), 0x1000, at, &rule) || at == 12);
	CHECK(!dnp_epilog_rule(framed, sizeof(framed), 0x1000, sizeof(framed), &rule));
}

TEST(epilog_from_the_frame_pointer_and_of_tail_calls)
{
	/* lea rsp, [rbp - 0x10]; pop rbx; pop r15; pop rbp; ret */
	static const uint8_t by_bp[] = {0x48, 0x8d, 0x65, 0xf0, 0x5b, 0x41, 0x5f, 0x5d, 0xc3};
	/* add rsp, 0x88; pop rbp; jmp far away */
	static const uint8_t tail[] = {
		0x48, 0x81, 0xc4, 0x88, 0, 0, 0, 0x5d, 0xe9, 0x00, 0x10, 0, 0};
	/* Nothing undone yet: rex.w jmp [rip + 0] is a tail call, jmp rax is a switch. */
	static const uint8_t jump[] = {0x48, 0xff, 0x25, 0, 0, 0, 0};
	static const uint8_t table[] = {0xff, 0xe0, 0x90};
	/* A loop: jmp to the function's own start. */
	static const uint8_t loop[] = {0x90, 0x90, 0xeb, 0xfc};
	struct dnp_rule rule;

	CHECK(dnp_epilog_rule(by_bp, sizeof(by_bp), 0x1000, 0, &rule));
	CHECK_RULE(rule, DNP_CFA_BP, 0x10, -16);
	CHECK(dnp_epilog_rule(by_bp, sizeof(by_bp), 0x1000, 4, &rule));
	CHECK_RULE(rule, DNP_CFA_SP, 32, -16);
	CHECK(dnp_epilog_rule(tail, sizeof(tail), 0x1000, 0, &rule));
	CHECK_RULE(rule, DNP_CFA_SP, 0x98, -16);
	CHECK(dnp_epilog_rule(jump, sizeof(jump), 0x1000, 0, &rule));
	CHECK_RULE(rule, DNP_CFA_SP, 8, 0);
	CHECK(!dnp_epilog_rule(table, sizeof(table), 0x1000, 0, &rule));
	CHECK(!dnp_epilog_rule(loop, sizeof(loop), 0x1000, 2, &rule));
}

TEST(calls_end_where_they_end)
{
	static const struct {
		uint8_t code[8];
		size_t n;
		bool is_call;
	} cases[] = {
		{{0xe8, 1, 2, 3, 4}, 5, true}, {{0xff, 0xd0}, 2, true}, /* call rax */
		{{0x41, 0xff, 0xd3}, 3, true},                          /* call r11 */
		{{0xff, 0x15, 1, 2, 3, 4}, 6, true},                    /* call [rip + x] */
		{{0xff, 0x50, 0x18}, 3, true},                          /* call [rax + 0x18] */
		{{0xff, 0x54, 0x24, 0x20}, 4, true},                    /* call [rsp + 0x20] */
		{{0xff, 0xe0}, 2, false},                               /* jmp rax */
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0x90}, 6, false},
		{{0xff, 0x15, 1, 2}, 4, false}, /* cut off */
	};

	for (size_t i = 0; i < DNP_ARRAY_SIZE(cases); i++)
		CHECK_EQ(dnp_behind_call(cases[i].code, cases[i].n), cases[i].is_call);
}

TEST(contract_of_the_runtime)
{
	static const char good[] = "{\"version\":0,\"types\":{\"CodeHeader\":{\"X\":1},"
				   "\"RealCodeHeader\":{\"MethodDesc\""
				   ":24,\"GCInfo\":16,\"NumUnwindInfos\":[32,\"uint32\"],"
				   "\"UnwindInfos\":36},\"Y\":{}}}";
	static const char lacking[] =
		"{\"types\":{\"RealCodeHeader\":{\"MethodDesc\":24},\"NumUnwindInfos\":{}}}";
	struct dnp_code_header_layout layout;

	CHECK(dnp_contract_parse(good, sizeof(good) - 1, &layout));
	CHECK_EQ(layout.method, 24);
	CHECK_EQ(layout.n_unwind_infos, 32);
	CHECK_EQ(layout.unwind_infos, 36);
	for (size_t n = 0; n < sizeof(good) - 10; n++)
		CHECK(!dnp_contract_parse(good, n, &layout));
	CHECK(!dnp_contract_parse(lacking, sizeof(lacking) - 1, &layout));
}
