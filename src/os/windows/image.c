/* SPDX-License-Identifier: MIT */
#include "os/image.h"

#include <errno.h>
#include <windows.h>

#include "base/clean.h"
#include "os/windows/error.h"
#include "os/windows/wide.h"

/* A drive's letter, and a place on it. */
static bool is_on_drive(struct dnp_str path)
{
	return path.n > 3 && ((path.p[0] | 0x20) >= 'a' && (path.p[0] | 0x20) <= 'z') &&
		path.p[1] == ':' && path.p[2] == '\\' && !memchr(path.p, 0, path.n);
}

/* With this before it a name is taken as it is: none in it is a device. */
static wchar_t *literal(struct dnp_str path)
{
	auto_free char *text = malloc(path.n + 5);

	if (!text)
		return NULL;
	memcpy(text, "\\\\?\\", 4);
	memcpy(text + 4, path.p, path.n);
	text[path.n + 4] = '\0';
	return dnp_wide(text);
}

static int map(HANDLE file, struct dnp_file_bytes *bytes)
{
	LARGE_INTEGER size;
	HANDLE mapping;
	void *view;

	if (GetFileType(file) != FILE_TYPE_DISK || !GetFileSizeEx(file, &size) || !size.QuadPart)
		return -EINVAL;
	mapping = CreateFileMappingW(file, NULL, PAGE_READONLY, 0, 0, NULL);
	if (!mapping)
		return dnp_windows_error();
	view = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0);
	CloseHandle(mapping); /* the view keeps it, and the file as long as it is */
	if (!view)
		return dnp_windows_error();
	*bytes = (struct dnp_file_bytes){view, (size_t)size.QuadPart, true};
	return 0;
}

int dnp_image_load(struct dnp_str path, struct dnp_file_bytes *bytes)
{
	auto_free wchar_t *wide = is_on_drive(path) ? literal(path) : NULL;
	HANDLE file;
	int status;

	if (!wide)
		return -EINVAL;
	file = CreateFileW(wide, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL,
		OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
	if (file == INVALID_HANDLE_VALUE)
		return dnp_windows_error();
	status = map(file, bytes);
	CloseHandle(file);
	return status;
}
