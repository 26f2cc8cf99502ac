/* SPDX-License-Identifier: MIT */
#include "os/windows/wide.h"

#include <errno.h>
#include <stdlib.h>
#include <windows.h>

wchar_t *dnp_wide(const char *text)
{
	int n = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
	wchar_t *wide;

	if (n <= 0) {
		errno = EILSEQ;
		return NULL;
	}
	wide = calloc((size_t)n, sizeof(*wide));
	if (wide)
		MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, wide, n);
	return wide;
}

/* A folder's name may have 247, and what is put behind it has to have room, too. */
#define SHORT_UNITS 160u

/* Before C:\a, and in the place of the first letter of \\host\share\a. */
#define PREFIX         L"\\\\?\\"
#define NETWORK_PREFIX L"\\\\?\\UNC"
#define PREFIX_UNITS   4u
#define NETWORK_UNITS  7u

/* NULL: it is short, or says itself that it is meant so; or there is no memory for more. */
static wchar_t *lengthen(const wchar_t *name)
{
	DWORD units = GetFullPathNameW(name, 0, NULL, NULL);
	wchar_t *path, *full;

	if (units <= SHORT_UNITS || !wcsncmp(name, PREFIX, PREFIX_UNITS))
		return NULL;
	path = calloc(units + NETWORK_UNITS, sizeof(*path));
	if (!path)
		return NULL;
	full = path + NETWORK_UNITS - 1;
	GetFullPathNameW(name, units, full, NULL);
	if (!wcsncmp(full, L"\\\\", 2))
		return wmemcpy(path, NETWORK_PREFIX, NETWORK_UNITS);
	wmemmove(path + PREFIX_UNITS, full, wcslen(full) + 1);
	return wmemcpy(path, PREFIX, PREFIX_UNITS);
}

wchar_t *dnp_wide_path(const char *name)
{
	wchar_t *wide = dnp_wide(name), *path = wide ? lengthen(wide) : NULL;

	if (!path)
		return wide;
	free(wide);
	return path;
}

char *dnp_narrow(const wchar_t *text)
{
	int n = WideCharToMultiByte(CP_UTF8, 0, text, -1, NULL, 0, NULL, NULL);
	char *narrow = n > 0 ? malloc((size_t)n) : NULL;

	if (narrow)
		WideCharToMultiByte(CP_UTF8, 0, text, -1, narrow, n, NULL, NULL);
	return narrow;
}

/* Out of \\?\C:\a or \\?\UNC\host\share\a. */
static const wchar_t *without_prefix(wchar_t *final)
{
	if (wcsncmp(final, L"\\\\?\\", 4))
		return final;
	if (wcsncmp(final + 4, L"UNC\\", 4))
		return final + 4;
	final[6] = L'\\';
	return final + 6;
}

wchar_t *dnp_wide_final(wchar_t *path, size_t units)
{
	HANDLE file = CreateFileW(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
		NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
	wchar_t *final = calloc(units, sizeof(*final));
	DWORD n = 0;

	if (file != INVALID_HANDLE_VALUE) {
		if (final)
			n = GetFinalPathNameByHandleW(
				file, final, (DWORD)units, FILE_NAME_NORMALIZED);
		CloseHandle(file);
	}
	if (n && n < units)
		wcscpy(path, without_prefix(final));
	free(final);
	return path;
}

/* The system's own: the C library's have lost what the old code page has no room for. */
static wchar_t *get_variable(const wchar_t *name)
{
	DWORD n = GetEnvironmentVariableW(name, NULL, 0);
	wchar_t *value = n ? calloc(n, sizeof(*value)) : NULL;

	if (value)
		GetEnvironmentVariableW(name, value, n);
	return value;
}

char *dnp_getenv(const char *name)
{
	wchar_t *wide = dnp_wide(name), *value = wide ? get_variable(wide) : NULL;
	char *narrow = value ? dnp_narrow(value) : NULL;

	free(wide);
	free(value);
	return narrow;
}

int setenv(const char *name, const char *value, int overwrite)
{
	wchar_t *wide_name = dnp_wide(name), *wide_value = dnp_wide(value);
	int failed = !wide_name || !wide_value ? -1 : 0;

	if (!failed && (overwrite || !GetEnvironmentVariableW(wide_name, NULL, 0)))
		failed = SetEnvironmentVariableW(wide_name, wide_value) ? 0 : -1;
	free(wide_name);
	free(wide_value);
	return failed;
}

int unsetenv(const char *name)
{
	wchar_t *wide = dnp_wide(name);
	int failed = -1;

	if (wide &&
		(SetEnvironmentVariableW(wide, NULL) || GetLastError() == ERROR_ENVVAR_NOT_FOUND))
		failed = 0;
	free(wide);
	return failed;
}
