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

char *dnp_narrow(const wchar_t *text)
{
	int n = WideCharToMultiByte(CP_UTF8, 0, text, -1, NULL, 0, NULL, NULL);
	char *narrow = n > 0 ? malloc((size_t)n) : NULL;

	if (narrow)
		WideCharToMultiByte(CP_UTF8, 0, text, -1, narrow, n, NULL, NULL);
	return narrow;
}

char *dnp_getenv(const char *name)
{
	wchar_t *wide = dnp_wide(name), *value = wide ? _wgetenv(wide) : NULL;

	free(wide);
	return value ? dnp_narrow(value) : NULL;
}

int setenv(const char *name, const char *value, int overwrite)
{
	wchar_t *wide_name = dnp_wide(name), *wide_value = dnp_wide(value);
	int failed = !wide_name || !wide_value ? -1 : 0;

	if (!failed && (overwrite || !_wgetenv(wide_name)))
		failed = _wputenv_s(wide_name, wide_value) ? -1 : 0;
	free(wide_name);
	free(wide_value);
	return failed;
}

int unsetenv(const char *name)
{
	return setenv(name, "", 1);
}
