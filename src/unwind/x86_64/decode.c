/* SPDX-License-Identifier: MIT */
#include "unwind/x86_64/decode.h"

#include <string.h>

struct code {
	const uint8_t *p;
	size_t n; /* bytes from p on */
};

SIGSAFE static bool starts(const struct code *c, const char *bytes, size_t n)
{
	return c->n >= n && memcmp(c->p, bytes, n) == 0;
}

#define STARTS(c, bytes) starts((c), bytes, sizeof(bytes) - 1)

SIGSAFE static void pass(struct code *c, size_t n)
{
	c->p += n;
	c->n -= n;
}

SIGSAFE static int32_t imm32(const uint8_t *p)
{
	int32_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

/*
 * An instruction that is `prefix` and then an 8 or a 32 bit number, told apart by the prefix. Steps
 * over it.
 */
SIGSAFE static bool take_imm8(struct code *c, const char *prefix, size_t n, int32_t *value)
{
	if (!starts(c, prefix, n) || c->n < n + 1)
		return false;
	*value = (int8_t)c->p[n];
	pass(c, n + 1);
	return true;
}

SIGSAFE static bool take_imm32(struct code *c, const char *prefix, size_t n, int32_t *value)
{
	if (!starts(c, prefix, n) || c->n < n + 4)
		return false;
	*value = imm32(c->p + n);
	pass(c, n + 4);
	return true;
}

#define TAKE_IMM8(c, prefix, value)  take_imm8((c), prefix, sizeof(prefix) - 1, (value))
#define TAKE_IMM32(c, prefix, value) take_imm32((c), prefix, sizeof(prefix) - 1, (value))

SIGSAFE static bool take(struct code *c, const char *bytes, size_t n)
{
	if (!starts(c, bytes, n))
		return false;
	pass(c, n);
	return true;
}

#define TAKE(c, bytes) take((c), bytes, sizeof(bytes) - 1)

enum { RBP = 5 };

/* push (opcode 50) or pop (58) of any register; *reg is its number. */
SIGSAFE static bool take_push_pop(struct code *c, unsigned opcode, unsigned *reg)
{
	if (c->n >= 1 && (c->p[0] & 0xf8) == opcode) {
		*reg = c->p[0] & 7;
		pass(c, 1);
		return true;
	}
	if (c->n >= 2 && c->p[0] == 0x41 && (c->p[1] & 0xf8) == opcode) {
		*reg = 8 + (c->p[1] & 7);
		pass(c, 2);
		return true;
	}
	return false;
}

#define VZEROUPPER "\xc5\xf8\x77"

/* ---- Prologs */

/* Touching the pages of a big frame changes nothing: test [rsp], eax and [rsp + disp], eax. */
SIGSAFE static bool take_touch(struct code *c)
{
	int32_t ignored;

	return TAKE(c, "\x85\x04\x24") || TAKE(c, "\x48\x85\x04\x24") ||
		TAKE_IMM8(c, "\x85\x44\x24", &ignored) || TAKE_IMM32(c, "\x85\x84\x24", &ignored);
}

/* lea r11, [rsp - size]; call the probe helper; mov rsp, r11 */
SIGSAFE static bool take_probe(struct code *c, int32_t *size)
{
	struct code at = *c;
	int32_t offset, target;

	if (!TAKE_IMM32(&at, "\x4c\x8d\x9c\x24", &offset) ||
		(!TAKE_IMM32(&at, "\xe8", &target) && !TAKE_IMM32(&at, "\xff\x15", &target)) ||
		!TAKE(&at, "\x49\x8b\xe3") || offset == INT32_MIN)
		return false;
	*size = -offset;
	*c = at;
	return true;
}

/* lea rbp, [rsp + disp]; mov rbp, rsp in both of its encodings */
SIGSAFE static bool take_set_bp(struct code *c, int32_t *offset)
{
	*offset = 0;
	return TAKE_IMM8(c, "\x48\x8d\x6c\x24", offset) ||
		TAKE_IMM32(c, "\x48\x8d\xac\x24", offset) || TAKE(c, "\x48\x8b\xec") ||
		TAKE(c, "\x48\x89\xe5");
}

#define FRAME_BYTES_MAX (1 << 30)

SIGSAFE void dnp_prolog_decode(const uint8_t *code, size_t n, struct dnp_prolog *prolog)
{
	struct code c = {code, n};
	int32_t value;
	unsigned reg;

	memset(prolog, 0, sizeof(*prolog));
	if (TAKE(&c, "\x48\x8b\x45\x00\x50")) { /* mov rax, [rbp]; push rax */
		prolog->osr = true;
		prolog->depth = prolog->bp_depth = 8;
	}
	while (prolog->depth >= 0 && prolog->depth < FRAME_BYTES_MAX) {
		if (take_push_pop(&c, 0x50, &reg)) {
			prolog->depth += 8;
			if (reg == RBP)
				prolog->bp_depth = prolog->depth;
		} else if (TAKE_IMM8(&c, "\x48\x83\xec", &value) ||
			TAKE_IMM32(&c, "\x48\x81\xec", &value) || take_probe(&c, &value)) {
			if (value < 0 || value > FRAME_BYTES_MAX)
				break;
			prolog->depth += value;
		} else if (take_set_bp(&c, &prolog->bp_offset)) {
			prolog->sets_bp = true;
			prolog->bp_at = prolog->depth;
			break;
		} else if (!TAKE(&c, VZEROUPPER) && !take_touch(&c)) {
			break;
		}
	}
	prolog->bytes = (uint32_t)(n - c.n);
}

/* mov rbp, [rdi or rcx + disp]; mov [rsp + disp], rbp; lea rbp, [rbp + disp] */
SIGSAFE uint32_t dnp_prolog_takes_frame(const uint8_t *code, size_t n)
{
	struct code c = {code, n};
	int32_t ignored;

	if (!TAKE(&c, "\x48\x8b\x2f") && !TAKE(&c, "\x48\x8b\x29") &&
		!TAKE_IMM8(&c, "\x48\x8b\x6f", &ignored) &&
		!TAKE_IMM8(&c, "\x48\x8b\x69", &ignored) &&
		!TAKE_IMM32(&c, "\x48\x8b\xaf", &ignored) &&
		!TAKE_IMM32(&c, "\x48\x8b\xa9", &ignored))
		return 0;
	if (!TAKE(&c, "\x48\x89\x2c\x24") && !TAKE_IMM8(&c, "\x48\x89\x6c\x24", &ignored) &&
		!TAKE_IMM32(&c, "\x48\x89\xac\x24", &ignored))
		return 0;
	if (!TAKE_IMM8(&c, "\x48\x8d\x6d", &ignored) && !TAKE_IMM32(&c, "\x48\x8d\xad", &ignored))
		return 0;
	return (uint32_t)(n - c.n);
}

#define ENDBR64 "\xf3\x0f\x1e\xfa"

/* mov, xor and test between registers, with or without a prefix. */
SIGSAFE static bool take_register_work(struct code *c)
{
	size_t prefix = c->n >= 1 && (c->p[0] & 0xf0) == 0x40;

	if (c->n < prefix + 2 || c->p[prefix + 1] < 0xc0 ||
		!memchr("\x89\x8b\x31\x33\x85", c->p[prefix], 5))
		return false;
	pass(c, prefix + 2);
	return true;
}

SIGSAFE bool dnp_prolog_below_bp(const uint8_t *code, size_t n, int32_t *bytes)
{
	struct code c = {code, n};
	int32_t value, depth = 0;
	bool set = false;
	unsigned reg;

	TAKE(&c, ENDBR64);
	while (depth >= 0 && depth < FRAME_BYTES_MAX) {
		if (TAKE(&c, "\x48\x89\xe5") || TAKE(&c, "\x48\x8b\xec")) {
			set = true;
			depth = 0;
		} else if (take_push_pop(&c, 0x50, &reg)) {
			depth += 8;
		} else if (TAKE_IMM8(&c, "\x48\x83\xec", &value) ||
			TAKE_IMM32(&c, "\x48\x81\xec", &value)) {
			if (value < 0 || value > FRAME_BYTES_MAX)
				break;
			depth += value;
		} else if (!take_register_work(&c)) {
			break;
		}
	}
	*bytes = depth;
	return set;
}

SIGSAFE bool dnp_prolog_rule(const struct dnp_prolog *prolog, struct dnp_rule *rule)
{
	if (prolog->osr || prolog->depth < 0 || prolog->depth >= FRAME_BYTES_MAX)
		return false;
	*rule = (struct dnp_rule){.cfa = DNP_CFA_SP, .off = prolog->depth + 8};
	if (prolog->sets_bp && prolog->bp_offset >= 0 && prolog->bp_offset <= prolog->bp_at) {
		rule->cfa = DNP_CFA_BP;
		rule->off = prolog->bp_at - prolog->bp_offset + 8;
	}
	return !prolog->bp_depth || dnp_rule_set_bp(rule, -8 - (int64_t)prolog->bp_depth);
}

SIGSAFE bool dnp_rule_by_bp(
	const struct dnp_rule *body, const struct dnp_prolog *prolog, struct dnp_rule *leave)
{
	*leave = *body;
	if (leave->cfa == DNP_CFA_BP)
		return leave->bp_slot != 0;
	if (leave->cfa != DNP_CFA_SP || !prolog->sets_bp || !leave->bp_slot)
		return false;
	leave->cfa = DNP_CFA_BP;
	leave->off -= prolog->bp_offset;
	return true;
}

/* ---- Epilogs */

struct epilog {
	int64_t depth;    /* bytes from the base up to here */
	int64_t bp_depth; /* where rbp was popped from; -1: not yet */
	bool with_bp;     /* the base is rbp, not rsp */
	bool moved;       /* something of the frame is undone, so this is an epilog or nothing */
};

/* Undoing the body's allocation comes first, if at all: add rsp, n or lea rsp, [rbp + n]. */
SIGSAFE static bool take_release(struct code *c, struct epilog *e)
{
	int32_t value;

	if (TAKE_IMM8(c, "\x48\x83\xc4", &value) || TAKE_IMM32(c, "\x48\x81\xc4", &value)) {
		e->depth = value;
		return true;
	}
	if (TAKE_IMM8(c, "\x48\x8d\x65", &value) || TAKE_IMM32(c, "\x48\x8d\xa5", &value)) {
		e->depth = value;
		e->with_bp = true;
		return true;
	}
	return false;
}

SIGSAFE static bool take_undo(struct code *c, struct epilog *e)
{
	unsigned reg;

	if (!e->moved && take_release(c, e)) {
		e->moved = true;
		return true;
	}
	if (take_push_pop(c, 0x58, &reg)) {
		if (reg == RBP)
			e->bp_depth = e->depth;
		e->depth += 8;
		e->moved = true;
		return true;
	}
	if (TAKE(c, "\xc9")) { /* leave */
		*e = (struct epilog){.depth = 8, .with_bp = true, .moved = true};
		return true;
	}
	return TAKE(c, VZEROUPPER);
}

SIGSAFE static bool is_jump(uint8_t modrm)
{
	return (modrm & 0x38) == 0x20;
}

SIGSAFE bool dnp_jump_target(const uint8_t *code, size_t n, uintptr_t here, uintptr_t *target)
{
	if (n >= 5 && code[0] == 0xe9)
		*target = here + 5 + (uintptr_t)(intptr_t)imm32(code + 1);
	else if (n >= 2 && code[0] == 0xeb)
		*target = here + 2 + (uintptr_t)(intptr_t)(int8_t)code[1];
	else
		return false;
	return true;
}

/* A direct jump out of the function. */
SIGSAFE static bool jumps_out(const struct code *c, uintptr_t here, uintptr_t begin, size_t n)
{
	uintptr_t target;

	return dnp_jump_target(c->p, c->n, here, &target) && target - begin >= n;
}

/*
 * A tail call. Where nothing is undone yet (a frameless method, or the last instruction of an
 * epilog) only forms count that the compiler never uses for a jump inside of a method.
 */
SIGSAFE static bool is_tail_call(
	const struct code *c, bool moved, uintptr_t here, uintptr_t begin, size_t n)
{
	if (STARTS(c, "\xff\x25") || jumps_out(c, here, begin, n))
		return true;
	if (c->n >= 3 && (c->p[0] == 0x48 || c->p[0] == 0x49) && c->p[1] == 0xff &&
		is_jump(c->p[2]))
		return true;
	if (!moved)
		return false;
	return (c->n >= 1 && c->p[0] == 0xe9) ||
		(c->n >= 2 && c->p[0] == 0xff && is_jump(c->p[1])) ||
		(c->n >= 3 && c->p[0] == 0x41 && c->p[1] == 0xff && is_jump(c->p[2]));
}

#define EPILOG_INSTRUCTIONS_MAX 16

SIGSAFE bool dnp_epilog_rule_here(const uint8_t *rest, size_t n_rest, uintptr_t here,
	uintptr_t begin, size_t n, struct dnp_rule *rule)
{
	struct epilog e = {.bp_depth = -1};
	struct code c = {rest, n_rest};

	for (int i = 0; i < EPILOG_INSTRUCTIONS_MAX && take_undo(&c, &e); i++)
		;
	if (!STARTS(&c, "\xc3") && !STARTS(&c, "\xf3\xc3") && !STARTS(&c, "\xc2") &&
		!is_tail_call(&c, e.moved, here + (n_rest - c.n), begin, n))
		return false;
	*rule = (struct dnp_rule){
		.cfa = e.with_bp ? DNP_CFA_BP : DNP_CFA_SP, .off = (int32_t)(e.depth + 8)};
	if (e.depth < INT32_MIN / 2 || e.depth > INT32_MAX / 2)
		return false;
	return e.bp_depth < 0 || dnp_rule_set_bp(rule, e.bp_depth - e.depth - 8);
}

SIGSAFE bool dnp_epilog_rule(
	const uint8_t *code, size_t n, uintptr_t address, size_t at, struct dnp_rule *rule)
{
	return at < n && dnp_epilog_rule_here(code + at, n - at, address + at, address, n, rule);
}

/* ---- Calls */

SIGSAFE static bool is_call(uint8_t modrm)
{
	return (modrm & 0x38) == 0x10;
}

/* Bytes of `ff /2` with this addressing mode, without prefixes. */
SIGSAFE static size_t call_bytes(uint8_t modrm, uint8_t sib)
{
	size_t bytes = 2;

	if (modrm >> 6 == 3)
		return bytes;
	if ((modrm & 7) == 4) {
		bytes++;
		if (modrm >> 6 == 0 && (sib & 7) == RBP)
			bytes += 4;
	}
	if (modrm >> 6 == 1)
		bytes += 1;
	else if (modrm >> 6 == 2 || (modrm & 0xc7) == RBP)
		bytes += 4;
	return bytes;
}

SIGSAFE bool dnp_behind_call(const uint8_t *code, size_t n)
{
	if (n >= 5 && code[n - 5] == 0xe8)
		return true;
	for (size_t bytes = 2; bytes <= 7 && bytes <= n; bytes++) {
		const uint8_t *p = code + n - bytes;

		if (p[0] == 0xff && is_call(p[1]) &&
			call_bytes(p[1], bytes > 2 ? p[2] : 0) == bytes)
			return true;
	}
	return false;
}
