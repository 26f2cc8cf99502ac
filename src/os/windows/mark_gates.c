/* SPDX-License-Identifier: MIT */
/*
 * A section of the modules that include dnprof/mark.h has an entry for each of their sources. Those
 * that are there are looked for once; of those that come later the loader tells before anything of
 * them runs.
 */
#include "os/mark_gates.h"

#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "base/clean.h"
#include "os/clock.h"
#include "os/library.h"
#include "os/windows/modules.h"

#define REST_NS     UINT64_C(50000)
#define PATIENCE_NS UINT64_C(5000000000)

static dnprof_mark_function opened; /* to whom; NULL: to nobody */
static void *listening;             /* to the loader */

struct visit {
	bool closes, busy;
};

/* The counterpart of dnprof_mark_say: calls that we do not see inside see the gate closed. */
static void turn(struct dnprof_mark_gate *gate, struct visit *visit)
{
	dnprof_mark_function now = __atomic_load_n(&gate->say, __ATOMIC_SEQ_CST);

	if (!visit->closes) {
		if (!now)
			__atomic_store_n(&gate->say, opened, __ATOMIC_SEQ_CST);
		return;
	}
	if (now == opened)
		__atomic_store_n(&gate->say, NULL, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&gate->inside, __ATOMIC_SEQ_CST))
		visit->busy = true;
}

/* Of a module that is not unloaded meanwhile. */
static void turn_gates(uintptr_t base, struct visit *visit)
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
			turn(&entry->gate, visit);
			at += sizeof(*entry);
		} else {
			at += _Alignof(struct dnprof_mark_entry);
		}
	}
}

/* It is kept while we are in it: who looks does not have the loader's lock. */
static void visit_module(uintptr_t base, struct visit *visit)
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

/* False: there was no memory to see all. */
static bool visit_modules(struct visit *visit)
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
	struct visit visit = {0};

	(void)context;
	if (reason == DNP_MODULE_LOADED)
		turn_gates((uintptr_t)change->base, &visit);
}

void dnp_mark_gates_open(dnprof_mark_function say)
{
	struct visit visit = {0};

	if (listening)
		return;
	opened = say;
	/* First, or some would be missed. */
	listening = dnp_module_listen(on_change);
	visit_modules(&visit);
}

/* Nobody opens one any more. */
static void stop_listening(void)
{
	if (listening && !dnp_module_ignore(listening))
		dnp_library_keep();
	listening = NULL;
}

bool dnp_mark_gates_close(void)
{
	uint64_t until_ns = dnp_now_ns() + PATIENCE_NS;
	struct visit visit = {.closes = true};

	stop_listening();
	while (opened) {
		visit.busy = false;
		if (visit_modules(&visit) && !visit.busy)
			opened = NULL;
		else if (dnp_now_ns() >= until_ns)
			return false;
		else
			dnp_sleep_until_ns(dnp_now_ns() + REST_NS);
	}
	return true;
}
