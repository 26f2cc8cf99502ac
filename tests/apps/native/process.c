/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "burn.h"
#include "process.h"

extern char **environ;

#define WAIT_MS 5
#define EXIT_MS 10000 /* after that a child that should exit never will */

enum wait_call {
	WAIT_NANOSLEEP,
	WAIT_POLL,
	WAIT_EPOLL,
	WAIT_SELECT,
	WAIT_SEM,
	WAIT_READ,
	WAIT_CALLS
};

static struct timespec deadline(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += WAIT_MS * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

/* Blocks in read() until a timer expires. */
static int wait_read(void)
{
	struct itimerspec timer = {.it_value = {0, WAIT_MS * 1000000}};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	uint64_t expirations;
	int ret = -1;

	if (fd < 0)
		return -1;
	if (!timerfd_settime(fd, 0, &timer, NULL))
		ret = (int)read(fd, &expirations, sizeof(expirations));
	close(fd);
	return ret;
}

static int wait_once(enum wait_call call)
{
	struct timespec nap = {0, WAIT_MS * 1000000}, until;
	struct timeval tv = {0, WAIT_MS * 1000};
	struct epoll_event event;
	sem_t sem;
	int ret, fd;

	switch (call) {
	case WAIT_NANOSLEEP: return nanosleep(&nap, NULL);
	case WAIT_POLL: return poll(NULL, 0, WAIT_MS);
	case WAIT_EPOLL:
		fd = epoll_create1(EPOLL_CLOEXEC);
		ret = epoll_wait(fd, &event, 1, WAIT_MS);
		close(fd);
		return ret;
	case WAIT_SELECT: return select(0, NULL, NULL, NULL, &tv);
	case WAIT_SEM:
		sem_init(&sem, 0, 0);
		until = deadline();
		ret = sem_timedwait(&sem, &until);
		return ret && errno == ETIMEDOUT ? 0 : ret;
	case WAIT_READ: return wait_read();
	default: errno = EINVAL; return -1;
	}
}

int truth_waits(int rounds)
{
	int interrupted = 0;

	for (int i = 0; i < rounds; i++) {
		for (int call = 0; call < WAIT_CALLS; call++) {
			if (wait_once(call) >= 0)
				continue;
			if (errno != EINTR)
				return -1;
			interrupted++;
		}
	}
	return interrupted;
}

#define OWN_STACK_BYTES 65536

static volatile sig_atomic_t ticks, ticks_elsewhere;
static char *own_stack;

static void on_tick(int sig)
{
	char here;

	(void)sig;
	ticks++;
	if (&here < own_stack || &here >= own_stack + OWN_STACK_BYTES)
		ticks_elsewhere++;
}

int truth_sigprof(uint64_t ns, int hz, struct truth_sigprof *out)
{
	struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART | SA_ONSTACK}, old,
			 now;
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
	struct itimerspec period = {
		.it_interval = {0, 1000000000 / hz}, .it_value = {0, 1000000000 / hz}};
	stack_t stack = {.ss_size = OWN_STACK_BYTES}, old_stack, now_stack;
	timer_t timer;
	int ret = -1;

	own_stack = stack.ss_sp = malloc(OWN_STACK_BYTES);
	event._sigev_un._tid = gettid();
	ticks = ticks_elsewhere = 0;
	if (!own_stack || sigaltstack(&stack, &old_stack))
		goto free_stack;
	if (sigaction(SIGPROF, &action, &old))
		goto restore_stack;
	if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer))
		goto restore_action;
	if (timer_settime(timer, 0, &period, NULL))
		goto delete_timer;
	truth_burn(ns);
	ret = 0;
delete_timer:
	timer_delete(timer);
restore_action:
	sigaction(SIGPROF, &old, &now);
restore_stack:
	sigaltstack(&old_stack, &now_stack);
	*out = (struct truth_sigprof){.ticks = ticks,
		.ticks_elsewhere = ticks_elsewhere,
		.stack_kept = now_stack.ss_sp == own_stack,
		.handler_kept = now.sa_handler == on_tick};
free_stack:
	free(own_stack);
	return ret;
}

#define TRAP_OF_A_CLOCK 6 /* si_code: TRAP_PERF */

static volatile sig_atomic_t own_traps, strange_traps;

static void on_trap(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	if (info->si_code == TRAP_OF_A_CLOCK)
		strange_traps++;
	else
		own_traps++;
}

int truth_traps(uint64_t ns, int times, struct truth_traps *out)
{
	struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_RESTART},
			 old;

	own_traps = strange_traps = 0;
	if (sigaction(SIGTRAP, &action, &old))
		return -1;
	for (int i = 0; i < times; i++) {
		truth_burn(ns / (uint64_t)times);
		__asm__ volatile("int3");
		raise(SIGTRAP);
	}
	sigaction(SIGTRAP, &old, NULL);
	*out = (struct truth_traps){own_traps, strange_traps};
	return 0;
}

int truth_fork(uint64_t ns, int run_handlers, int status)
{
	int fds[2];
	char byte = 0;
	pid_t pid;

	if (pipe(fds))
		return -1;
	pid = fork();
	if (pid == 0) {
		char *memory = malloc(100000);

		memset(memory, 1, 100000);
		truth_burn(ns);
		if (write(fds[1], memory, 1) != 1)
			_exit(99);
		free(memory);
		if (run_handlers)
			exit(status);
		_exit(status);
	}
	close(fds[1]);
	if (pid < 0 || read(fds[0], &byte, 1) != 1 || byte != 1)
		byte = 0;
	close(fds[0]);
	if (pid < 0)
		return -1;
	status = truth_await(pid, EXIT_MS);
	return byte ? status : -1;
}

static int count_one(struct dl_phdr_info *info, size_t size, void *n)
{
	(void)info;
	(void)size;
	++*(int *)n;
	return 0;
}

static void be_child(enum truth_child what, const char *library)
{
	void *loaded;
	int n = 0;

	switch (what) {
	case TRUTH_CHILD_EXITS: exit(0);
	case TRUTH_CHILD_LOADS:
		loaded = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
		_exit(!loaded || dlclose(loaded));
	case TRUTH_CHILD_WALKS: dl_iterate_phdr(count_one, &n); _exit(!n);
	case TRUTH_CHILD_RETURNS: return;
	}
	_exit(99);
}

int truth_child(int what, const char *library)
{
	pid_t pid = fork();

	if (pid == 0)
		be_child((enum truth_child)what, library);
	return pid;
}

int truth_await(int pid, int patience_ms)
{
	struct pollfd ended = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
	int status, n;

	if (ended.fd < 0)
		return -1;
	do
		n = poll(&ended, 1, patience_ms);
	while (n < 0 && errno == EINTR);
	close(ended.fd);
	if (n < 1)
		kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid)
		return -1;
	return n < 1 ? -2 : status;
}

void truth_leave(int status)
{
	_exit(status);
}

int truth_env(int fd)
{
	char *argv[] = {"env", NULL};
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		dup2(fd, STDOUT_FILENO);
		execve("/usr/bin/env", argv, environ);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return status;
}
