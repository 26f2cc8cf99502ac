/* SPDX-License-Identifier: MIT */
#include "launch/stale.h"

#include <dirent.h>
#include <fcntl.h>
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

void dnp_stale_remove(int folder)
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
		if (is_stale(fd, entry->d_name))
			unlinkat(fd, entry->d_name, 0);
	closedir(entries);
}

void dnp_stale_remove_of(const char *folder, int pid, unsigned long long start_ticks)
{
	auto_close int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char name[64];

	snprintf(name, sizeof(name), DNP_CONTROL_NAME, pid, start_ticks);
	if (fd >= 0 && is_stale(fd, name))
		unlinkat(fd, name, 0);
}

void dnp_stale_remove_own(void)
{
	const char *path = getenv("TMPDIR");
	auto_close int folder =
		open(path && *path ? path : "/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (folder >= 0)
		dnp_stale_remove(folder);
}
