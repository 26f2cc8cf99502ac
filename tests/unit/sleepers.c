/* SPDX-License-Identifier: MIT */
/* Compiled twice, with and without frame pointers: SLEEPERS names the one function to call. */
#include "sleepers.h"

#include <alloca.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Leaves frames of its own where the next function that is called will have its variables. */
__attribute__((noinline)) static int leave_traces(int depth)
{
	volatile char variables[24];

	variables[depth % 24] = (char)depth;
	return (depth ? leave_traces(depth - 1) : 0) ^ variables[depth % 24];
}

/* Its frame is as large as it is told, which no prolog tells. */
__attribute__((noinline)) static void wait_for_ever(struct sleeper *s)
{
	volatile char *space = alloca((size_t)s->space + 1);
	struct timespec hour = {3600, 0};
	struct pollfd pollfd = {.fd = s->fd, .events = POLLIN};
	struct epoll_event event;
	struct timeval longer = {3600, 0};
	char buffer[64];
	fd_set set;

	space[0] = 1;
	switch (s->kind) {
	case SLEEP_NANOSLEEP: nanosleep(&hour, NULL); break;
	case SLEEP_FUTEX:
		syscall(SYS_futex, &s->word, FUTEX_WAIT_PRIVATE, 0, &hour, NULL, 0);
		break;
	case SLEEP_CONDITION:
		pthread_mutex_lock(&s->mutex);
		while (!atomic_load(&s->word))
			pthread_cond_wait(&s->condition, &s->mutex);
		pthread_mutex_unlock(&s->mutex);
		break;
	case SLEEP_SEMAPHORE: sem_wait(&s->semaphore); break;
	case SLEEP_READ: s->got = read(s->fd, buffer, 1); break;
	case SLEEP_RECV: s->got = recv(s->fd, buffer, 1, 0); break;
	case SLEEP_POLL: poll(&pollfd, 1, -1); break;
	case SLEEP_EPOLL: epoll_wait(s->epoll, &event, 1, -1); break;
	case SLEEP_SELECT:
		FD_ZERO(&set);
		FD_SET(s->fd, &set);
		select(s->fd + 1, &set, NULL, NULL, &longer);
		break;
	case SLEEP_NOT:
		while (!atomic_load_explicit(&s->word, memory_order_relaxed))
			s->rounds++;
		break;
	}
}

__attribute__((noinline)) int SLEEPERS(struct sleeper *s, int depth)
{
	volatile char variables[40];
	int below = 0;

	variables[depth % 40] = (char)depth;
	if (depth)
		below = SLEEPERS(s, depth - 1);
	else {
		below = leave_traces(s->space / 48);
		wait_for_ever(s);
	}
	return below ^ variables[depth % 40];
}
