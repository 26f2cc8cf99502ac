/* SPDX-License-Identifier: MIT */
/*
 * Types by their names, in whatever module they are. Where clr/shapes.h may be asked; nothing is
 * allocated but by the runtime.
 */
#ifndef DNP_CLR_FIND_H
#define DNP_CLR_FIND_H

#include "clr/info.h"
#include "clr/metadata.h"

/* A module's metadata, to be released; NULL: it has none. */
IMetaDataImport *dnp_import_open(ICorProfilerInfo *info, ModuleID module);

/* A class of the runtime's own library by its full name; 0: it is not loaded. */
ClassID dnp_class_named(ICorProfilerInfo *info, const char *name);

/*
 * What a TypeDef or TypeRef of a module stands for, with these type arguments (`import`: the
 * module's metadata); 0: that is not known.
 */
ClassID dnp_class_of_token(ICorProfilerInfo *info, ModuleID module, IMetaDataImport *import,
	mdToken token, uint32_t n_args, ClassID *args);

#endif
