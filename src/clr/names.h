/* SPDX-License-Identifier: MIT */
/*
 * What the runtime's ids stand for, and their names:
 * `Namespace.Type+Nested<int>.Method<T>(string)`.
 *
 * Names are raw, with what compilers make of them (`<Main>$`); base/pretty.h turns them back.
 * Type arguments are filled in where the runtime tells them; where code is shared by all reference
 * types the parameter's own name stands (`List<T>`).
 *
 * May be called in the JIT, load and mapper callbacks and on the profiler's own threads, while what
 * the id stands for is loaded. Not in hooks, not in a stack-snapshot callback and not while threads
 * are suspended: the runtime refuses or takes locks. Nothing is allocated here; about 4 KiB of
 * stack.
 */
#ifndef DNP_CLR_NAMES_H
#define DNP_CLR_NAMES_H

#include "base/pretty.h"
#include "clr/info.h"

struct dnp_method {
	FunctionID id;    /* 0: made from a token */
	ModuleID module;  /* of a dynamic method: the one it belongs to */
	ClassID class_id; /* 0: the runtime does not tell */
	mdToken token;    /* nil row: a dynamic method or a stub */
	bool dynamic;
	enum dnp_machine machine; /* of a MoveNext the compiler made */
};

/*
 * Fills `method` and writes its full name. `frame` is that of a hook or 0; with it the type
 * arguments of shared code are exact. Returns the runtime's error where the id is not known, and
 * then leaves the name as it was.
 */
HRESULT dnp_method_describe(const struct dnp_info *info, FunctionID id, COR_PRF_FRAME_INFO frame,
	struct dnp_method *method, struct dnp_text *name);

/*
 * The same for an instantiation: `class_id` and type arguments are exact, as GetFunctionInfo2 gave
 * them for a frame.
 */
HRESULT dnp_method_describe_exact(const struct dnp_info *info, FunctionID id, ClassID class_id,
	const ClassID *args, uint32_t n, struct dnp_method *method, struct dnp_text *name);

/* The same for a method that may not have been run, by its place in the metadata. */
HRESULT dnp_method_of_token(const struct dnp_info *info, ModuleID module, mdMethodDef token,
	struct dnp_method *method, struct dnp_text *name);

/* Writes the name of a class, as it stands in a list of arguments: `int`, `System.Guid[]`. */
HRESULT dnp_class_describe(const struct dnp_info *info, ClassID class_id, struct dnp_text *name);

/*
 * The same without keywords, as it stands alone: `System.Int32`, `System.Byte[]`. S_FALSE: it is of
 * pointers, of which the runtime does not say what to (`?*[]`).
 */
HRESULT dnp_class_name(const struct dnp_info *info, ClassID class_id, struct dnp_text *name);

struct dnp_module {
	ModuleID id;
	AssemblyID assembly;
	const uint8_t *base;  /* borrowed: where its image lies, NULL: nowhere */
	uint32_t flags;       /* COR_PRF_MODULE_* */
	struct dnp_guid mvid; /* module version id; zero where there is no metadata */
};

/* Its simple name, if the runtime tells. */
void dnp_assembly_name(const struct dnp_info *info, AssemblyID id, struct dnp_text *name);

/* Its path, if it has one; also of one that is being loaded. */
void dnp_module_path(const struct dnp_info *info, ModuleID id, struct dnp_text *path);

/*
 * Fills `module` and writes its path (of a module without a file: its name) and its assembly's
 * name.
 */
HRESULT dnp_module_describe(const struct dnp_info *info, ModuleID id, struct dnp_module *module,
	struct dnp_text *path, struct dnp_text *assembly);

#endif
