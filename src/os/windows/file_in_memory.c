/* SPDX-License-Identifier: MIT */
/*
 * Files that another process is given and that leave nothing: no memory can be handed on with a
 * message (os/channel.h). They have a name for as long as they are open, and are written to a disk
 * only where memory is short.
 */
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <string.h>
#include <windows.h>

#include "base/random.h"
#include "os/file.h"
#include "os/windows/error.h"
#include "os/windows/private.h"

#define SHARE_ALL (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)

/* The folder has a backslash behind it. false: the name is too long. */
static bool name_file(wchar_t name[MAX_PATH])
{
	wchar_t folder[MAX_PATH + 1];
	DWORD n = GetTempPathW(MAX_PATH + 1, folder);

	return n && n <= MAX_PATH &&
		swprintf(name, MAX_PATH, L"%lsdnprof-%016llx", folder,
			(unsigned long long)dnp_random_number()) > 0;
}

static int make(void)
{
	wchar_t name[MAX_PATH];
	struct dnp_private mine;
	int failed = name_file(name) ? dnp_private_init(&mine) : -ENAMETOOLONG;
	HANDLE file;
	int fd;

	if (failed)
		return failed;
	file = CreateFileW(name, GENERIC_READ | GENERIC_WRITE, SHARE_ALL, &mine.attributes,
		CREATE_NEW, FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
	if (file == INVALID_HANDLE_VALUE)
		return dnp_windows_error();
	fd = _open_osfhandle((intptr_t)file, O_RDWR | O_BINARY | _O_NOINHERIT);
	if (fd >= 0)
		return fd;
	CloseHandle(file);
	return -EMFILE;
}

int dnp_file_in_memory(struct dnp_err *err)
{
	int fd = make();

	return fd >= 0 ? fd
		       : dnp_err(err, fd,
				 "cannot make a temporary file: %s; set TEMP to a folder that you "
				 "may write to",
				 strerror(-fd));
}

/* Any ordinary one does: it waits for nobody either. */
bool dnp_file_is_in_memory(int fd)
{
	return dnp_file_is_readable_back(fd);
}
