/* SPDX-License-Identifier: MIT */
#include "os/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clean.h"
#include "os/clock.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1 /* linux/fs.h */
#endif

/* Bytes of a mapped file were looked at that are there no more. */
static void on_cut(int signo)
{
	static const char said[] =
		"dnprof: a file was cut short while it was read: somebody writes "
		"to it; make a copy, and read that\n";

	(void)signo;
	if (write(STDERR_FILENO, said, sizeof(said) - 1) < 0)
		_exit(2);
	_exit(1);
}

/*
 * Whether others than this user may write to it between two looks at it: they are to have no say in
 * what is read the second time. A file without a name was given by somebody, who has it, too.
 */
static bool is_others(const struct stat *st)
{
	return st->st_uid != geteuid() || !st->st_nlink || (st->st_mode & (S_IWGRP | S_IWOTH));
}

/*
 * Whether somebody has it open for writing, or mapped so: who was given its descriptor, by a file's
 * rights may do nothing. A lease says that nobody has; where there are none, that is not known. Who
 * opens it meanwhile waits for a moment, and the signal that tells us of it does nothing.
 */
static bool is_written(int fd)
{
	return fcntl(fd, F_SETSIG, SIGURG) || fcntl(fd, F_SETLEASE, F_RDLCK) ||
		fcntl(fd, F_SETLEASE, F_UNLCK);
}

int dnp_file_load(const char *path, struct dnp_file_bytes *bytes)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *mapped;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))
		return -ENODEV;
	if (!S_ISREG(st.st_mode) || !st.st_size || is_others(&st) || is_written(fd))
		return dnp_file_read_all(fd, bytes);
	mapped = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (mapped == MAP_FAILED)
		return dnp_file_read_all(fd, bytes);
	signal(SIGBUS, on_cut);
	*bytes = (struct dnp_file_bytes){mapped, (size_t)st.st_size, true};
	return 0;
}

void dnp_file_unmap(const uint8_t *bytes, size_t n)
{
	munmap((void *)(uintptr_t)bytes, n);
}

void dnp_file_drop(const uint8_t *bytes, size_t n)
{
	madvise((void *)(uintptr_t)bytes, n, MADV_DONTNEED);
}

int dnp_file_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno : fd;
}

ssize_t dnp_file_read_at(int fd, void *bytes, size_t n, uint64_t at)
{
	ssize_t got;

	do
		got = pread(fd, bytes, n, (off_t)at);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

int dnp_file_append(const char *path)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno : fd;
}

int dnp_file_create(char *path)
{
	/* Mode 0600, O_EXCL: no link is followed. */
	int fd = mkostemp(path, O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

#define NAME_LENGTH 6

/* The part of the name that is made up; NULL: it has been. */
static char *open_end(char *path)
{
	char *end = strrchr(path, '.');

	return end && !strcmp(end + 1, "XXXXXX") ? end + 1 : NULL;
}

static void link_of(int fd, char link[32])
{
	snprintf(link, 32, "/proc/self/fd/%d", fd);
}

int dnp_file_begin(char *path)
{
	const char *slash = strrchr(path, '/');
	auto_free char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	char link[32];
	int fd = folder ? open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600) : -1;

	if (fd < 0)
		return dnp_file_create(path);
	link_of(fd, link);
	if (!access(link, F_OK) || errno != ENOENT)
		return fd;
	close(fd); /* without /proc it would stay without one */
	return dnp_file_create(path);
}

int dnp_file_name(int fd, char *path)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
	char *end = open_end(path), link[32];
	int ret = 0;

	link_of(fd, link);
	for (uint64_t now = dnp_now_ns(); end; now += 1 + now % 997) {
		for (unsigned i = 0; i < NAME_LENGTH; i++)
			end[i] = letters[now >> 5 * i & 31];
		ret = linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW) ? -errno : 0;
		if (ret != -EEXIST)
			break;
	}
	if (ret)
		strcpy(end, "XXXXXX");
	return ret;
}

char *dnp_file_full(const char *path)
{
	return realpath(path, NULL);
}

int dnp_folder_create(char *path)
{
	return mkdtemp(path) ? 0 : -errno;
}

char *dnp_folder_temporary(void)
{
	const char *path = getenv("TMPDIR");

	return strdup(path && *path ? path : "/tmp");
}

int dnp_file_own_as(int fd, const char *path)
{
	struct stat st;

	if (lstat(path, &st) || fchown(fd, st.st_uid, st.st_gid) || fchmod(fd, st.st_mode & 0777))
		return -errno;
	return 0;
}

int dnp_folder_each(const char *path, int (*look)(const char *name, void *context), void *context)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int ret = 0;

	if (!dir)
		return -errno;
	while (!ret && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			ret = look(entry->d_name, context);
	closedir(dir);
	return ret;
}

static void remove_tree(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (unlinkat(fd, entry->d_name, 0) && (errno == EISDIR || errno == EPERM))
			remove_tree(fd, entry->d_name);
	}
	closedir(dir);
	unlinkat(parent, name, AT_REMOVEDIR);
}

void dnp_folder_remove(const char *path)
{
	remove_tree(AT_FDCWD, path);
}

int dnp_folder_check(const char *path)
{
	return access(path, W_OK | X_OK) ? -errno : 0;
}

int dnp_file_rename(const char *from, const char *to)
{
	return rename(from, to) ? -errno : 0;
}

/*
 * Old kernels and some file systems have no such call. A second name is refused where the first is
 * taken, too; where there are none of these either, somebody may come in between.
 */
int dnp_file_rename_new(const char *from, const char *to)
{
	if (!syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))
		return 0;
	if (errno != ENOSYS && errno != EINVAL)
		return -errno;
	if (!link(from, to))
		return unlink(from) ? -errno : 0;
	if (errno != EPERM && errno != ENOSYS && errno != EOPNOTSUPP)
		return -errno;
	return dnp_file_kind(to) == DNP_FILE_NONE ? dnp_file_rename(from, to) : -EEXIST;
}

void dnp_file_remove(const char *path)
{
	unlink(path);
}

enum dnp_file_kind dnp_file_kind(const char *path)
{
	struct stat st;

	if (lstat(path, &st))
		return DNP_FILE_NONE;
	if (S_ISREG(st.st_mode))
		return DNP_FILE_REGULAR;
	if (S_ISLNK(st.st_mode))
		return DNP_FILE_LINK;
	return S_ISDIR(st.st_mode) ? DNP_FILE_FOLDER : DNP_FILE_SPECIAL;
}
