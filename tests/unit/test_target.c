/* SPDX-License-Identifier: MIT */
/* Stacks of other threads: sleeping ones in every kind of wait, and running ones. */
#include "test.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/modules.h"
#include "os/sampling_signal.h"
#include "os/stop.h"
#include "os/thread.h"
#include "os/thread_state.h"
#include "sleepers.h"
#include "unwind/native.h"
#include "unwind/target.h"

#define FRAMES_MAX 512
#define WAIT_NS    UINT64_C(30000000000) /* for what must come on any machine */
#define ATTEMPTS   1000

static dnp_frame_word frames[FRAMES_MAX];
static struct dnp_regs registers[FRAMES_MAX];

static void on_activation(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	(void)context;
}

/* What the runtime does at its start: it has a handler of that signal. */
static void prepare(void)
{
	struct sigaction runtime = {.sa_sigaction = on_activation, .sa_flags = SA_SIGINFO};
	struct dnp_err err;

	CHECK(sigaction(dnp_signal_number(), &runtime, NULL) == 0);
	if (dnp_stop_open(&err))
		FAIL("%s", err.text);
	CHECK(dnp_native_refresh(1) >= 0);
}

/* ---- Sleepers */

static void *run_sleeper(void *arg)
{
	struct sleeper *s = arg;

	atomic_store(&s->tid, dnp_thread_id());
	s->function(s, s->depth);
	return NULL;
}

static void open_files(struct sleeper *s)
{
	struct epoll_event event = {.events = EPOLLIN};
	int fds[2];

	s->fd = s->other = s->epoll = -1;
	if (s->kind == SLEEP_RECV) {
		CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	} else if (s->kind >= SLEEP_READ && s->kind <= SLEEP_SELECT) {
		CHECK(pipe(fds) == 0);
	} else {
		return;
	}
	s->fd = fds[0];
	s->other = fds[1];
	if (s->kind == SLEEP_EPOLL) {
		s->epoll = epoll_create1(0);
		CHECK(s->epoll >= 0 && epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->fd, &event) == 0);
	}
}

static void begin(struct sleeper *s, enum sleep_kind kind, bool with_frames, int depth)
{
	memset(s, 0, sizeof(*s));
	s->kind = kind;
	s->depth = depth;
	s->function = with_frames ? sleepers_with_frames : sleepers_without_frames;
	open_files(s);
	pthread_mutex_init(&s->mutex, NULL);
	pthread_cond_init(&s->condition, NULL);
	sem_init(&s->semaphore, 0, 0);
	CHECK_EQ(pthread_create(&s->thread, NULL, run_sleeper, s), 0);
}

static const long syscalls[SLEEP_KINDS] = {
	[SLEEP_NANOSLEEP] = SYS_clock_nanosleep,
	[SLEEP_FUTEX] = SYS_futex,
	[SLEEP_CONDITION] = SYS_futex,
	[SLEEP_SEMAPHORE] = SYS_futex,
	[SLEEP_READ] = SYS_read,
	[SLEEP_RECV] = SYS_recvfrom,
	[SLEEP_POLL] = SYS_poll,
	[SLEEP_EPOLL] = SYS_epoll_wait,
	[SLEEP_SELECT] = SYS_select,
	[SLEEP_NOT] = -1,
};

/* Until it is where it is meant to be; a running one only has to have begun. */
static void wait_until_there(struct sleeper *s)
{
	uint64_t deadline = dnp_now_ns() + WAIT_NS;
	struct dnp_thread_state state;

	while (dnp_now_ns() < deadline) {
		int tid = atomic_load(&s->tid);

		if (tid && s->kind == SLEEP_NOT)
			return;
		if (tid && !dnp_thread_state(tid, &state) && state.asleep &&
			(state.syscall == syscalls[s->kind] ||
				(s->kind == SLEEP_SELECT && state.syscall == SYS_pselect6) ||
				(s->kind == SLEEP_NANOSLEEP && state.syscall == SYS_nanosleep)))
			return;
		dnp_sleep_until_ns(dnp_now_ns() + 1000000);
	}
	FAIL("thread of kind %d does not come to sleep", s->kind);
}

static struct dnp_target_stack room(void)
{
	return (struct dnp_target_stack){
		.frames = frames, .registers = registers, .max = FRAMES_MAX};
}

/* Threads move; what is asked for is a walk of one that did not. */
static int walk(int tid, const struct dnp_regs *seed, unsigned how, struct dnp_target_stack *stack)
{
	int result = -EAGAIN;

	for (int i = 0; i < ATTEMPTS && (result == -EAGAIN || result == -ETIMEDOUT); i++)
		result = dnp_target_walk(tid, seed, how, stack);
	return result;
}

static bool is_in(dnp_frame_word frame, const void *function)
{
	uintptr_t pc = DNP_FRAME_ADDR(frame) - (frame & DNP_FRAME_EXACT ? 0 : 1);
	const struct dnp_elf_module *module = dnp_module_find(pc);
	uint64_t start;

	return module && dnp_native_function(module, pc, &start) &&
		start + module->bias == (uintptr_t)function;
}

static int frames_in(const struct dnp_target_stack *stack, const void *function)
{
	int n = 0;

	for (size_t i = 0; i < stack->n; i++)
		n += is_in(stack->frames[i], function);
	return n;
}

static void show(const struct sleeper *s, const struct dnp_target_stack *stack)
{
	printf("# kind %d, %zu frames, stop %d, asleep %d, syscall %ld\n", s->kind, stack->n,
		stack->stop, stack->asleep, stack->syscall);
	for (size_t i = 0; i < stack->n; i++) {
		uintptr_t pc = DNP_FRAME_ADDR(stack->frames[i]);
		const struct dnp_elf_module *module = dnp_module_find(pc);

		printf("#   %s+%#lx sp %#lx bp %#lx\n", module ? module->path : "?",
			module ? pc - module->bias : pc, registers[i].sp, registers[i].bp);
	}
}

static void check_whole(const struct sleeper *s, const struct dnp_target_stack *stack)
{
	if (stack->stop != DNP_STOP_END ||
		frames_in(stack, (const void *)s->function) != s->depth + 1 ||
		frames_in(stack, (const void *)run_sleeper) != 1) {
		show(s, stack);
		FAIL("the stack is not whole");
	}
}

static void check_kinds(bool with_frames)
{
	static struct sleeper sleepers[SLEEP_NOT];
	struct dnp_target_stack stack = room();

	prepare();
	for (enum sleep_kind kind = 0; kind < SLEEP_NOT; kind++)
		begin(&sleepers[kind], kind, with_frames, 10 + (int)kind);
	for (enum sleep_kind kind = 0; kind < SLEEP_NOT; kind++) {
		struct sleeper *s = &sleepers[kind];

		wait_until_there(s);
		stack.stack = (struct dnp_stack_range){0};
		CHECK_EQ(walk(s->tid, NULL, DNP_TARGET_ASLEEP, &stack), 0);
		CHECK(stack.asleep);
		check_whole(s, &stack);
	}
	_exit(0);
}

TEST(sleepers_with_frame_pointers_have_whole_stacks)
{
	check_kinds(true);
}

TEST(sleepers_without_frame_pointers_have_whole_stacks)
{
	check_kinds(false);
}
