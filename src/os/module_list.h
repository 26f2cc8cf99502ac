/* SPDX-License-Identifier: MIT */
/* What modules.c asks the system for. One thread at a time. */
#ifndef DNP_OS_MODULE_LIST_H
#define DNP_OS_MODULE_LIST_H

#include <stddef.h>
#include <stdint.h>

struct dnp_elf_module;

/* How often modules came and went; the same again means that nothing has changed. */
struct dnp_module_version {
	uint64_t adds, subs;
};
void dnp_modules_version(struct dnp_module_version *version);
/* The system has nothing of ours any more that it would call for that; the next call begins anew.
 */
void dnp_modules_version_done(void);

struct dnp_module_collection {
	struct dnp_elf_module **modules; /* owned, and what it points to */
	size_t n, room;
	int result; /* 0 or -errno: some are missing */
};
/* All that are loaded now, in no order, without what modules.c gives them. */
void dnp_modules_collect(struct dnp_module_collection *all);

/* Takes a module over. 0 or -ENOMEM. */
int dnp_module_collection_add(struct dnp_module_collection *all, struct dnp_elf_module *module);

#endif
