/* SPDX-License-Identifier: MIT */
#include "launch/processes.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clean.h"
#include "launch/process.h"

/* A whole file of /proc, which has no size; the caller's. NULL: it cannot be read. */
static char *read_file(const char *path, size_t *n)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct dnp_vec_of(char) bytes = {0};
	ssize_t got = -1;

	while (fd >= 0 && !dnp_vec_reserve(&bytes, bytes.n + 4096) &&
		(got = read(fd, bytes.p + bytes.n, 4096)) > 0)
		bytes.n += (size_t)got;
	if (got || !bytes.p) {
		dnp_vec_done(&bytes);
		return NULL;
	}
	bytes.p[bytes.n] = '\0'; /* there is room: the last read gave nothing */
	*n = bytes.n;
	return bytes.p;
}

static void name_user(struct dnp_seen *seen)
{
	struct passwd entry, *found = NULL;
	char room[4096];

	if (getpwuid_r((uid_t)seen->uid, &entry, room, sizeof(room), &found) || !found)
		snprintf(seen->user, sizeof(seen->user), "%u", (unsigned)seen->uid);
	else
		snprintf(seen->user, sizeof(seen->user), "%.32s", found->pw_name);
}

int dnp_seen_read(struct dnp_seen *seen)
{
	struct dnp_process process;
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)seen->pid);
	if (stat(path, &st) || dnp_process_read(&process, seen->pid))
		return -ESRCH;
	seen->uid = st.st_uid;
	seen->state = process.state;
	name_user(seen);
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)seen->pid);
	seen->command = read_file(path, &seen->command_bytes);
	return 0;
}

const char *dnp_seen_unreadable(const struct dnp_seen *seen)
{
	return seen->uid == geteuid() ? "it lets nobody look into it; ask as root"
				      : "it belongs to another user; ask as root";
}

int dnp_process_each(int (*visit)(pid_t pid, void *context), void *context)
{
	DIR *folder = opendir("/proc");
	struct dirent *entry;
	int ret = 0;

	if (!folder)
		return -errno;
	while (!ret && (entry = readdir(folder)))
		if (isdigit((unsigned char)entry->d_name[0]))
			ret = visit((pid_t)atoi(entry->d_name), context);
	closedir(folder);
	return ret;
}
