/* SPDX-License-Identifier: MIT */
#include "unwind/code.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/clean.h"
#include "clr/hresult.h"
#include "clr/r2r.h"
#include "os/clock.h"
#include "os/modules.h"
#include "unwind/managed.h"

#define CODES_MAX 64u /* native versions of one method that are looked at */

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

void dnp_code_compiled(
	const struct dnp_info *info, FunctionID function, uint32_t method, bool dynamic)
{
	uintptr_t starts[CODES_MAX];
	uint32_t n = 0;

	if (FAILED(dnp_com(
		    info->com, GetNativeCodeStartAddresses, function, 0, CODES_MAX, &n, starts)))
		return;
	for (uint32_t i = 0; i < n && i < CODES_MAX; i++)
		/* The list holds precompiled code too, and what earlier calls have told. */
		if (!dnp_r2r_find(starts[i]) && !dnp_jit_code_known(starts[i], method))
			note_code(info, function, method, starts[i], dynamic);
}

void dnp_code_module_loaded(const struct dnp_info *info, ModuleID module)
{
	const uint8_t *base = NULL;
	uint32_t length, flags = 0;
	AssemblyID assembly;

	if (SUCCEEDED(dnp_com(info->com, GetModuleInfo2, module, &base, 0, &length, NULL, &assembly,
		    &flags)) &&
		base && !(flags & COR_PRF_MODULE_FLAT_LAYOUT))
		dnp_r2r_add((uintptr_t)base);
}

void *dnp_code_load_jit(void)
{
	static const char runtime[] = "libcoreclr.so", jit[] = "libclrjit.so";
	const struct dnp_elf_module *module;
	char path[4096];

	dnp_modules_refresh(dnp_now_ns());
	for (size_t i = 0; (module = dnp_module_get(i)); i++) {
		const char *slash = strrchr(module->path, '/');

		if (!slash || strcmp(slash + 1, runtime) != 0)
			continue;
		if (snprintf(path, sizeof(path), "%.*s%s", (int)(slash + 1 - module->path),
			    module->path, jit) < (int)sizeof(path))
			return dlopen(path, RTLD_LAZY | RTLD_LOCAL);
		break;
	}
	return NULL;
}
