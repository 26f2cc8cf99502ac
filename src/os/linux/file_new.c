/* SPDX-License-Identifier: MIT */
/* What the agent needs of files, with the oldest C library. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/file.h"
#include "os/fds.h"

int dnp_file_create_new(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

int dnp_folder_is_own(const char *path, uint32_t owner)
{
	struct stat st;

	if (syscall(SYS_newfstatat, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	return st.st_uid == owner || st.st_uid == geteuid() ? 0 : -EPERM;
}

ssize_t dnp_file_write(int fd, const void *bytes, size_t n)
{
	ssize_t done = write(fd, bytes, n);

	return done < 0 ? -errno : done;
}

int dnp_file_again(int fd)
{
	int again = fcntl(fd, F_DUPFD_CLOEXEC, DNP_FD_LOW);

	/* Most systems let a program have no more than that. Never a standard stream's number. */
	if (again < 0)
		again = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	return again < 0 ? -errno : again;
}

struct dnp_file_id dnp_file_id(int fd)
{
	struct stat st; /* read by system call: libc's fstat is newer than the oldest libc */

	if (syscall(SYS_fstat, fd, &st))
		return (struct dnp_file_id){0};
	return (struct dnp_file_id){(uint64_t)st.st_dev, (uint64_t)st.st_ino};
}

int dnp_file_inherited(int fd, uint64_t device, uint64_t number)
{
	if (!dnp_file_is(fd, (struct dnp_file_id){device, number}))
		return -ENOENT;
	return fcntl(fd, F_SETFD, FD_CLOEXEC) ? -errno : 0;
}

bool dnp_file_is_readable_back(int fd)
{
	struct stat st;

	return !syscall(SYS_fstat, fd, &st) && S_ISREG(st.st_mode) &&
		(fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR;
}

int dnp_file_in_memory(struct dnp_err *err)
{
	int fd = memfd_create("dnprof-stack", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	return fd >= 0 ? fd
		       : dnp_err(err, -errno, "cannot make a file in memory: %s; free some memory",
				 strerror(errno));
}

/* Only such a file has seals. */
bool dnp_file_is_in_memory(int fd)
{
	return fcntl(fd, F_GET_SEALS) >= 0;
}
