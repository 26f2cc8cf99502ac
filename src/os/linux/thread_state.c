/* SPDX-License-Identifier: MIT */
/*
 * /proc/self/task/TID/syscall: "running", or the number of a system call, its six arguments, the
 * stack pointer and the program counter, or "-1", and the last two. Source: proc(5).
 */
#include "os/thread_state.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clean.h"

int dnp_thread_state_open(int tid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	return errno == ENOENT && !access("/proc/self/syscall", F_OK) ? -ESRCH : -errno;
}

/* The next number of the line; false: there is none. */
static bool take(char **at, int base, uint64_t *value)
{
	char *end;

	*value = strtoull(*at, &end, base);
	if (end == *at)
		return false;
	*at = end;
	return true;
}

static bool parse(char *line, struct dnp_thread_state *state)
{
	uint64_t number, sp, pc;
	char *at = line;

	state->asleep = strncmp(line, "running", 7) != 0;
	if (!state->asleep)
		return true;
	if (!take(&at, 10, &number))
		return false;
	state->syscall = (long)number;
	for (int i = 0; state->syscall != -1 && i < 6; i++) {
		if (!take(&at, 16, &state->argument[i]))
			return false;
	}
	if (!take(&at, 16, &sp) || !take(&at, 16, &pc))
		return false;
	state->sp = sp;
	state->pc = pc;
	return true;
}

int dnp_thread_state_read(int fd, struct dnp_thread_state *state)
{
	char line[256];
	ssize_t n = pread(fd, line, sizeof(line) - 1, 0);

	memset(state, 0, sizeof(*state));
	if (n < 0)
		return -errno;
	line[n] = '\0';
	return parse(line, state) ? 0 : n ? -ENOTSUP : -ESRCH;
}

int dnp_thread_state(int tid, struct dnp_thread_state *state)
{
	auto_close int fd = dnp_thread_state_open(tid);

	return fd < 0 ? fd : dnp_thread_state_read(fd, state);
}

bool dnp_thread_waits_at_word(const struct dnp_thread_state *state)
{
	return state->asleep &&
		(state->syscall == SYS_futex || state->syscall == SYS_restart_syscall);
}

bool dnp_thread_waits_for_event(const struct dnp_thread_state *state)
{
	return dnp_thread_waits_at_word(state) &&
		((uint32_t)state->argument[1] & (uint32_t)FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
}
