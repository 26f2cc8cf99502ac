/* SPDX-License-Identifier: MIT */
#include "launch/windows/modules.h"

#include <errno.h>
#include <string.h>
#include <windows.h>

#include <psapi.h> /* does not stand alone */

#include "base/clean.h"
#include "launch/windows/loader_list.h"
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

struct visitor {
	int (*visit)(const char *path, void *context);
	void *context;
};

static int visit_wide(const wchar_t *wide, void *context)
{
	const struct visitor *visitor = context;
	auto_free char *path = dnp_narrow(wide);

	return path ? visitor->visit(path, visitor->context) : -ENOMEM;
}

/* A process that begins has no list yet. */
static int visit_list(HANDLE process, struct visitor *visitor)
{
	int ret = -EAGAIN;

	for (unsigned i = 0; i < TRIES && ret == -EAGAIN; i++) {
		if (i)
			Sleep(PAUSE_MS);
		ret = dnp_loader_each(process, visit_wide, visitor);
	}
	return ret == -EAGAIN ? -ESRCH : ret;
}

/* ---- Processes of 32 bits, which have another list besides: the system knows where */

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
static int visit_each(HANDLE process, const HMODULE *modules, DWORD count, struct visitor *visitor)
{
	auto_free wchar_t *wide = calloc(PATH_UNITS, sizeof(*wide));
	int ret = wide ? 0 : -ENOMEM;

	for (DWORD i = 0; i < count && !ret; i++)
		if (GetModuleFileNameExW(process, modules[i], wide, PATH_UNITS))
			ret = visit_wide(wide, visitor);
	return ret;
}

static int visit_32_bits(HANDLE process, struct visitor *visitor)
{
	auto_free HMODULE *modules = calloc(MODULES_MAX, sizeof(*modules));
	DWORD count = 0;
	int ret = modules ? list(process, modules, &count) : -ENOMEM;

	return ret ? ret : visit_each(process, modules, count, visitor);
}

/* ---- All */

int dnp_modules_each(pid_t pid, int (*visit)(const char *path, void *context), void *context)
{
	HANDLE process =
		OpenProcess(PROCESS_QUERY_INFORMATION | PROCESS_VM_READ, FALSE, (DWORD)pid);
	struct visitor visitor = {visit, context};
	BOOL has_32_bits = FALSE;
	int ret;

	if (!process)
		return failed();
	IsWow64Process(process, &has_32_bits);
	ret = has_32_bits ? visit_32_bits(process, &visitor) : visit_list(process, &visitor);
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
