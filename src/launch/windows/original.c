/* SPDX-License-Identifier: MIT */
#include <io.h>
#include <stdbool.h>
#include <windows.h>

#include "base/clean.h"
#include "launch/copy.h"
#include "os/windows/wide.h"

#define PATH_UNITS 32768u
#define SHARE_ALL  (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)

static bool is_same(HANDLE file, const wchar_t *path)
{
	HANDLE there = CreateFileW(
		path, 0, SHARE_ALL, NULL, OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT, NULL);
	BY_HANDLE_FILE_INFORMATION a, b;
	bool same;

	if (there == INVALID_HANDLE_VALUE)
		return false;
	same = GetFileInformationByHandle(file, &a) && GetFileInformationByHandle(there, &b) &&
		a.dwVolumeSerialNumber == b.dwVolumeSerialNumber &&
		a.nFileIndexHigh == b.nFileIndexHigh && a.nFileIndexLow == b.nFileIndexLow;
	CloseHandle(there);
	return same;
}

/* The system puts this in front of names; others do not know it: \\?\C:\… */
static const wchar_t *plain(const wchar_t *path)
{
	return !wcsncmp(path, L"\\\\?\\", 4) && path[4] && path[5] == L':' ? path + 4 : path;
}

char *dnp_copy_original(int fd)
{
	HANDLE file = (HANDLE)_get_osfhandle(fd);
	auto_free wchar_t *path = calloc(PATH_UNITS, sizeof(*path));
	DWORD n = path ? GetFinalPathNameByHandleW(file, path, PATH_UNITS, 0) : 0;

	return n && n < PATH_UNITS && is_same(file, path) ? dnp_narrow(plain(path)) : NULL;
}
