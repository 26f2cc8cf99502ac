/* SPDX-License-Identifier: MIT */
#include "clr/lifetime.h"

#include <stdatomic.h>

#include "clr/hresult.h"

#define TYPE_ARGS_MAX 16u
#define NESTED_MAX    4 /* List<List<...>> */

static _Atomic bool collectible_seen;

bool dnp_module_ends(const struct dnp_info *info, ModuleID module)
{
	const uint8_t *base;
	AssemblyID assembly;
	uint32_t length, flags = 0;

	if (!module ||
		FAILED(dnp_com(info->com, GetModuleInfo2, module, &base, 0, &length, NULL,
			&assembly, &flags)) ||
		!(flags & COR_PRF_MODULE_COLLECTIBLE))
		return false;
	atomic_store_explicit(&collectible_seen, true, memory_order_relaxed);
	return true;
}

/* What an array, or one of arrays, is of; else the type itself. */
static ClassID element_of(const struct dnp_info *info, ClassID class)
{
	ClassID element;

	while (dnp_com(info->com, IsArrayClass, class, NULL, &element, NULL) == S_OK)
		class = element;
	return class;
}

static bool any_ends(const struct dnp_info *info, const ClassID *classes, uint32_t n, int nested,
	ModuleID *with);

/* As dnp_method_ends, for what is made over a type or its arguments; 0: no type. */
static bool type_ends(const struct dnp_info *info, ClassID class, int nested, ModuleID *with)
{
	ClassID args[TYPE_ARGS_MAX], parent;
	uint32_t n_args = 0;
	ModuleID module = 0;
	mdTypeDef token;

	if (!class)
		return false;
	if (FAILED(dnp_com(info->com, GetClassIDInfo2, element_of(info, class), &module, &token,
		    &parent, TYPE_ARGS_MAX, &n_args, args)))
		return true;
	if (dnp_module_ends(info, module)) {
		*with = module;
		return true;
	}
	if (!nested || n_args > TYPE_ARGS_MAX)
		return n_args > 0;
	return any_ends(info, args, n_args, nested - 1, with);
}

/* A module that is known goes before one that is not. */
static bool any_ends(
	const struct dnp_info *info, const ClassID *classes, uint32_t n, int nested, ModuleID *with)
{
	bool ends = false;

	for (uint32_t i = 0; i < n && !*with; i++)
		ends |= type_ends(info, classes[i], nested, with);
	return ends;
}

bool dnp_method_ends(const struct dnp_info *info, FunctionID function, ModuleID *with)
{
	ClassID types[1 + TYPE_ARGS_MAX] = {0}; /* its own, then its arguments */
	uint32_t n_args = 0;
	ModuleID module = 0;
	mdToken token;

	*with = 0;
	if (FAILED(dnp_com(info->com, GetFunctionInfo2, function, 0, &types[0], &module, &token,
		    TYPE_ARGS_MAX, &n_args, types + 1)) ||
		n_args > TYPE_ARGS_MAX)
		return true;
	if (dnp_module_ends(info, module)) {
		*with = module;
		return true;
	}
	return atomic_load_explicit(&collectible_seen, memory_order_relaxed) &&
		any_ends(info, types, 1 + n_args, NESTED_MAX, with);
}

bool dnp_class_ends(const struct dnp_info *info, ClassID class)
{
	ModuleID with = 0;

	return atomic_load_explicit(&collectible_seen, memory_order_relaxed) &&
		type_ends(info, class, NESTED_MAX, &with);
}

/* What takes a type along. */
struct takers {
	ModuleID one; /* 0: none was found */
	bool others;  /* there are more, or may be */
};

static void find_takers(
	const struct dnp_info *info, ClassID class, int nested, struct takers *takers)
{
	ClassID args[TYPE_ARGS_MAX], parent;
	uint32_t n_args = 0;
	ModuleID module = 0;
	mdTypeDef token;

	if (!class)
		return;
	if (FAILED(dnp_com(info->com, GetClassIDInfo2, element_of(info, class), &module, &token,
		    &parent, TYPE_ARGS_MAX, &n_args, args)) ||
		n_args > TYPE_ARGS_MAX || (n_args && !nested)) {
		takers->others = true;
		return;
	}
	if (dnp_module_ends(info, module)) {
		takers->others |= takers->one && takers->one != module;
		takers->one = module;
	}
	for (uint32_t i = 0; i < n_args; i++)
		find_takers(info, args[i], nested - 1, takers);
}

bool dnp_class_ends_with(const struct dnp_info *info, ClassID class, ModuleID *with)
{
	struct takers takers = {0};

	if (atomic_load_explicit(&collectible_seen, memory_order_relaxed))
		find_takers(info, class, NESTED_MAX, &takers);
	*with = takers.others ? 0 : takers.one;
	return takers.one || takers.others;
}

void dnp_lifetime_forget(void)
{
	atomic_store_explicit(&collectible_seen, false, memory_order_relaxed);
}
