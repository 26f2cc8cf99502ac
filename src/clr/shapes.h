/* SPDX-License-Identifier: MIT */
/*
 * The plan of a method's values (clr/values.h), with what the runtime knows of its types: the
 * layout of structs, the numbers of enums, type arguments.
 *
 * Where clr/names.h may be asked, but it may load types: not on the profiler's own threads while
 * the program is suspended, and best in the mapper, where a method's own types are loaded already.
 * Nothing is allocated; about 16 KiB of stack.
 */
#ifndef DNP_CLR_SHAPES_H
#define DNP_CLR_SHAPES_H

#include "clr/info.h"
#include "clr/values.h"

/* What stands for the name of a class in values; 0: it has none. */
typedef uint32_t (*dnp_class_number)(ClassID class_id);

/* Fills the plan. An error of the runtime's, or CORPROF_E_DATAINCOMPLETE: no plan. */
HRESULT dnp_shapes_plan(const struct dnp_info *info, FunctionID function, dnp_class_number number,
	struct dnp_values_plan *plan);

/* Whether its code is shared by several instantiations, which only a frame tells apart. */
bool dnp_shapes_shared(const struct dnp_info *info, FunctionID function);

/* The class of strings; 0: not loaded. */
ClassID dnp_shapes_string(const struct dnp_info *info);

#endif
