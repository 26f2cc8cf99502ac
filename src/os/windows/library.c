/* SPDX-License-Identifier: MIT */
#include "os/library.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include <psapi.h> /* does not stand alone */

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

#define PATH_UNITS_MAX 32768
#define MODULES_MAX    4096

/* False: it is gone, or there is no memory. */
static bool path_of(HMODULE library, wchar_t *path)
{
	DWORD n = GetModuleFileNameW(library, path, PATH_UNITS_MAX);

	return n && n < PATH_UNITS_MAX;
}

static const wchar_t *wide_base(const wchar_t *path)
{
	const wchar_t *slash = wcsrchr(path, L'\\');

	return slash ? slash + 1 : path;
}

struct twins {
	HMODULE own, modules[MODULES_MAX];
	wchar_t own_path[PATH_UNITS_MAX], path[PATH_UNITS_MAX];
};

static bool is_twin(struct twins *twins, HMODULE library)
{
	return library != twins->own && path_of(library, twins->path) &&
		_wcsicmp(wide_base(twins->path), wide_base(twins->own_path)) == 0;
}

static void tell_twin(HMODULE twin, const char *symbol, void (*tell)(void *exported, void *context),
	void *context)
{
	HMODULE held;
	void *exported;

	if (!GetModuleHandleExW(
		    GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, (LPCWSTR)(void *)twin, &held))
		return;
	exported = dnp_library_function(held, symbol);
	if (exported)
		tell(exported, context);
	FreeLibrary(held);
}

void dnp_library_twins(
	const char *symbol, void (*tell)(void *exported, void *context), void *context)
{
	static const char here;
	auto_free struct twins *twins = calloc(1, sizeof(*twins));
	DWORD bytes = 0;

	if (!twins ||
		!GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
				GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
			(LPCWSTR)(const void *)&here, &twins->own) ||
		!path_of(twins->own, twins->own_path) ||
		!EnumProcessModules(
			GetCurrentProcess(), twins->modules, sizeof(twins->modules), &bytes))
		return;
	for (size_t i = 0; i < bytes / sizeof(HMODULE) && i < MODULES_MAX; i++)
		if (is_twin(twins, twins->modules[i]))
			tell_twin(twins->modules[i], symbol, tell, context);
}

size_t dnp_path_base_at(const char *path, size_t n)
{
	size_t drive = n >= 2 && path[1] == ':' ? 2 : 0;

	while (n > drive && path[n - 1] != '\\' && path[n - 1] != '/')
		n--;
	return n;
}

bool dnp_path_same(const char *left, const char *right)
{
	auto_free wchar_t *a = dnp_wide(left);
	auto_free wchar_t *b = dnp_wide(right);

	return a && b && CompareStringOrdinal(a, -1, b, -1, TRUE) == CSTR_EQUAL;
}
