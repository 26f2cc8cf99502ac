/* SPDX-License-Identifier: MIT */
/* What the loader has loaded here, for those that need no list of it (os/modules.h). */
#ifndef DNP_OS_WINDOWS_MODULES_H
#define DNP_OS_WINDOWS_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <windows.h>

/* All that are loaded now: any of them can be gone with the next instruction. Owned by the caller;
 * NULL and -errno in `result`: some are missing. */
HMODULE *dnp_module_handles(size_t *n, int *result);

/* Where the section that has the name, which is writable, is in a module. False: it has none, or
 * has gone. */
bool dnp_module_section(uintptr_t base, const char *name, uintptr_t *at, size_t *bytes);

/* LdrRegisterDllNotification and what undoes it, which waits for who calls it. */
enum { DNP_MODULE_LOADED = 1, DNP_MODULE_UNLOADED = 2 };

/* What is told of either begins so; `base` is the module's. */
struct dnp_module_change {
	ULONG flags;
	const void *full_name, *base_name;
	void *base;
	ULONG image_bytes;
};

typedef VOID(CALLBACK *dnp_module_heard)(
	ULONG reason, const struct dnp_module_change *change, void *context);

/* With the loader's lock, on the thread that loads, before anything of what is loaded runs. NULL:
 * nobody is told. */
void *dnp_module_listen(dnp_module_heard heard);
/* False: it is called for ever. */
bool dnp_module_ignore(void *cookie);

#endif
