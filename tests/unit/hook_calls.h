/* SPDX-License-Identifier: MIT */
/* Hooks called as the JIT's code calls them, by the convention of the system. */
#ifndef DNP_TESTS_HOOK_CALLS_H
#define DNP_TESTS_HOOK_CALLS_H

#include <stddef.h>
#include <stdint.h>

enum { RAX, RBX, RCX, RDX, RSI, RDI, RBP, R8, R9, R10, R11, R12, R13, R14, R15, REGISTERS };

struct registers {
	uint64_t general[16];
	uint8_t vector[16][32];
};

/* Calls it with all of these, but rsp; `out`: as they are when it returns. */
void call_with(void (*hook)(void), const struct registers *in, struct registers *out);

/* Which registers hooks are given, and have to keep. */
struct hook_convention {
	unsigned enter_id, enter_sp, end_id, end_sp;
	unsigned enter_kept[REGISTERS], end_kept[REGISTERS];
	size_t n_enter_kept, n_end_kept;
	unsigned first_vector, end_vector; /* those from … to below, kept by enter */
};

extern const struct hook_convention hook_convention;

/* Changes each vector register that a function may change. */
void spoil_vectors(void);

#endif
