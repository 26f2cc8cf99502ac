/* SPDX-License-Identifier: MIT */
/*
 * Code compiled at run time: from what the runtime tells a profiler (function, address, size) to
 * entries of the code map that walks can use.
 *
 * The unwind data stands in the header in front of the code. Where its fields are is read from the
 * runtime's own description (the exported DotNetRuntimeContractDescriptor) if that has them, else
 * the layout of CoreCLR 8 to 10 is assumed; either way it is checked for each method (the header
 * names the method, ranges lie in its code), and read so that nothing can fault. Where the check
 * fails the prolog's instructions are decoded instead.
 */
#ifndef DNP_UNWIND_MANAGED_H
#define DNP_UNWIND_MANAGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dnp_codemap;

struct dnp_managed_stats {
	uint64_t methods;      /* bodies registered */
	uint64_t unwind_info;  /* of these, by their unwind data */
	uint64_t prolog;       /* by decoding the prolog */
	uint64_t without_rule; /* frames that cannot be left */
	uint64_t osr, funclets, catch_funclets;
	bool contract; /* the layout is the runtime's own word */
};

/* The process's one map, made at the first call; NULL only when there was no memory then. */
struct dnp_codemap *dnp_walk_codemap(void);

/* Frees it; no handler may run any more. */
void dnp_walk_codemap_done(void);

/*
 * Adds the code of one method (ICorProfilerInfo4::GetCodeInfo4; one run of bytes): `function` is
 * its FunctionID, `method` the caller's number. Older code in the same place is retired. 0 or
 * -ENOMEM. Any thread, not in handlers; not for ReadyToRun code (see dnp_r2r_find).
 */
int dnp_jit_code_register(uintptr_t function, uintptr_t start, uint32_t bytes, uint32_t method,
	bool dynamic, uint64_t now_ns);

/* Whether live code of this method that starts there is registered. */
bool dnp_jit_code_known(uintptr_t start, uint32_t method);

void dnp_managed_stats(struct dnp_managed_stats *stats);

#endif
