/* SPDX-License-Identifier: MIT */
#include "launch/windows/modules.h"

#include <errno.h>
#include <string.h>
#include <windows.h>

#include <psapi.h> /* does not stand alone */

#include "base/clean.h"
#include "os/library.h"
#include "os/windows/wide.h"

#define MODULES_MAX 4096u
#define PATH_UNITS  32768u

/* A list that changes while it is read cannot be: another moment it can. */
#define TRIES    20
#define PAUSE_MS 5u

static int failed(void)
{
	return GetLastError() == ERROR_ACCESS_DENIED ? -EACCES : -ESRCH;
}

static int list(HANDLE process, HMODULE *modules, DWORD *count)
{
	for (unsigned i = 0; i < TRIES; i++) {
		DWORD bytes;

		if (EnumProcessModulesEx(process, modules, MODULES_MAX * sizeof(*modules), &bytes,
			    LIST_MODULES_ALL)) {
			*count = bytes / sizeof(*modules);
			if (*count > MODULES_MAX)
				*count = MODULES_MAX;
			return 0;
		}
		if (GetLastError() != ERROR_PARTIAL_COPY)
			break;
		Sleep(PAUSE_MS);
	}
	return failed();
}

/* One that has gone meanwhile has no name any more. */
static int visit_each(HANDLE process, const HMODULE *modules, DWORD count,
	int (*visit)(const char *path, void *context), void *context)
{
	auto_free wchar_t *wide = calloc(PATH_UNITS, sizeof(*wide));
	int ret = wide ? 0 : -ENOMEM;

	for (DWORD i = 0; i < count && !ret; i++) {
		auto_free char *path = NULL;

		if (!GetModuleFileNameExW(process, modules[i], wide, PATH_UNITS))
			continue;
		path = dnp_narrow(wide);
		ret = path ? visit(path, context) : -ENOMEM;
	}
	return ret;
}

int dnp_modules_each(pid_t pid, int (*visit)(const char *path, void *context), void *context)
{
	auto_free HMODULE *modules = calloc(MODULES_MAX, sizeof(*modules));
	HANDLE process =
		OpenProcess(PROCESS_QUERY_INFORMATION | PROCESS_VM_READ, FALSE, (DWORD)pid);
	DWORD count = 0;
	int ret;

	if (!process)
		return failed();
	ret = modules ? list(process, modules, &count) : -ENOMEM;
	if (!ret)
		ret = visit_each(process, modules, count, visit, context);
	CloseHandle(process);
	return ret;
}

static int keep_first(const char *path, void *context)
{
	*(char **)context = strdup(path);
	return 1;
}

int dnp_modules_program(pid_t pid, char **path)
{
	int ret = dnp_modules_each(pid, keep_first, path);

	return ret < 0 ? ret : 0;
}

bool dnp_modules_is(const char *path, const char *name)
{
	return !_stricmp(path + dnp_path_base_at(path, strlen(path)), name);
}
