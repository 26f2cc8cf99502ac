/* SPDX-License-Identifier: MIT */
/*
 * Unwind tables of the native modules of this process: of ELF by its call frame information
 * (native_elf.c), of PE by the table of functions that it has (native_pe.c).
 */
#ifndef DNP_UNWIND_NATIVE_H
#define DNP_UNWIND_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clean.h"
#include "os/modules.h"
#include "os/x86_64/rule.h"

struct dnp_native_stats {
	uint32_t modules, functions, rows, without_rule;
	uint32_t without_table; /* modules that have none, or whose could not be read */
	size_t bytes;           /* of all tables */
};

/*
 * Builds tables of listed modules that have none yet, big ones first. For all of a program that
 * takes some ten milliseconds: who has other work does it in `meanwhile`, which is called every
 * millisecond or so, if not NULL, and calls nothing of this file. Not for handlers.
 */
void dnp_native_build(void (*meanwhile)(void));

/* For what is loaded now. The result is that of dnp_modules_refresh. */
static inline int dnp_native_refresh(void)
{
	int changed = dnp_modules_refresh();

	dnp_native_build(NULL);
	return changed;
}

/* See dnp_modules_reclaim. */
void dnp_native_reclaim(uint64_t before_ns);
void dnp_native_done(void);
void dnp_native_stats(struct dnp_native_stats *stats);

/*
 * The rule at pc (`exact`: an instruction; for a return address one less): from the table, or, as
 * long as there is none, from what the table is made of. Where no function is described the return
 * address of an instruction is on top: on Linux that is a PLT, most likely, on Windows a function
 * without a frame. False when neither tells; then nothing about pc may be kept.
 */
SIGSAFE bool dnp_native_rule(
	const struct dnp_elf_module *module, uintptr_t pc, bool exact, struct dnp_rule *rule);

/*
 * The same in a module that is not listed yet, since it has just been loaded: without a
 * table. False: nothing is known; nothing about pc may be kept.
 */
SIGSAFE bool dnp_native_rule_of_new(uintptr_t pc, bool exact, struct dnp_rule *rule);

/*
 * dotnet/runtime, OnHijackTripThread (coreclr 8 to 10): a method whose return address was taken
 * away, to stop the thread there, returns to it. It makes room for the address, into which the
 * runtime puts it, but its description does not have the address there.
 */
struct dnp_hijack {
	uint8_t code[16]; /* what it begins with */
	size_t n;
	int off;    /* what lacks in the distance to the CFA */
	bool exact; /* at any of its instructions; else only where it has called the runtime */
};

extern const struct dnp_hijack dnp_native_hijack;

/*
 * The function that pc is in, found in the same way, as the address of its first instruction in the
 * file (what symbol tables know; memory address minus bias). False: in none that is known.
 */
SIGSAFE bool dnp_native_function(
	const struct dnp_elf_module *module, uintptr_t pc, uint64_t *start);

#endif
