/* SPDX-License-Identifier: MIT */
#include "clr/find.h"

#include <string.h>

#include "clr/hresult.h"

enum {
	MAX_WIDE = 512,    /* WCHARs of a name */
	MAX_NESTED = 4,    /* type references in one another */
	MAX_MODULES = 256, /* looked through for a type */
};

IMetaDataImport *dnp_import_open(ICorProfilerInfo *info, ModuleID module)
{
	IUnknown *unknown = NULL;

	if (FAILED(dnp_com(
		    info, GetModuleMetaData, module, ofRead, &dnp_iid_IMetaDataImport2, &unknown)))
		return NULL;
	return (IMetaDataImport *)unknown;
}

/* Name by name, outermost first: the reference's type with the types that it is nested in. */
struct path {
	uint32_t n;
	WCHAR names[MAX_NESTED][MAX_WIDE];
};

static bool path_of(IMetaDataImport *import, mdTypeRef type, struct path *path)
{
	mdTypeRef chain[MAX_NESTED];
	uint32_t n = 0;
	mdToken outer = type;

	do {
		uint32_t length = 0;

		if (n == MAX_NESTED)
			return false;
		chain[n] = outer;
		/* The names are turned round below: the innermost is read first. */
		if (FAILED(dnp_com(import, GetTypeRefProps, chain[n], &outer,
			    path->names[MAX_NESTED - 1 - n], MAX_WIDE, &length)) ||
			!length || length > MAX_WIDE)
			return false;
		n++;
	} while (TypeFromToken(outer) == mdtTypeRef && !IsNilToken(outer));
	memmove(path->names[0], path->names[MAX_NESTED - n], n * sizeof(path->names[0]));
	path->n = n;
	return true;
}

/* The type of that path in a module; nil: it has none. */
static mdTypeDef find_path(ICorProfilerInfo *info, ModuleID module, const struct path *path)
{
	IMetaDataImport *import = dnp_import_open(info, module);
	mdTypeDef type = 0;

	for (uint32_t i = 0; import && i < path->n; i++)
		if (FAILED(dnp_com(
			    import, FindTypeDefByName, path->names[i], i ? type : 0, &type))) {
			type = 0;
			break;
		}
	if (import)
		dnp_com(import, Release);
	return type;
}

static uint32_t list_modules(ICorProfilerInfo *info, ModuleID modules[MAX_MODULES])
{
	ICorProfilerModuleEnum *list = NULL;
	uint32_t n = 0;

	if (FAILED(dnp_com(info, EnumModules, &list)) || !list)
		return 0;
	if (FAILED(dnp_com(list, Next, MAX_MODULES, modules, &n)))
		n = 0;
	dnp_com(list, Release);
	return n;
}

/*
 * The module and token of a type by its path. References name the assembly that a compiler saw,
 * which may forward to another; the full name tells nearly always. The first modules are the
 * runtime's own.
 */
static mdTypeDef find_anywhere(ICorProfilerInfo *info, const struct path *path, ModuleID *module)
{
	ModuleID modules[MAX_MODULES];
	uint32_t n = list_modules(info, modules);

	for (uint32_t i = 0; i < n; i++) {
		mdTypeDef type = find_path(info, modules[i], path);

		if (!IsNilToken(type)) {
			*module = modules[i];
			return type;
		}
	}
	return 0;
}

static void set_name(struct path *path, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i <= n; i++)
		path->names[0][i] = (WCHAR)name[i];
	path->n = 1;
}

static ClassID class_of(
	ICorProfilerInfo *info, ModuleID module, mdTypeDef type, uint32_t n_args, ClassID *args)
{
	ClassID id = 0;

	if (IsNilToken(type) ||
		FAILED(dnp_com(
			info, GetClassFromTokenAndTypeArgs, module, type, n_args, args, &id)))
		return 0;
	return id;
}

ClassID dnp_class_named(ICorProfilerInfo *info, const char *name)
{
	struct path path;
	ModuleID module = 0;
	mdTypeDef type;

	set_name(&path, name);
	type = find_anywhere(info, &path, &module);
	return class_of(info, module, type, 0, NULL);
}

ClassID dnp_class_of_token(ICorProfilerInfo *info, ModuleID module, IMetaDataImport *import,
	mdToken token, uint32_t n_args, ClassID *args)
{
	struct path path;
	mdTypeDef type = token;

	if (TypeFromToken(token) == mdtTypeRef)
		type = path_of(import, token, &path) ? find_anywhere(info, &path, &module) : 0;
	else if (TypeFromToken(token) != mdtTypeDef)
		type = 0;
	return class_of(info, module, type, n_args, args);
}
