/* SPDX-License-Identifier: MIT */
/*
 * What managed code does to its frame, read from its instructions (x86-64, as CoreCLR's compiler
 * writes them). Epilogs have no other description; prologs have UNWIND_INFO, which may be out of
 * reach.
 */
#ifndef DNP_UNWIND_X86_64_DECODE_H
#define DNP_UNWIND_X86_64_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "os/x86_64/rule.h"

struct dnp_prolog {
	uint32_t bytes;   /* of the instructions understood */
	int32_t depth;    /* bytes pushed and allocated */
	int32_t bp_depth; /* depth after rbp was pushed, 0: it is not saved */
	bool sets_bp;     /* rbp = rsp + bp_offset when `depth` was bp_at */
	int32_t bp_offset, bp_at;
	bool osr; /* begins on top of the tier-0 frame, whose size is not known here */
};

/* Decodes up to the first instruction that is no part of a prolog, or n bytes. */
SIGSAFE void dnp_prolog_decode(const uint8_t *code, size_t n, struct dnp_prolog *prolog);

/*
 * Behind the prolog of a handler: bytes of the instructions that take over the frame of its method,
 * which is in rbp only when they have all run (coreclr 8, 9; later rbp is there from the start).
 * 0: these are others. DNP_TAKE_FRAME_MAX of them are enough.
 */
#define DNP_TAKE_FRAME_MAX 22
SIGSAFE uint32_t dnp_prolog_takes_frame(const uint8_t *code, size_t n);

/*
 * Of native code that keeps its frame in rbp: how many bytes lie between the stack pointer behind
 * the prolog and where rbp points. Instructions that only copy registers are passed over, so it is
 * a guess where compilers mix prolog and body. False: it does not set rbp up.
 */
SIGSAFE bool dnp_prolog_below_bp(const uint8_t *code, size_t n, int32_t *bytes);

/* The rule behind a prolog (or behind the part of it that was decoded). */
SIGSAFE bool dnp_prolog_rule(const struct dnp_prolog *prolog, struct dnp_rule *rule);

/*
 * The rule of a method's frame in terms of rbp, which its catch handlers have too; false when rbp
 * is not its frame register. Mostly rbp + 16, but an OSR method's frame contains the one of the
 * tier-0 code that it replaced.
 */
SIGSAFE bool dnp_rule_by_bp(
	const struct dnp_rule *body, const struct dnp_prolog *prolog, struct dnp_rule *leave);

/*
 * If the instructions from `at` on are the rest of an epilog (up to the return or a tail call), the
 * rule there. The function's code is n bytes at `code`, for the process at `address`.
 */
SIGSAFE bool dnp_epilog_rule(
	const uint8_t *code, size_t n, uintptr_t address, size_t at, struct dnp_rule *rule);

/*
 * The same, from the instructions alone that are left: n_rest bytes at `rest`, for the process at
 * `here`, of the n bytes of code at `begin`. DNP_EPILOG_BYTES_MAX of them are enough.
 */
#define DNP_EPILOG_BYTES_MAX 128
SIGSAFE bool dnp_epilog_rule_here(const uint8_t *rest, size_t n_rest, uintptr_t here,
	uintptr_t begin, size_t n, struct dnp_rule *rule);

/* Where a direct jump leads, which the n bytes of code at `here` begin with. False: with none. */
SIGSAFE bool dnp_jump_target(const uint8_t *code, size_t n, uintptr_t here, uintptr_t *target);

/* Whether a call instruction ends at code[n]. */
SIGSAFE bool dnp_behind_call(const uint8_t *code, size_t n);

#endif
