/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clean.h"
#include "launch/copy.h"

char *dnp_copy_original(int fd)
{
	char link[32], path[PATH_MAX];
	struct stat there, here;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return NULL;
	path[n] = '\0';
	if (fstat(fd, &there) || lstat(path, &here) || there.st_dev != here.st_dev ||
		there.st_ino != here.st_ino)
		return NULL;
	return strdup(path);
}
