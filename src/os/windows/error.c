/* SPDX-License-Identifier: MIT */
#include "os/windows/error.h"

#include <errno.h>
#include <windows.h>

#include "base/clean.h"

int dnp_windows_error(void)
{
	static const struct {
		DWORD error;
		int code;
	} known[] = {
		{ERROR_FILE_NOT_FOUND, ENOENT},
		{ERROR_PATH_NOT_FOUND, ENOENT},
		{ERROR_INVALID_DRIVE, ENOENT},
		{ERROR_BAD_NETPATH, ENOENT},
		{ERROR_BAD_NET_NAME, ENOENT},
		{ERROR_INVALID_NAME, EINVAL},
		{ERROR_TOO_MANY_OPEN_FILES, EMFILE},
		{ERROR_ACCESS_DENIED, EACCES},
		{ERROR_SHARING_VIOLATION, EACCES},
		{ERROR_LOCK_VIOLATION, EACCES},
		{ERROR_WRITE_PROTECT, EROFS},
		{ERROR_NOT_ENOUGH_MEMORY, ENOMEM},
		{ERROR_OUTOFMEMORY, ENOMEM},
		{ERROR_COMMITMENT_LIMIT, ENOMEM},
		{ERROR_FILE_EXISTS, EEXIST},
		{ERROR_ALREADY_EXISTS, EEXIST},
		{ERROR_DISK_FULL, ENOSPC},
		{ERROR_HANDLE_DISK_FULL, ENOSPC},
		{ERROR_BROKEN_PIPE, EPIPE},
		{ERROR_NO_DATA, EPIPE},
		{ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
		{ERROR_NO_UNICODE_TRANSLATION, EILSEQ},
	};
	DWORD error = GetLastError();

	for (size_t i = 0; i < DNP_ARRAY_SIZE(known); i++)
		if (known[i].error == error)
			return -known[i].code;
	return -EIO;
}
