/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "places.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#include "burn.h"

#define NOINLINE __attribute__((noinline))

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- The allocator */

#define BLOCKS 512

static size_t block_bytes(uint32_t x)
{
	return x % 64 ? 16 + x % 4000 : 16 + x % 300000; /* some are mapped, most are not */
}

NOINLINE int truth_malloc(int rounds)
{
	uint32_t *blocks[BLOCKS] = {NULL}, x = 1;
	int ret = 0;

	for (int i = 0; i < rounds; i++) {
		uint32_t **slot;

		x = x * 1664525 + 1013904223;
		slot = &blocks[(x >> 16) % BLOCKS];
		if (*slot) {
			if (**slot != (uint32_t)(slot - blocks))
				ret = -1;
			free(*slot);
			*slot = NULL;
		} else {
			*slot = malloc(block_bytes(x >> 8));
			if (!*slot)
				return -1;
			**slot = (uint32_t)(slot - blocks);
		}
	}
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	return ret;
}

/* ---- The kernel's own code in user space */

NOINLINE int truth_clock(int rounds)
{
	uint64_t last = 0;

	for (int i = 0; i < rounds; i++) {
		uint64_t now = now_ns(CLOCK_MONOTONIC);

		if (now < last)
			return -1;
		last = now;
	}
	return 0;
}

/* ---- Prologs and epilogs */

/* Uses all registers that a function has to save, and so is little else. */
#define SAVES_ALL() __asm__ volatile("" ::: "rbx", "r12", "r13", "r14", "r15", "memory")

NOINLINE static uint64_t pushes(uint64_t x)
{
	SAVES_ALL();
	return x;
}

/* The same, and a frame whose pages are touched one by one (-fstack-clash-protection). */
NOINLINE static uint64_t probes(uint64_t x)
{
	volatile char frame[20000];

	frame[x % sizeof(frame)] = 1;
	SAVES_ALL();
	return x;
}

/* Two ways out, each with its own epilog, of which one ends in a jump. */
NOINLINE static uint64_t leaves_twice(uint64_t x)
{
	SAVES_ALL();
	if (x & 1)
		return pushes(x);
	return x;
}

NOINLINE uint64_t truth_prologs(int rounds)
{
	uint64_t sum = 0;

	for (int i = 0; i < rounds; i++) {
		uint64_t x = (uint64_t)i;

		sum += i % 3 == 0 ? probes(x) : i % 3 == 1 ? pushes(x) : leaves_twice(x);
	}
	return sum;
}

/* ---- Handlers on a stack of their own */

#define STACK_BYTES 65536

struct own_stack {
	stack_t old;
	struct sigaction old_action;
	char *memory; /* owned */
};

static int own_stack_begin(struct own_stack *own, int signo, void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART | SA_ONSTACK};
	stack_t stack = {.ss_size = STACK_BYTES};

	own->memory = stack.ss_sp = malloc(STACK_BYTES);
	if (!own->memory)
		return -1;
	if (sigaltstack(&stack, &own->old)) {
		free(own->memory);
		return -1;
	}
	if (sigaction(signo, &action, &own->old_action)) {
		sigaltstack(&own->old, NULL);
		free(own->memory);
		return -1;
	}
	return 0;
}

/* -1: somebody else set another stack meanwhile. */
static int own_stack_end(struct own_stack *own, int signo)
{
	stack_t now;
	int ret;

	sigaction(signo, &own->old_action, NULL);
	ret = sigaltstack(&own->old, &now) || now.ss_sp != own->memory ? -1 : 0;
	free(own->memory);
	return ret;
}

static _Thread_local struct {
	uint64_t ask_ns, pause_ns, burnt_ns;
	timer_t timer;
	int again; /* 1: the handler sets the timer again */
	struct own_stack stack;
} handler;

NOINLINE static void truth_work_in_handler(void)
{
	handler.burnt_ns += truth_burn(handler.ask_ns);
}

static void set_timer(void)
{
	struct itimerspec once = {.it_value = {0, (long)handler.pause_ns}};

	timer_settime(handler.timer, 0, &once, NULL);
}

static void on_raise(int signo)
{
	int saved = errno;

	(void)signo;
	truth_work_in_handler();
	errno = saved;
}

static void on_timer(int signo)
{
	int saved = errno;

	(void)signo;
	truth_work_in_handler();
	if (handler.again)
		set_timer();
	errno = saved;
}

NOINLINE int64_t truth_raise_on_stack(uint64_t ns)
{
	struct own_stack own;

	handler.ask_ns = ns;
	handler.burnt_ns = 0;
	if (own_stack_begin(&own, SIGUSR2, on_raise))
		return -1;
	raise(SIGUSR2);
	return own_stack_end(&own, SIGUSR2) ? -1 : (int64_t)handler.burnt_ns;
}

