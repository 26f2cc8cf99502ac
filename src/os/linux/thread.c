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
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/own_threads.h"

#define GONE_LOOK_NS UINT64_C(100000)
#define GONE_LOOKS   1000

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

#define STACK_GAP ((uintptr_t)1 << 20) /* the kernel keeps it free below a stack that grows */

/*
 * The stack that the program began with is mapped as far as it was used. It may grow up to its
 * limit, and up to the mapping below, which ends at `below`.
 */
static SIGSAFE uintptr_t lowest_of(uintptr_t low, uintptr_t high, uintptr_t below)
{
	/* sigsafe: reads an array that the kernel has made */
	uintptr_t within = getauxval(AT_RANDOM), lowest = below + STACK_GAP;
	struct rlimit limit;

	if (within < low || within >= high)
		return low;
	if (!syscall(SYS_prlimit64, 0, RLIMIT_STACK, NULL, &limit) && limit.rlim_cur < high &&
		high - limit.rlim_cur > lowest)
		lowest = high - limit.rlim_cur;
	return lowest < low ? lowest : low;
}

SIGSAFE int dnp_thread_stack_find(uintptr_t sp, uintptr_t *low, uintptr_t *high)
{
	struct map_parser parser = {0};
	uintptr_t below = 0;
	char buffer[1024];
	int found = 0;
	ssize_t n;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -ENOENT;
	while (!found && (n = syscall(SYS_read, fd, buffer, sizeof(buffer))) > 0) {
		for (ssize_t i = 0; i < n && !found; i++) {
			if (!map_feed(&parser, buffer[i]))
				continue;
			found = sp >= parser.low && sp < parser.high;
			below = found ? below : parser.high;
		}
	}
	syscall(SYS_close, fd);
	if (!found)
		return -ENOENT;
	*low = lowest_of(parser.low, parser.high, below);
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

void dnp_thread_hurry(void)
{
	/*
	 * sched_setattr(2); a slice that short brings the turn forward, from Linux 6.12 on. Beside
	 * 500 busy threads it is a fiftieth of two processors at -10, which was too little.
	 */
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = {.size = sizeof(attr), .nice = -20, .runtime = 100000};

	if (syscall(SYS_sched_setattr, 0, &attr, 0) == 0)
		return;
	attr.nice = getpriority(PRIO_PROCESS, 0);
	syscall(SYS_sched_setattr, 0, &attr, 0);
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

#define STACK_BYTES          ((size_t)2 << 20) /* used as far as it is touched; the runtime is called */
#define FIRST_LIBRARY_SIGNAL 32                /* SIGCANCEL, SIGSETXID; musl has one more */

#define GUARD_BYTES ((size_t)4096) /* below it */

/* The thread library keeps stacks that it makes for other threads; ours goes with its thread. */
static void *map_stack(void)
{
	char *stack = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

	if (stack == MAP_FAILED)
		return NULL;
	if (mprotect(stack + GUARD_BYTES, STACK_BYTES, PROT_READ | PROT_WRITE)) {
		munmap(stack, GUARD_BYTES + STACK_BYTES);
		return NULL;
	}
	return stack;
}

static void unmap_stack(void *stack)
{
	munmap(stack, GUARD_BYTES + STACK_BYTES);
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

	dnp_own_threads_add(dnp_thread_id());
	atomic_store(&given->tid, dnp_thread_id());
	syscall(SYS_futex, &given->tid, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	own.run(own.context);
	dnp_own_threads_end();
	return NULL;
}

/*
 * All but those that the C library keeps for itself, between the last usual one and SIGRTMIN:
 * setuid() and its like send one to every thread and wait until all have handled it.
 */
static uint64_t all_signals(void)
{
	uint64_t all = ~UINT64_C(0);

	for (int signo = FIRST_LIBRARY_SIGNAL; signo < SIGRTMIN; signo++)
		all &= ~(UINT64_C(1) << (signo - 1));
	return all;
}

static int create(pthread_t *handle, void *stack, struct birth *birth)
{
	pthread_attr_t attr;
	uint64_t all = all_signals(), before;
	int failed;

	/* The kernel's call, since the library's changes what it is given. */
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	pthread_attr_init(&attr);
	failed = pthread_attr_setstack(&attr, (char *)stack + GUARD_BYTES, STACK_BYTES);
	if (!failed)
		failed = pthread_create(handle, &attr, live, birth);
	pthread_attr_destroy(&attr);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	return -failed;
}

int dnp_own_thread_start(struct dnp_own_thread *thread, void *(*run)(void *), void *context)
{
	struct birth birth = {.run = run, .context = context};
	void *stack = map_stack();
	pthread_t handle;
	int failed = stack ? create(&handle, stack, &birth) : -ENOMEM;

	if (failed) {
		if (stack)
			unmap_stack(stack);
		return failed;
	}
	while (!atomic_load(&birth.tid))
		syscall(SYS_futex, &birth.tid, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	*thread = (struct dnp_own_thread){
		.handle = (uintptr_t)handle,
		.running = 1,
		.tid = atomic_load(&birth.tid),
		.stack = stack,
	};
	return 0;
}

void dnp_own_thread_open_signals(void)
{
	static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
	uint64_t open = UINT64_C(1)
		<< (SIGRTMIN - 1); /* dotnet/runtime, INJECT_ACTIVATION_SIGNAL */

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		open |= UINT64_C(1) << (signals[i] - 1);
	syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &open, NULL, sizeof(open));
}

/*
 * The C library knows of a thread's end a moment before the system lists it no more; until then it
 * must not be taken for one of the program's. Not for ever: the number may be another's by then.
 */
static void await_gone(int tid)
{
	for (int i = 0; i < GONE_LOOKS && dnp_thread_exists(tid); i++)
		dnp_sleep_until_ns(dnp_now_ns() + GONE_LOOK_NS);
}

void dnp_own_thread_join(struct dnp_own_thread *thread)
{
	if (!thread->running)
		return;
	pthread_join((pthread_t)thread->handle, NULL);
	await_gone(thread->tid);
	dnp_own_threads_remove(thread->tid);
	unmap_stack(thread->stack);
	*thread = (struct dnp_own_thread){0};
}
