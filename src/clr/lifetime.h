/* SPDX-License-Identifier: MIT */
/*
 * Which code goes away, and with what: a collectible module takes its methods along, and those of
 * generics of other modules that were made over its types.
 */
#ifndef DNP_CLR_LIFETIME_H
#define DNP_CLR_LIFETIME_H

#include <stdbool.h>

#include "clr/info.h"

/*
 * Whether a module can go away; false where the runtime does not tell. To be asked of each module
 * that is loaded, in its callback or in a catch-up: dnp_method_ends does not look at types before
 * one was found that can. Any thread.
 */
bool dnp_module_ends(const struct dnp_info *info, ModuleID module);

/*
 * Whether a method, no dynamic one, can go away. *with: the module that takes it along, of several
 * one; 0: not known, or it lasts. One that the runtime tells nothing of can. In the callback of its
 * compilation; any thread.
 */
bool dnp_method_ends(const struct dnp_info *info, FunctionID function, ModuleID *with);

/* The same of a type; where the runtime tells nothing of it, it can. The type must be there. */
bool dnp_class_ends(const struct dnp_info *info, ClassID class);

/* *with: the one module that takes the type along; 0: one of several, or not known, or it lasts. */
bool dnp_class_ends_with(const struct dnp_info *info, ClassID class, ModuleID *with);

/* All modules have gone, or this library is about to. */
void dnp_lifetime_forget(void);

#endif
