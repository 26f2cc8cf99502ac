/* SPDX-License-Identifier: MIT */
/*
 * Which methods' calls are recorded, and their records. Any thread but in hooks: it asks the
 * runtime, and holds no lock meanwhile.
 */
#ifndef DNP_CAPTURE_TRACE_FILTER_H
#define DNP_CAPTURE_TRACE_FILTER_H

#include "capture/calls.h"
#include "capture/engine.h"

/* Both are borrowed for good. */
void dnp_trace_filter_open(const struct dnp_engine_setting *setting);

/*
 * The record of a method that is about to be compiled; NULL: its calls are not to be recorded. Asks
 * each time anew: where code can be unloaded, its FunctionID may be another method's by now.
 */
const struct dnp_call_method *dnp_trace_filter_method(uintptr_t function);

/*
 * The same of one that is native code and is about to be called, which happens often: asks once,
 * and once more when code has been unloaded.
 */
const struct dnp_call_method *dnp_trace_filter_native(uintptr_t function);
void dnp_trace_filter_unloading(void);

/* What was last said of a function. *known: anything was. */
const struct dnp_call_method *dnp_trace_filter_find(uintptr_t function, bool *known);

/* How many of those that are wanted got no number, since all were given out: they are not recorded.
 */
uint64_t dnp_trace_filter_unnumbered(void);

/* How many methods are recorded, and how many are left out. */
void dnp_trace_filter_count(uint64_t *methods, uint64_t *left_out);

#endif
