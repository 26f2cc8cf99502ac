/* SPDX-License-Identifier: MIT */
#include "launch/target.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>

#include "base/clean.h"
#include "launch/interrupt.h"
#include "os/clock.h"

#define SECOND_NS UINT64_C(1000000000)

/* Between two looks whether a socket has room. */
#define ROOM_NS UINT64_C(5000000)

/* The number that stands behind `key` in /proc/PID/status, the last in its line; -1: none. */
static int status_number(pid_t pid, const char *key)
{
	char path[32], line[256];
	auto_fclose FILE *file = NULL;
	size_t n = strlen(key);

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		const char *last = strrchr(line, '\t');

		if (!strncmp(line, key, n) && last)
			return atoi(last + 1);
	}
	return -1;
}

int dnp_target_find(struct dnp_target *target, pid_t pid, struct dnp_err *err)
{
	int group;

	target->pid = pid;
	if (dnp_process_read(&target->process, pid))
		return dnp_err(err, -ESRCH,
			"cannot ask process %d: there is no such process; 'ps' or 'pgrep' name "
			"those that run",
			(int)pid);
	if (target->process.state == 'Z')
		return dnp_err(err, -ESRCH,
			"cannot ask process %d: it has ended; its parent has not taken notice yet",
			(int)pid);
	group = status_number(pid, "Tgid:");
	if (group > 0 && group != pid)
		return dnp_err(err, -ESRCH,
			"cannot ask process %d: that is a thread of process %d; give that number",
			(int)pid, group);
	target->inner_pid = status_number(pid, "NSpid:");
	if (target->inner_pid < 0)
		target->inner_pid = pid;
	return 0;
}

char *dnp_target_variable(const struct dnp_target *target, const char *name)
{
	char path[32];
	auto_fclose FILE *file = NULL;
	auto_free char *line = NULL;
	size_t room = 0, n = strlen(name);

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)target->pid);
	file = fopen(path, "re");
	while (file && getdelim(&line, &room, '\0', file) > 0)
		if (!strncmp(line, name, n) && line[n] == '=')
			return strdup(line + n + 1);
	return NULL;
}

/* Links of its own lead nowhere else than they do there. Where the kernel cannot see to that, 1. */
static int open_inside(int root, const char *path, int flags)
{
	struct open_how how = {
		.flags = (unsigned)flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT,
	};
	long fd = syscall(SYS_openat2, root, path, &how, sizeof(how));

	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		return 1;
	return fd < 0 ? -errno : (int)fd;
}

int dnp_target_open(const struct dnp_target *target, const char *path, int flags)
{
	char from[32];
	auto_close int folder = -1;
	int fd = 1;

	snprintf(
		from, sizeof(from), "/proc/%d/%s", (int)target->pid, *path == '/' ? "root" : "cwd");
	folder = open(from, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return -errno;
	if (*path == '/')
		fd = open_inside(folder, path, flags);
	if (fd != 1)
		return fd;
	fd = openat(folder, *path == '/' && path[1] ? path + 1 : path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int dnp_target_open_folder(const struct dnp_target *target)
{
	auto_free char *folder = dnp_target_variable(target, "TMPDIR");

	return dnp_target_open(target, folder && *folder ? folder : "/tmp", O_PATH | O_DIRECTORY);
}

/* Whoever has made the socket: it has to be the process that was meant. */
static bool is_targets(int fd, const struct dnp_target *target)
{
	struct ucred peer = {0};
	socklen_t n = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) && peer.pid == target->pid;
}

static int open_socket(int type, uint64_t patience_ns)
{
	struct timeval patience = {
		(time_t)(patience_ns / SECOND_NS), (suseconds_t)(patience_ns % SECOND_NS / 1000)};
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd;
}

/* Where more wait than find room, until there is some. */
static int connect_in_time(
	int fd, const struct sockaddr_un *address, uint64_t until_ns, int interrupt)
{
	while (connect(fd, (const struct sockaddr *)address, sizeof(*address))) {
		if (errno != EAGAIN || dnp_now_ns() >= until_ns)
			return -errno;
		if (dnp_interrupt_sleep(interrupt, dnp_now_ns() + ROOM_NS))
			return -EINTR;
	}
	return fcntl(fd, F_SETFL, 0) ? -errno : 0;
}

int dnp_target_connect(const struct dnp_target *target, int folder, const char *name, int type,
	uint64_t patience_ns, int interrupt)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	auto_close int fd = open_socket(type, patience_ns);
	int connected;

	if (fd < 0)
		return fd;
	if (snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", folder,
		    name) >= (int)sizeof(address.sun_path))
		return -ENAMETOOLONG;
	connected = connect_in_time(fd, &address, dnp_now_ns() + patience_ns, interrupt);
	if (connected)
		return connected;
	if (!is_targets(fd, target))
		return -EBADE;
	connected = fd;
	fd = -1;
	return connected;
}

int dnp_target_no_rights(const struct dnp_target *target, struct dnp_err *err)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)target->pid);
	if (!geteuid() || (!stat(path, &st) && st.st_uid == geteuid()))
		return dnp_err(err, -EACCES,
			"cannot ask process %d: the system lets nobody look into it from here; it "
			"has privileges that you have not, or runs outside of this container: ask "
			"from there, or as root",
			(int)target->pid);
	return dnp_err(err, -EACCES,
		"cannot ask process %d: it belongs to another user; ask as the user that it runs "
		"as, or as root",
		(int)target->pid);
}

int dnp_target_not_own(const struct dnp_target *target, const char *name, struct dnp_err *err)
{
	return dnp_err(err, -EPERM,
		"cannot ask process %d: its socket was made by another process; remove %s from its "
		"TMPDIR",
		(int)target->pid, name);
}
