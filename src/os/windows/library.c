/* SPDX-License-Identifier: MIT */
#include "os/library.h"

#include <errno.h>
#include <stdio.h>
#include <windows.h>

#include "base/clean.h"
#include "os/windows/wide.h"

int dnp_library_keep(void)
{
	static const char here;
	HMODULE library;

	return GetModuleHandleExW(
		       GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
		       (LPCWSTR)(const void *)&here, &library)
		? 0
		: -ENOENT;
}

const char dnp_path_slash = '\\';
const char dnp_library_prefix[] = "", dnp_library_suffix[] = ".dll";
const bool dnp_library_lets_through = true; /* they are structured exceptions */

void *dnp_library_open(const char *path)
{
	auto_free wchar_t *wide = dnp_wide(path);

	return wide ? LoadLibraryW(wide) : NULL;
}

void dnp_library_close(void *library)
{
	FreeLibrary(library);
}

void *dnp_library_function(void *library, const char *symbol)
{
	return (void *)(uintptr_t)GetProcAddress(library, symbol);
}

const char *dnp_library_error(void)
{
	static _Thread_local char text[32];

	snprintf(text, sizeof(text), "Windows error %lu", GetLastError());
	return text;
}

void *dnp_library_symbol(const char *library, const char *symbol)
{
	char name[64];
	HMODULE loaded;

	snprintf(name, sizeof(name), "%s%s", library, dnp_library_suffix);
	loaded = GetModuleHandleA(name);
	return loaded ? (void *)(uintptr_t)GetProcAddress(loaded, symbol) : NULL;
}

size_t dnp_path_base_at(const char *path, size_t n)
{
	while (n && path[n - 1] != '\\' && path[n - 1] != '/')
		n--;
	return n;
}
