/* SPDX-License-Identifier: MIT */
/* /proc/PID/task: comm, stat and schedstat of each thread. Source: proc(5). */
#include "os/tasks.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clean.h"
#include "os/clock.h"
#include "os/linux/clock_id.h"

#define START_FIELD 22 /* of stat: when it began */

/* Reads a small file of a thread, as a string. Its length, or -errno. */
static ssize_t read_file(int pid, int tid, const char *what, char *buffer, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, what);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, buffer, size - 1);
	if (n < 0)
		return -errno;
	buffer[n] = '\0';
	return n;
}

/* Field n of stat (counted from 1, as in proc(5)), for n above 2; NULL: none. */
static const char *stat_field(int pid, int tid, int n, char *buffer, size_t size)
{
	const char *at;

	if (read_file(pid, tid, "stat", buffer, size) <= 0)
		return NULL;
	/* Field 2, the name in parentheses, may hold anything: count from its end. */
	at = strrchr(buffer, ')');
	for (int field = 2; at && field < n; field++)
		at = strchr(at + 1, ' ');
	return at ? at + 1 : NULL;
}

static long count_threads(int pid)
{
	char buffer[1024];
	const char *count = stat_field(pid, pid, 20, buffer, sizeof(buffer));

	return count ? strtol(count, NULL, 10) : 0;
}

bool dnp_process_is_alive(int pid)
{
	char buffer[1024];
	const char *state = stat_field(pid, pid, 3, buffer, sizeof(buffer));

	if (!state)
		return false;
	/* The first thread may have ended before the others. */
	return (*state != 'Z' && *state != 'X') || count_threads(pid) > 1;
}

uint64_t dnp_process_cpu_ns(int pid)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		return 0;
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* A directory entry as getdents64(2) gives it. */
struct entry {
	uint64_t inode;
	int64_t offset;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

/*
 * The whole directory by one call: between two the kernel loses its place when a thread ends.
 * Bytes, or -errno.
 */
static long list_tasks(int pid, char **list, long threads)
{
	size_t size = ((size_t)threads + 1024) * 32;
	char path[64];
	long n;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	*list = malloc(size);
	if (!*list)
		return -ENOMEM;
	n = syscall(SYS_getdents64, fd, *list, size);
	return n < 0 ? -errno : n;
}

/*
 * The kernel lists threads in the order in which they began, and stops early when the one that it
 * is at ends. So if there are as many as there were before, none of those is missing.
 */
int dnp_tasks_each(int pid, int (*visit)(int tid, void *context), void *context)
{
	auto_free char *list = NULL;
	long there = count_threads(pid), listed = 0, bytes = list_tasks(pid, &list, there);

	if (bytes < 0)
		return (int)bytes;
	for (long at = 0; at < bytes;) {
		const struct entry *entry = (const void *)(list + at);
		int tid = atoi(entry->name), result;

		at += entry->bytes;
		if (tid <= 0)
			continue;
		listed++;
		result = visit(tid, context);
		if (result)
			return result;
	}
	return listed < there ? -EAGAIN : listed ? 0 : -ESRCH;
}

/* /proc shows them to everybody. */
int dnp_tasks_allowed(int pid, struct dnp_err *err)
{
	(void)pid;
	(void)err;
	return 0;
}

void dnp_tasks_let_go(void)
{
}

int dnp_task_end(int pid, int tid, struct dnp_task_clock *clock)
{
	(void)pid;
	(void)tid;
	(void)clock;
	return -ESRCH;
}

uint64_t dnp_task_cycles(int pid, int tid)
{
	(void)pid;
	(void)tid;
	return 0;
}

bool dnp_task_has_cycles(void)
{
	return false;
}

uint64_t dnp_task_step_ns(void)
{
	return 0;
}

const bool dnp_task_runs_counted = true;

static int read_schedstat(int pid, int tid, struct dnp_task_clock *clock)
{
	char buffer[96];

	if (read_file(pid, tid, "schedstat", buffer, sizeof(buffer)) <= 0)
		return -ESRCH;
	if (sscanf(buffer, "%" SCNu64 " %" SCNu64 " %" SCNu64, &clock->cpu_ns, &clock->wait_ns,
		    &clock->runs) != 3)
		return -ESRCH;
	return 0;
}

static int read_clock(int tid, uint64_t *cpu_ns)
{
	struct timespec t;

	if (clock_gettime(dnp_clock_of_thread(tid), &t))
		return -ESRCH;
	*cpu_ns = (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
	return 0;
}

int dnp_task_clock(int pid, int tid, struct dnp_task_clock *clock)
{
	int failed;

	memset(clock, 0, sizeof(*clock));
	failed = read_schedstat(pid, tid, clock);
	clock->waits_known = !failed;
	if (pid == getpid())
		failed = read_clock(tid, &clock->cpu_ns);
	clock->time_ns = dnp_now_ns();
	return failed;
}

int dnp_task_cpu(int pid, int tid, uint64_t *cpu_ns)
{
	struct dnp_task_clock clock;

	if (pid == getpid())
		return read_clock(tid, cpu_ns);
	if (read_schedstat(pid, tid, &clock))
		return -ESRCH;
	*cpu_ns = clock.cpu_ns;
	return 0;
}

int dnp_task_ask(int pid, int tid, struct dnp_task *task)
{
	char buffer[1024];
	const char *at = stat_field(pid, tid, 3, buffer, sizeof(buffer)), *name;
	size_t n;

	if (!at)
		return -ESRCH;
	name = strchr(buffer, '(') + 1; /* up to the parenthesis and the blank before the state */
	n = (size_t)(at - 2 - name);
	*task = (struct dnp_task){.ready = *at == 'R'};
	memcpy(task->name, name, n < sizeof(task->name) ? n : sizeof(task->name) - 1);
	for (int field = 3; at && field < START_FIELD; field++)
		at = strchr(at + 1, ' ');
	task->start_ticks = at ? strtoull(at, NULL, 10) : 0;
	return 0;
}

uint64_t dnp_task_start_ticks(int pid, int tid)
{
	char buffer[1024];
	const char *ticks = stat_field(pid, tid, START_FIELD, buffer, sizeof(buffer));

	return ticks ? strtoull(ticks, NULL, 10) : 0;
}

void dnp_task_name(int pid, int tid, char name[16])
{
	ssize_t n = read_file(pid, tid, "comm", name, 16);

	name[0] = n > 0 ? name[0] : '\0';
	name[strcspn(name, "\n")] = '\0';
}

/* That of its first thread. */
void dnp_process_name(int pid, char name[16])
{
	dnp_task_name(pid, pid, name);
}

int dnp_task_set_name(int tid, const char *name)
{
	size_t n = strnlen(name, 15);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", tid);
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return write(fd, name, n) < 0 ? -errno : 0;
}
