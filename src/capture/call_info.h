/* SPDX-License-Identifier: MIT */
/*
 * Hooks with information (SetEnterLeaveFunctionHooks3WithInfo, --args). They are in front of the
 * plain ones of the chosen depth: they find out which instantiation of shared generic code is
 * called, so that each has a method number of its own, and with depth `events` they take the values
 * of arguments and results. Part of the engine `trace`.
 *
 * In a hook nothing is locked and the runtime is asked for nothing but the frame, its arguments,
 * and the function's type arguments; the first values of a thread map their memory.
 */
#ifndef DNP_CAPTURE_CALL_INFO_H
#define DNP_CAPTURE_CALL_INFO_H

#include "capture/calls.h"
#include "capture/engine.h"
#include "clr/info.h"

/* What a hook of ends without information is as a function of C, by its registers. */
typedef void dnp_call_end_hook(const struct dnp_call_method *method, uintptr_t sp);

/* The hooks to go on with. */
struct dnp_call_plain {
	void (*enter)(void); /* has its arguments in other registers: see dnp_call_plain_enter */
	dnp_call_end_hook *leave, *tailcall;
};

/* Event flags that it needs, for SetEventMask2. */
uint32_t dnp_call_info_events(const struct dnp_agent_options *options);

/* After dnp_calls_open, before the mapper is set. 0 or -ENOMEM. */
int dnp_call_info_open(const struct dnp_engine_setting *setting, unsigned event);

/* Sets the hooks. An error of the runtime's: it refuses them. */
HRESULT dnp_call_info_set(const struct dnp_call_plain *plain);

/*
 * A method is about to be compiled, with hooks. From the mapper. False: it must have none, for the
 * runtime would crash.
 */
bool dnp_call_info_prepare(const struct dnp_call_method *method);

/* Types and instantiations that are new; the writer of events writes the values. The recorder. */
void dnp_call_info_write(struct dnp_writer *writer, int last);

/* Calls dnp_hook_…_enter as the JIT's code would. */
void dnp_call_plain_enter(const struct dnp_call_method *method, uintptr_t sp, void (*enter)(void));

#endif
