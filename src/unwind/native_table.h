/* SPDX-License-Identifier: MIT */
/* The table of one native module, which its format makes: native_elf.c or native_pe.c. */
#ifndef DNP_UNWIND_NATIVE_TABLE_H
#define DNP_UNWIND_NATIVE_TABLE_H

#include <stdbool.h>

#include "base/clean.h"
#include "os/modules.h"
#include "os/x86_64/rule.h"

struct dnp_native_stats;

/* Of code that nothing describes: see dnp_native_rule. */
SIGSAFE static inline struct dnp_rule dnp_native_undescribed(bool exact)
{
	return exact ? (struct dnp_rule){.cfa = DNP_CFA_SP, .off = 8} : (struct dnp_rule){0};
}

/*
 * Owned by the caller, and what is in it added to *stats; NULL: there is none. `meanwhile`: see
 * dnp_native_build. Not for handlers.
 */
void *dnp_native_table_make(const struct dnp_elf_module *module, struct dnp_native_stats *stats,
	void (*meanwhile)(void));

/* Frees one, and takes its bytes from *stats. */
void dnp_native_table_free(void *table, struct dnp_native_stats *stats);

#endif
