/* SPDX-License-Identifier: MIT */
/*
 * UNWIND_INFO, the description of a prolog that managed code has, compiled at run time or ahead of
 * time. Source: "x64 exception handling" (Microsoft Learn); dotnet/runtime, clrnt.h for the code
 * that CoreCLR added for Unix (a frame register with a 32 bit offset).
 */
#ifndef DNP_UNWIND_X86_64_UNWIND_INFO_H
#define DNP_UNWIND_X86_64_UNWIND_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "os/x86_64/rule.h"

#define DNP_UNWIND_INFO_HEADER 4
#define DNP_UNWIND_INFO_MAX    (DNP_UNWIND_INFO_HEADER + 2 * 255)
#define DNP_UNWIND_BODY        UINT32_MAX

/* Of the header: bytes of the whole description, of the prolog; needs DNP_UNWIND_INFO_HEADER. */
SIGSAFE static inline size_t dnp_unwind_info_bytes(const uint8_t *info)
{
	return DNP_UNWIND_INFO_HEADER + 2U * info[2];
}

SIGSAFE static inline uint32_t dnp_unwind_info_prolog(const uint8_t *info)
{
	return info[1];
}

/*
 * The rule at an offset of the function, as far as its prolog has run by then; DNP_UNWIND_BODY:
 * behind it. `n` bytes can be read at `info`. False: cut off or of an unknown form.
 */
SIGSAFE bool dnp_unwind_info_rule(
	const uint8_t *info, size_t n, uint32_t offset, struct dnp_rule *rule);

/* ---- Native code: a description may be continued by another function's */

/* What undoes a prolog, from the stack pointer as it is up to the return address. */
struct dnp_unwind_undo {
	int64_t depth; /* bytes from the base (the stack pointer, or by a register) up to here */
	int64_t bp_depth, bx_depth; /* where rbp and rbx are saved, from the base; -1: not */
	int64_t base;               /* with_register: the base is the frame register + base */
	unsigned frame_register;    /* 0: none */
	bool with_register;
	bool interrupted; /* the system interrupted the thread below this frame */
};

#define DNP_UNWIND_UNDO ((struct dnp_unwind_undo){.bp_depth = -1, .bx_depth = -1})

/* Adds a description to *undo; see dnp_unwind_info_rule. */
SIGSAFE bool dnp_unwind_info_undo(
	const uint8_t *info, size_t n, uint32_t offset, struct dnp_unwind_undo *undo);

/* Where in a description the function stands (begin, end, description) that goes on; 0: nowhere. */
SIGSAFE size_t dnp_unwind_info_chained(const uint8_t *info);

/* The rule of all that was added; the second with the caller's rbx. False: it is of no such form.
 */
SIGSAFE bool dnp_unwind_undo_rule(const struct dnp_unwind_undo *undo, struct dnp_rule *rule);
SIGSAFE bool dnp_unwind_undo_rule_bx(const struct dnp_unwind_undo *undo, struct dnp_rule *rule);

#endif
