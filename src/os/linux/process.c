/* SPDX-License-Identifier: MIT */
#include "os/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/clean.h"
#include "os/clock.h"

/* Field n of a stat file of /proc (counted from 1, as in proc(5)), for n above 2; 0: none. */
static uint64_t stat_field(const char *path, int n)
{
	char buffer[1024], *at;
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, buffer, sizeof(buffer) - 1);

	if (got <= 0)
		return 0;
	buffer[got] = '\0';
	/* Field 2, the name in parentheses, may hold anything: count from its end. */
	at = strrchr(buffer, ')');
	for (int field = 2; at && field < n; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

uint64_t dnp_process_start_ticks(int pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	return stat_field(path, 22);
}

const bool dnp_process_threads_counted = true;

unsigned dnp_process_thread_count(void)
{
	struct statx status;

	/* Each has a folder there, which is a link to it; reading stat would sum over them all. */
	if (!syscall(SYS_statx, AT_FDCWD, "/proc/self/task", 0, STATX_NLINK, &status) &&
		status.stx_nlink > 2)
		return status.stx_nlink - 2;
	return (unsigned)stat_field("/proc/self/stat", 20);
}

size_t dnp_process_command(int pid, char *out, size_t capacity)
{
	char path[64];
	size_t n = 0;
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && n < capacity && (got = read(fd, out + n, capacity - n)) > 0)
		n += (size_t)got;
	return n;
}

int dnp_process_id(void)
{
	return getpid();
}

int dnp_process_parent_id(void)
{
	return getppid();
}

/* Ticks go on while the machine is suspended, and the clock does not. */
uint64_t dnp_process_start_ns(int pid)
{
	return dnp_ticks_begin_ns(dnp_process_start_ticks(pid));
}

size_t dnp_process_executable(char *out, size_t capacity)
{
	ssize_t n = readlink("/proc/self/exe", out, capacity);

	return n > 0 ? (size_t)n : 0;
}

size_t dnp_process_executable_of(int pid, char *out, size_t capacity)
{
	char path[32];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	n = readlink(path, out, capacity);
	return n > 0 ? (size_t)n : 0;
}

void dnp_system_name(char *out, size_t capacity)
{
	struct utsname name;

	out[0] = '\0';
	if (!uname(&name))
		snprintf(out, capacity, "%s %s", name.sysname, name.release);
}

unsigned dnp_processors(void)
{
	return (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
}

uint64_t dnp_random_number(void)
{
	uint64_t number = 0;

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
		number = dnp_now_ns() ^ (uint64_t)getpid() << 40;
	return number;
}
