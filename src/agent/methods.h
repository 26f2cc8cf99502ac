/* SPDX-License-Identifier: MIT */
/*
 * Managed methods: who they are, where their code is, what they are called.
 *
 * A method has a number of ours, which the code map keeps with its code. Its name is asked for
 * when it is first seen in a sample, by the recorder. Only for methods that can go away (of
 * collectible assemblies, dynamic ones, and generics once such code exists) it is asked for at
 * once, when they are compiled: their FunctionID may be dead when a sample is looked at, and the
 * runtime would crash on it.
 *
 * Functions lock among themselves; the lock is not held across a call into the CLR.
 */
#ifndef DNP_AGENT_METHODS_H
#define DNP_AGENT_METHODS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "clr/info.h"

/* What the recording says of a method. Strings are borrowed from the registry or the caller. */
struct dnp_method_text {
	struct dnp_str name;   /* full raw name */
	struct dnp_str module; /* path of its module, or the module's name */
	mdToken token;
	unsigned flags; /* enum dnp_frame_flags */
};

/* A method was compiled: notes its new code. From the runtime's callback, any thread. */
void dnp_methods_compiled(FunctionID function, bool dynamic);

/*
 * A module is there: its methods can be walked from now on, those that were compiled ahead of time.
 * In the callback, or in a catch-up.
 */
void dnp_methods_module_loaded(ModuleID module);

/* A dynamic method, or all methods of a module, are about to be freed. */
void dnp_methods_dynamic_unloaded(FunctionID function);
void dnp_methods_module_unloading(ModuleID module);

/*
 * The number of a method whose calls are recorded, below 2^20; it is never used again. From the
 * runtime's mapper, any thread; 0: no memory.
 */
uint32_t dnp_methods_traced(FunctionID function);

/* A number as that, for a method that dnp_methods_exact will tell of. Any thread; 0: no memory. */
uint32_t dnp_methods_reserve(void);

/*
 * A reserved number is that of an instantiation, by its exact class and type arguments. Asks the
 * runtime, so while these are loaded. Not in hooks.
 */
void dnp_methods_exact(
	uint32_t number, FunctionID function, ClassID class_id, const uintptr_t *args, uint32_t n);

/*
 * Goes through the methods of dnp_methods_traced that were not told of yet, each once. `tell` may
 * ask for their text. Recorder.
 */
void dnp_methods_tell_traced(
	void (*tell)(uint32_t number, FunctionID function, void *context), void *context);

/* The number of a method by its FunctionID (precompiled code); made when new. 0: no memory. */
uint32_t dnp_methods_number(FunctionID function);

/*
 * What a method is called. Asks the runtime if nobody has yet. False when that cannot be known (any
 * more). For the recorder: the strings are good until its next call.
 */
bool dnp_methods_text(uint32_t number, struct dnp_method_text *text);

/* Where the recorder keeps the frame index of a method: 0 as long as it has none. */
uint32_t *dnp_methods_frame(uint32_t number, bool precompiled);

/* A recording has ended: none of them has a frame any more. Recorder. */
void dnp_methods_forget_frames(void);

/*
 * From now on nobody tells which methods are freed: those that can be are forgotten. Recorder; no
 * callback is under way, and no sample is left.
 */
void dnp_methods_forget(void);

/* Forgets methods that were freed before `before_ns`; no sample of them is left. Recorder. */
void dnp_methods_reclaim(uint64_t before_ns);

/*
 * Forgets all methods, for good: this library is about to go, no callback runs, and nothing that
 * names a method by its number is left.
 */
void dnp_methods_done(void);

/* Memory held, about. */
size_t dnp_methods_bytes(void);

#endif
