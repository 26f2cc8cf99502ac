/* SPDX-License-Identifier: MIT */
#include "os/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clean.h"

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

unsigned dnp_process_thread_count(void)
{
	return (unsigned)stat_field("/proc/self/stat", 20);
}

size_t dnp_process_command(char *out, size_t capacity)
{
	auto_close int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	ssize_t got;

	while (fd >= 0 && n < capacity && (got = read(fd, out + n, capacity - n)) > 0)
		n += (size_t)got;
	return n;
}
