/* SPDX-License-Identifier: MIT */
#include "unwind/code.h"

#include <stdio.h>
#include <string.h>

#include "base/clean.h"
#include "clr/hresult.h"
#include "clr/r2r.h"
#include "os/clock.h"
#include "os/library.h"
#include "os/mem.h"
#include "os/modules.h"
#include "unwind/managed.h"

#define CODES_MAX  64u /* native versions of one method's IL that are looked at */
#define REJITS_MAX 64u /* versions of its IL, the newest first */

static void note_code(const struct dnp_info *info, FunctionID function, uint32_t method,
	uintptr_t start, bool dynamic)
{
	COR_PRF_CODE_INFO infos[4];
	uint32_t n = 0;

	if (FAILED(dnp_com(info->com, GetCodeInfo4, start, DNP_ARRAY_SIZE(infos), &n, infos)))
		return;
	for (uint32_t i = 0; i < n && i < DNP_ARRAY_SIZE(infos); i++)
		dnp_jit_code_register(function, infos[i].startAddress, (uint32_t)infos[i].size,
			method, dynamic, dnp_now_ns());
}

static void note_version(const struct dnp_info *info, FunctionID function, ReJITID rejit,
	uint32_t method, bool dynamic)
{
	uintptr_t starts[CODES_MAX];
	uint32_t n = 0;

	if (FAILED(dnp_com(info->com, GetNativeCodeStartAddresses, function, rejit, CODES_MAX, &n,
		    starts)))
		return;
	for (uint32_t i = 0; i < n && i < CODES_MAX; i++)
		/* The list holds precompiled code too, and what earlier calls have told. */
		if (!dnp_r2r_find(starts[i]) && !dnp_jit_code_known(starts[i], method))
			note_code(info, function, method, starts[i], dynamic);
}

void dnp_code_compiled(
	const struct dnp_info *info, FunctionID function, uint32_t method, bool dynamic)
{
	ReJITID rejits[REJITS_MAX];
	uint32_t n = 0;

	note_version(info, function, 0, method, dynamic);
	/* Code of IL that a profiler has put in the place of the method's own. */
	if (dynamic || FAILED(dnp_com(info->com, GetReJITIDs, function, REJITS_MAX, &n, rejits)))
		return;
	for (uint32_t i = 0; i < n && i < REJITS_MAX; i++)
		if (rejits[i])
			note_version(info, function, rejits[i], method, dynamic);
}

uintptr_t dnp_code_of_frame(dnp_frame_word word)
{
	uintptr_t address = DNP_FRAME_ADDR(word);

	return (word & DNP_FRAME_EXACT) || dnp_walk_begins(address) ? address : address - 1;
}

bool dnp_code_may_be_asked_for(uintptr_t pc)
{
	return !dnp_r2r_is_inside(pc) && dnp_mem_is_generated_code(pc);
}

/*
 * A thread has been there: its registers said so, or a call has returned there or will. Other words
 * are what a walk that went astray takes for return addresses.
 */
static bool has_run(dnp_frame_word frame)
{
	return (frame & DNP_FRAME_EXACT) || dnp_walk_is_behind_call(DNP_FRAME_ADDR(frame));
}

bool dnp_code_frame_may_be_asked_for(dnp_frame_word frame)
{
	uintptr_t pc = dnp_code_of_frame(frame);
	const struct dnp_r2r_image *image;
	struct dnp_r2r_function function;

	if (DNP_FRAME_KIND(frame) != DNP_WALK_R2R)
		return true;
	image = dnp_r2r_find(pc);
	return image && dnp_r2r_function_at(image, pc, &function) &&
		(dnp_r2r_is_called_before(function.begin) || has_run(frame));
}

void dnp_code_frame_is_known(dnp_frame_word frame)
{
	uintptr_t pc = dnp_code_of_frame(frame);
	const struct dnp_r2r_image *image = dnp_r2r_find(pc);
	struct dnp_r2r_function function;

	if (image && dnp_r2r_function_at(image, pc, &function))
		dnp_r2r_called_before(function.begin);
}

/* Where a module is mapped so that its code could be executed; 0: nowhere. */
static uintptr_t image_of(const struct dnp_info *info, ModuleID module)
{
	const uint8_t *base = NULL;
	uint32_t length, flags = 0;
	AssemblyID assembly;

	if (FAILED(dnp_com(info->com, GetModuleInfo2, module, &base, 0, &length, NULL, &assembly,
		    &flags)) ||
		(flags & COR_PRF_MODULE_FLAT_LAYOUT))
		return 0;
	return (uintptr_t)base;
}

void dnp_code_module_loaded(const struct dnp_info *info, ModuleID module)
{
	uintptr_t base = image_of(info, module);

	if (base)
		dnp_r2r_add(base);
}

void dnp_code_module_unloading(const struct dnp_info *info, ModuleID module)
{
	uintptr_t base = image_of(info, module);

	if (base)
		dnp_r2r_remove(base);
}

/* Whether a path is that of a library of this name. */
static bool is_library(const char *path, const char *name)
{
	const char *base = dnp_path_base(path);
	size_t prefix = strlen(dnp_library_prefix), n = strlen(name);

	return !strncmp(base, dnp_library_prefix, prefix) && !strncmp(base + prefix, name, n) &&
		!strcmp(base + prefix + n, dnp_library_suffix);
}

void *dnp_code_load_jit(void)
{
	const struct dnp_elf_module *module;
	char path[4096];

	dnp_modules_refresh();
	for (size_t i = 0; (module = dnp_module_get(i)); i++) {
		if (!is_library(module->path, "coreclr"))
			continue;
		if (snprintf(path, sizeof(path), "%.*s%sclrjit%s",
			    (int)(dnp_path_base(module->path) - module->path), module->path,
			    dnp_library_prefix, dnp_library_suffix) < (int)sizeof(path))
			return dnp_library_open(path);
		break;
	}
	return NULL;
}
