/* SPDX-License-Identifier: MIT */
/*
 * Whether a method calls native code by itself: a P/Invoke of its own module, or a pointer to a
 * native function.
 *
 * Of such calls the runtime tells where they stand in the code of the method that made them. Where
 * that code was put into a caller's, the compiler makes a call without a stub of it, and nobody is
 * told: seen with .NET 8 to 10.
 *
 * And whether native code calls a method directly ([UnmanagedCallersOnly]).
 */
#ifndef DNP_CLR_NATIVE_CALLS_H
#define DNP_CLR_NATIVE_CALLS_H

#include <stdbool.h>
#include <stddef.h>

#include "clr/info.h"

/*
 * The tokens behind what may be a `call` or `calli` in a body of IL, in turn: a byte of an operand
 * may look like one. *at: where to go on, 0 at first. 0: there is none any more.
 */
mdToken dnp_il_next_call(const uint8_t *il, size_t n, size_t *at);

/*
 * By its IL. There may be false alarms; a method whose IL is not to be had calls none. In the JIT's
 * callbacks.
 */
bool dnp_method_calls_native(const struct dnp_info *info, FunctionID function);

/* By its attribute; not methods that native code calls through a delegate. In the JIT's callbacks.
 */
bool dnp_method_is_for_native(const struct dnp_info *info, FunctionID function);

#endif
