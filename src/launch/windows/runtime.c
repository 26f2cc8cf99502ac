/* SPDX-License-Identifier: MIT */
#include "launch/runtime.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <windows.h>

#include "base/clean.h"
#include "launch/windows/modules.h"
#include "launch/windows/pipe.h"
#include "os/windows/wide.h"

static int keep(char **field, const char *path)
{
	if (!*field)
		*field = strdup(path);
	return *field ? 0 : -ENOMEM;
}

/*
 * Other profilers are not told from the many libraries of the system that have the same entry
 * (COM).
 */
static int see(const char *path, void *context)
{
	struct dnp_runtime *runtime = context;

	if (dnp_modules_is(path, "dnprof.dll"))
		return keep(&runtime->agent, path);
	return dnp_modules_is(path, "coreclr.dll") ? keep(&runtime->library, path) : 0;
}

/* The numbers in a file's resource, behind that mark. */
static void read_version(HMODULE file, char out[32])
{
	HRSRC found = FindResourceW(file, MAKEINTRESOURCEW(VS_VERSION_INFO), (LPCWSTR)RT_VERSION);
	HGLOBAL loaded = found ? LoadResource(file, found) : NULL;
	const DWORD signature = VS_FFI_SIGNATURE;
	size_t n = found ? SizeofResource(file, found) : 0;
	const void *bytes = loaded ? LockResource(loaded) : NULL;
	const char *at = bytes ? memmem(bytes, n, &signature, sizeof(signature)) : NULL;
	VS_FIXEDFILEINFO info;
	char number[48];

	if (!at || n - (size_t)(at - (const char *)bytes) < sizeof(info))
		return;
	memcpy(&info, at, sizeof(info));
	snprintf(number, sizeof(number), "%u.%u.%u.%u", HIWORD(info.dwFileVersionMS),
		LOWORD(info.dwFileVersionMS), HIWORD(info.dwFileVersionLS),
		LOWORD(info.dwFileVersionLS));
	dnp_runtime_version(number, out);
}

static void find_version(struct dnp_runtime *runtime)
{
	auto_free wchar_t *wide = dnp_wide(runtime->library);
	HMODULE file = wide ? LoadLibraryExW(wide, NULL,
				      LOAD_LIBRARY_AS_DATAFILE | LOAD_LIBRARY_AS_IMAGE_RESOURCE)
			    : NULL;

	if (!file)
		return;
	read_version(file, runtime->version);
	FreeLibrary(file);
}

int dnp_runtime_look(struct dnp_runtime *runtime, pid_t pid)
{
	int status;

	*runtime = (struct dnp_runtime){0};
	status = dnp_modules_each(pid, see, runtime);
	runtime->readable = !status;
	runtime->found = runtime->library || dnp_pipe_is_there(pid);
	if (runtime->library)
		find_version(runtime);
	if (status && status != -EACCES) {
		dnp_runtime_done(runtime);
		return status;
	}
	return 0;
}
