/* SPDX-License-Identifier: MIT */
#include "os/thread.h"

#include <asm/prctl.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

SIGSAFE int dnp_thread_id(void)
{
	return (int)syscall(SYS_gettid);
}

int dnp_thread_exists(int tid)
{
	return syscall(SYS_tgkill, getpid(), tid, 0) == 0;
}

int dnp_thread_stack(uintptr_t *low, uintptr_t *high)
{
	pthread_attr_t attr;
	void *start;
	size_t size;
	int failed = pthread_getattr_np(pthread_self(), &attr);

	if (failed)
		return -failed;
	failed = pthread_attr_getstack(&attr, &start, &size);
	pthread_attr_destroy(&attr);
	if (failed)
		return -failed;
	*low = (uintptr_t)start;
	*high = (uintptr_t)start + size;
	return 0;
}

/* A line of the memory map, read byte by byte: "low-high perms …". */
struct map_parser {
	uintptr_t low, high;
	unsigned field; /* 0: low, 1: high, 2: the rest of the line */
};

/* Feeds one byte; 1 when low and high of a line are known. */
static SIGSAFE int map_feed(struct map_parser *parser, char c)
{
	uintptr_t *number = parser->field ? &parser->high : &parser->low;

	if (c == '\n') {
		*parser = (struct map_parser){0};
		return 0;
	}
	if (parser->field == 2)
		return 0;
	if (c == '-' || c == ' ')
		return ++parser->field == 2;
	*number = *number << 4 | (uintptr_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	return 0;
}

SIGSAFE int dnp_thread_stack_find(uintptr_t sp, uintptr_t *low, uintptr_t *high)
{
	struct map_parser parser = {0};
	char buffer[1024];
	int found = 0;
	ssize_t n;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -ENOENT;
	while (!found && (n = syscall(SYS_read, fd, buffer, sizeof(buffer))) > 0) {
		for (ssize_t i = 0; i < n && !found; i++)
			found = map_feed(&parser, buffer[i]) && sp >= parser.low &&
				sp < parser.high;
	}
	syscall(SYS_close, fd);
	if (!found)
		return -ENOENT;
	*low = parser.low;
	*high = parser.high;
#ifdef __x86_64__
	unsigned long block = 0;

	/* The thread library puts the control block on top of the stacks that it makes. */
	if (syscall(SYS_arch_prctl, ARCH_GET_FS, &block) == 0 && block > sp && block < *high)
		*high = block;
#endif
	return 0;
}

void dnp_thread_name(int tid, char *name, size_t size)
{
	char path[64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, name, size - 1);
		close(fd);
	}
	name[n > 0 ? n - 1 : 0] = '\0'; /* without the line's end */
}

SIGSAFE void dnp_thread_own_name(char name[16])
{
	syscall(SYS_prctl, PR_GET_NAME, name, 0, 0, 0);
}

void dnp_thread_set_name(const char *name)
{
	prctl(PR_SET_NAME, name, 0, 0, 0);
}

void dnp_thread_each(int (*visit)(int tid, void *context), void *context)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		int tid = atoi(entry->d_name);

		if (tid > 0 && visit(tid, context))
			break;
	}
	closedir(dir);
}

/* ---- Threads of our own */

#define OWN_MAX 8

static _Atomic int own_tids[OWN_MAX]; /* 0: a free place */

static int replace(int before, int after)
{
	for (size_t i = 0; i < OWN_MAX; i++) {
		int expected = before;

		if (atomic_compare_exchange_strong(&own_tids[i], &expected, after))
			return 1;
	}
	return 0;
}

int dnp_thread_is_own(int tid)
{
	for (size_t i = 0; i < OWN_MAX; i++)
		if (tid && atomic_load(&own_tids[i]) == tid)
			return 1;
	return 0;
}

/* What a new thread is given by the one that makes it and waits until it has taken it. */
struct birth {
	void *(*run)(void *);
	void *context;
	_Atomic int tid; /* of the new one, once it is known as ours */
};

static void *live(void *context)
{
	struct birth *given = context;
	struct birth own = {.run = given->run, .context = given->context};

	replace(0, dnp_thread_id());
	atomic_store(&given->tid, dnp_thread_id());
	syscall(SYS_futex, &given->tid, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	return own.run(own.context);
}

int dnp_own_thread_start(struct dnp_own_thread *thread, void *(*run)(void *), void *context)
{
	struct birth birth = {.run = run, .context = context};
	pthread_attr_t attr;
	pthread_t handle;
	uint64_t all = ~UINT64_C(0), before;
	int failed;

	/* The kernel's set, not the library's: the library keeps two signals out of its sets. */
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 * 1024);
	failed = pthread_create(&handle, &attr, live, &birth);
	pthread_attr_destroy(&attr);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	if (failed)
		return -failed;
	while (!atomic_load(&birth.tid))
		syscall(SYS_futex, &birth.tid, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	*thread = (struct dnp_own_thread){(uintptr_t)handle, 1, atomic_load(&birth.tid)};
	return 0;
}

void dnp_own_thread_join(struct dnp_own_thread *thread)
{
	if (!thread->running)
		return;
	pthread_join((pthread_t)thread->handle, NULL);
	replace(thread->tid, 0);
	thread->running = 0;
}
