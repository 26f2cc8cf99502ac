/* SPDX-License-Identifier: MIT */
/*
 * What the runtime tells a profiler of code, put where walks find it: methods that were compiled
 * (unwind/managed.h), modules with precompiled code (clr/r2r.h), and the JIT's own library.
 *
 * Called from the runtime's callbacks, on any thread; not in handlers.
 */
#ifndef DNP_UNWIND_CODE_H
#define DNP_UNWIND_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "clr/info.h"
#include "unwind/walk.h"

/*
 * A method was compiled, by ReJIT too: all of its code that is not known yet is. `method` is the
 * caller's number. What the runtime does not tell, or what there is no memory for, is left out.
 */
void dnp_code_compiled(
	const struct dnp_info *info, FunctionID function, uint32_t method, bool dynamic);

/* An address in the code that a frame is in: a return address belongs to the call before it. */
uintptr_t dnp_code_of_frame(dnp_frame_word word);

/*
 * Whether the runtime may be asked whose code is at an address that nothing is known of
 * (GetFunctionFromIP). Not in a precompiled image: there it takes what no function holds, stubs or
 * padding, for the function before, and goes back from that to one that was called once, beyond
 * the first of the image if none was.
 */
bool dnp_code_may_be_asked_for(uintptr_t pc);

/*
 * The same for managed code that a walk has met. In a precompiled image the runtime goes back from
 * a method that was never called, too, and where none before it was, the process ends. A walk that
 * is right meets no such method; one of a stack that is not what it is described as (native code
 * with wrong unwind tables, say) may meet anything. Not in handlers.
 */
bool dnp_code_frame_may_be_asked_for(dnp_frame_word frame);

/* The runtime was asked, and has told. */
void dnp_code_frame_is_known(dnp_frame_word frame);

/* A module was loaded: its precompiled code, if it has some, can be walked from now on. */
void dnp_code_module_loaded(const struct dnp_info *info, ModuleID module);

/* It will be unmapped, and something else may be there then. */
void dnp_code_module_unloading(const struct dnp_info *info, ModuleID module);

/*
 * Loads the JIT's library, which the runtime will load a moment later: so its unwind tables are
 * there before it first works. Returns what dnp_library_close takes, NULL: not
 * found.
 */
void *dnp_code_load_jit(void);

#endif