int truth_interrupt_start(uint64_t ns, uint64_t pause_ns)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR2};

	event._sigev_un._tid = gettid();
	handler.ask_ns = ns;
	handler.pause_ns = pause_ns;
	handler.burnt_ns = 0;
	handler.again = 1;
	if (own_stack_begin(&handler.stack, SIGUSR2, on_timer))
		return -1;
	if (timer_create(CLOCK_MONOTONIC, &event, &handler.timer)) {
		own_stack_end(&handler.stack, SIGUSR2);
		return -1;
	}
	set_timer();
	return 0;
}

int64_t truth_interrupt_stop(void)
{
	struct timespec pause = {0, (long)handler.pause_ns * 2};

	/* A last signal may be under way; it finds its handler. */
	handler.again = 0;
	timer_delete(handler.timer);
	while (nanosleep(&pause, &pause) && errno == EINTR)
		;
	return own_stack_end(&handler.stack, SIGUSR2) ? -1 : (int64_t)handler.burnt_ns;
}

/* ---- The end of a thread */

/* Of the C++ run time; the C library has it. */
int __cxa_thread_atexit_impl(void (*destroy)(void *), void *object, void *library);
extern void *__dso_handle;

static _Atomic int64_t storage_runs, storage_ns, key_runs, key_ns;
static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static int key_failed;

NOINLINE static void truth_storage_destructor(void *object)
{
	atomic_fetch_add(&storage_ns, (int64_t)truth_burn((uintptr_t)object));
	atomic_fetch_add(&storage_runs, 1);
}

NOINLINE static void truth_key_destructor(void *value)
{
	atomic_fetch_add(&key_ns, (int64_t)truth_burn((uintptr_t)value));
	atomic_fetch_add(&key_runs, 1);
}

static void make_key(void)
{
	key_failed = pthread_key_create(&key, truth_key_destructor);
}

int truth_burn_at_exit(uint64_t ns)
{
	void *value = (void *)(uintptr_t)ns;

	pthread_once(&key_once, make_key);
	if (key_failed || pthread_setspecific(key, value))
		return -1;
	return __cxa_thread_atexit_impl(truth_storage_destructor, value, &__dso_handle) ? -1 : 0;
}

static void *exit_main(void *ns)
{
	return (void *)(intptr_t)truth_burn_at_exit((uintptr_t)ns);
}

#define AT_ONCE 64

int truth_exit_threads(int count, uint64_t ns)
{
	pthread_t threads[AT_ONCE];
	int started = 0, err = 0;
	void *failed;

	for (; started < count && started < AT_ONCE && !err; started++) {
		err = pthread_create(&threads[started], NULL, exit_main, (void *)(uintptr_t)ns);
		if (err)
			break;
	}
	for (int i = 0; i < started; i++) {
		pthread_join(threads[i], &failed);
		if (failed)
			err = EAGAIN;
	}
	return err;
}

void truth_exited(struct truth_exited *out)
{
	*out = (struct truth_exited){atomic_load(&storage_runs), atomic_load(&key_runs),
		atomic_load(&storage_ns), atomic_load(&key_ns)};
}

/* ---- Sleep */

static struct timespec in_ms(clockid_t clock, int ms)
{
	uint64_t ns = now_ns(clock) + (uint64_t)ms * 1000000;

	return (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
}

static int sleep_once(enum truth_sleep how, int ms)
{
	struct timespec nap = {ms / 1000, ms % 1000 * 1000000L}, until;
	struct timeval tv = {ms / 1000, ms % 1000 * 1000L};
	struct epoll_event event;
	sem_t sem;
	int ret, fd;

	switch (how) {
	case TRUTH_SLEEP_NANOSLEEP: return nanosleep(&nap, NULL);
	case TRUTH_SLEEP_POLL: return poll(NULL, 0, ms);
	case TRUTH_SLEEP_EPOLL:
		fd = epoll_create1(EPOLL_CLOEXEC);
		ret = epoll_wait(fd, &event, 1, ms);
		close(fd);
		return ret;
	case TRUTH_SLEEP_SELECT: return select(0, NULL, NULL, NULL, &tv);
	case TRUTH_SLEEP_SEM:
		sem_init(&sem, 0, 0);
		until = in_ms(CLOCK_REALTIME, ms);
		ret = sem_timedwait(&sem, &until);
		return ret && errno == ETIMEDOUT ? 0 : ret;
	default: errno = EINVAL; return -1;
	}
}

int truth_sleep(int how, int ms)
{
	uint64_t begin = now_ns(CLOCK_MONOTONIC);

	if (sleep_once((enum truth_sleep)how, ms) < 0)
		return errno == EINTR ? 1 : -1;
	/* The clocks need not agree to the microsecond. */
	return now_ns(CLOCK_MONOTONIC) - begin < (uint64_t)ms * 1000000 - 2000000 ? 2 : 0;
}
