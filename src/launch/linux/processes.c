/* SPDX-License-Identifier: MIT */
#include "launch/processes.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clean.h"
#include "launch/control.h"
#include "launch/target.h"

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

	if (getpwuid_r(seen->uid, &entry, room, sizeof(room), &found) || !found)
		snprintf(seen->user, sizeof(seen->user), "%u", (unsigned)seen->uid);
	else
		snprintf(seen->user, sizeof(seen->user), "%.32s", found->pw_name);
}

static void done(struct dnp_seen *seen)
{
	dnp_runtime_done(&seen->runtime);
	free(seen->command);
	seen->command = NULL;
}

/* What is known without rights: whose it is, and its command line. -ESRCH: it has gone. */
static int look_at_process(struct dnp_seen *seen)
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

static void ask(struct dnp_seen *seen, uint64_t patience_ns)
{
	struct dnp_err err = {0};

	if (!seen->runtime.readable) {
		snprintf(seen->why, sizeof(seen->why), "%s",
			seen->uid == geteuid() ? "it lets nobody look into it; ask as root"
					       : "it belongs to another user; ask as root");
		return;
	}
	if (!seen->runtime.agent)
		return;
	seen->asked = !dnp_control_status(seen->pid, patience_ns, &seen->status, &err);
	if (!seen->asked) {
		const char *words = strstr(err.text, ": "); /* "cannot ask process N: " */

		snprintf(seen->why, sizeof(seen->why), "%.255s", words ? words + 2 : err.text);
	}
}

/* -ENOENT: it is not .NET; -ESRCH: it has gone. */
static int look(struct dnp_seen *seen, pid_t pid, uint64_t patience_ns)
{
	int status;

	*seen = (struct dnp_seen){.pid = pid};
	status = dnp_runtime_look(&seen->runtime, pid);
	if (!status && !seen->runtime.found)
		status = -ENOENT;
	if (!status)
		status = look_at_process(seen);
	if (status) {
		done(seen);
		return status;
	}
	ask(seen, patience_ns);
	return 0;
}

static int add(struct dnp_processes *processes, const struct dnp_seen *seen)
{
	return dnp_vec_push(&processes->list, *seen);
}

static int by_pid(const void *left, const void *right)
{
	const struct dnp_seen *a = left, *b = right;

	return (a->pid > b->pid) - (a->pid < b->pid);
}

int dnp_processes_find(struct dnp_processes *processes, uint64_t patience_ns, struct dnp_err *err)
{
	DIR *folder = opendir("/proc");
	struct dirent *entry;

	*processes = (struct dnp_processes){0};
	if (!folder)
		return dnp_err(
			err, -errno, "cannot list processes: /proc: %s; mount it", strerror(errno));
	while ((entry = readdir(folder))) {
		struct dnp_seen seen;

		if (!isdigit((unsigned char)entry->d_name[0]) ||
			look(&seen, (pid_t)atoi(entry->d_name), patience_ns))
			continue;
		if (add(processes, &seen)) {
			done(&seen);
			closedir(folder);
			dnp_processes_done(processes);
			return dnp_err(
				err, -ENOMEM, "cannot list processes: out of memory; free some");
		}
	}
	closedir(folder);
	if (processes->list.n)
		qsort(processes->list.p, processes->list.n, sizeof(*processes->list.p), by_pid);
	return 0;
}

int dnp_processes_find_one(
	struct dnp_processes *processes, pid_t pid, uint64_t patience_ns, struct dnp_err *err)
{
	struct dnp_target target;
	struct dnp_seen seen;
	int status = dnp_target_find(&target, pid, err);

	*processes = (struct dnp_processes){0};
	if (status)
		return status;
	status = look(&seen, pid, patience_ns);
	if (status == -ENOENT)
		return dnp_err(err, status,
			"cannot ask process %d: no .NET runtime was seen in it; 'dnprof status' "
			"lists the processes that have one",
			(int)pid);
	if (status == -ESRCH)
		return dnp_target_ended(&target, err);
	if (!status && add(processes, &seen)) {
		done(&seen);
		status = -ENOMEM;
	}
	return status ? dnp_err(err, status, "cannot ask process %d: %s; try again", (int)pid,
				strerror(-status))
		      : 0;
}

void dnp_processes_done(struct dnp_processes *processes)
{
	for (size_t i = 0; i < processes->list.n; i++)
		done(&processes->list.p[i]);
	dnp_vec_done(&processes->list);
}

static struct dnp_str base_name(struct dnp_str path)
{
	const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;

	return slash ? (struct dnp_str){slash + 1, path.n - (size_t)(slash + 1 - path.p)} : path;
}

struct dnp_str dnp_seen_name(const struct dnp_seen *seen)
{
	struct dnp_str rest = {seen->command, seen->command_bytes};
	struct dnp_str first, word;

	if (!dnp_str_cut(&rest, '\0', &first))
		return dnp_str("");
	if (!dnp_str_eq(base_name(first), dnp_str("dotnet")))
		return base_name(first);
	while (dnp_str_cut(&rest, '\0', &word))
		if (word.n > 4 && !memcmp(word.p + word.n - 4, ".dll", 4))
			return base_name(word);
	return base_name(first);
}
