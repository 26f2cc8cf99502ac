/* SPDX-License-Identifier: MIT */
#include "launch/stale.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/clean.h"
#include "format/control.h"
#include "launch/process.h"

/* Whether the process that such a name tells of is there. False also for other names: *is_name. */
static bool is_alive(const char *name, bool *is_name)
{
	unsigned long long start_ticks;
	struct dnp_process process;
	char again[64];
	int pid;

	*is_name = false;
	if (sscanf(name, DNP_CONTROL_NAME, &pid, &start_ticks) != 2)
		return false;
	snprintf(again, sizeof(again), DNP_CONTROL_NAME, pid, start_ticks);
	*is_name = !strcmp(name, again);
	return !dnp_process_read(&process, pid) && process.start_ticks == start_ticks;
}

/* A process that is not to be seen from here may have it all the same. */
static bool is_heard(int folder, const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	auto_close int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(
		address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%.64s", folder, name);
	return fd < 0 || !connect(fd, (const struct sockaddr *)&address, sizeof(address)) ||
		errno != ECONNREFUSED;
}

static bool is_stale(int folder, const char *name)
{
	struct stat st;
	bool is_name, alive = is_alive(name, &is_name);

	return is_name && !alive && !fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) &&
		S_ISSOCK(st.st_mode) && st.st_uid == geteuid() && !is_heard(folder, name);
}

static void remove_if_stale(int folder, const char *name)
{
	if (is_stale(folder, name))
		unlinkat(folder, name, 0);
}

static void for_each(int folder, void (*look)(int folder, const char *name))
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!entries) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(entries)))
		look(fd, entry->d_name);
	closedir(entries);
}

void dnp_stale_remove(int folder)
{
	for_each(folder, remove_if_stale);
}

/* The link has the name of the socket that lies where it leads. */
static void follow(int folder, const char *link)
{
	char path[PATH_MAX];
	ssize_t n = readlinkat(folder, link, path, sizeof(path));
	auto_close int there = -1;

	if (n <= 0 || (size_t)n == sizeof(path))
		return;
	path[n] = '\0';
	there = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (there >= 0)
		remove_if_stale(there, link);
	unlinkat(folder, link, 0);
}

void dnp_stale_follow(const char *path)
{
	auto_close int folder = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (folder >= 0)
		for_each(folder, follow);
}

void dnp_stale_remove_own(void)
{
	const char *path = getenv("TMPDIR");
	auto_close int folder =
		open(path && *path ? path : "/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (folder >= 0)
		dnp_stale_remove(folder);
}
