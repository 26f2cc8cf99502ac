/* SPDX-License-Identifier: MIT */
/*
 * A section of the modules that include dnprof/mark.h has an entry for each of their sources. Those
 * that are there are looked for once; of those that come later the loader tells before anything of
 * them runs.
 */
#include "os/mark_gate.h"

#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "base/clean.h"
#include "os/library.h"
#include "os/windows/modules.h"

static void *listening; /* to the loader */

/* Of a module that is not unloaded meanwhile. */
static void turn_gates(uintptr_t base, struct dnp_mark_visit *visit)
{
	static const char owner[sizeof(((struct dnprof_mark_entry *)0)->owner)] = DNPROF_MARK_NOTE;
	uintptr_t at;
	size_t bytes;

	if (!dnp_module_section(base, DNPROF_MARK_SECTION, &at, &bytes))
		return;
	/* Linkers put zeros between what comes of two sources. */
	for (uintptr_t end = at + bytes; end - at >= sizeof(struct dnprof_mark_entry);) {
		/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
		struct dnprof_mark_entry *entry = (struct dnprof_mark_entry *)at;

		if (memcmp(entry->owner, owner, sizeof(owner)) == 0 &&
			entry->type == DNPROF_MARK_NOTE_TYPE) {
			dnp_mark_gate_turn(&entry->gate, visit);
			at += sizeof(*entry);
		} else {
			at += _Alignof(struct dnprof_mark_entry);
		}
	}
}

/* It is kept while we are in it: who looks does not have the loader's lock. */
static void visit_module(uintptr_t base, struct dnp_mark_visit *visit)
{
	HMODULE kept;
	uintptr_t at;
	size_t bytes;

	if (!dnp_module_section(base, DNPROF_MARK_SECTION, &at, &bytes) ||
		!GetModuleHandleExW(
			GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, (LPCWSTR)(const void *)base, &kept))
		return;
	if ((uintptr_t)kept == base)
		turn_gates(base, visit);
	FreeLibrary(kept);
}

bool dnp_mark_gates_visit(struct dnp_mark_visit *visit)
{
	size_t n = 0;
	int result;
	auto_free HMODULE *handles = dnp_module_handles(&n, &result);

	for (size_t i = 0; i < n; i++)
		visit_module((uintptr_t)handles[i], visit);
	return handles;
}

static VOID CALLBACK on_change(ULONG reason, const struct dnp_module_change *change, void *context)
{
	struct dnp_mark_visit visit = {0};

	(void)context;
	if (reason == DNP_MODULE_LOADED)
		turn_gates((uintptr_t)change->base, &visit);
}

void dnp_mark_gates_later(dnprof_mark_function say)
{
	if (say && !listening)
		listening = dnp_module_listen(on_change);
	if (say || !listening)
		return;
	if (!dnp_module_ignore(listening))
		dnp_library_keep();
	listening = NULL;
}
