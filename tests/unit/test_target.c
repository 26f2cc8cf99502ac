/* SPDX-License-Identifier: MIT */
/* Stacks of other threads: sleeping ones in every kind of wait, and running ones. */
#include "test.h"

#include <errno.h>
#include <linux/futex.h>
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

#include "activation.h"
#include "os/clock.h"
#include "os/modules.h"
#include "os/stop.h"
#include "os/thread.h"
#include "os/thread_state.h"
#include "sleepers.h"
#include "unwind/native.h"
#include "unwind/target.h"

#define FRAMES_MAX 512
#define ATTEMPTS   1000

static dnp_frame_word frames[FRAMES_MAX];
static struct dnp_regs registers[FRAMES_MAX];

static void prepare(void)
{
	act_as_the_runtime();
	CHECK(dnp_native_refresh() >= 0);
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
	s->space = 100 * depth;
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
	uint64_t deadline = dnp_now_ns() + TEST_HANG_NS;
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

static void show(const struct dnp_target_stack *stack)
{
	printf("# %zu frames, stop %d, asleep %d, syscall %ld\n", stack->n, stack->stop,
		stack->asleep, stack->syscall);
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
		show(stack);
		FAIL("the stack of a thread of kind %d is not whole", s->kind);
	}
}

static void end(struct sleeper *s)
{
	atomic_store(&s->word, 1);
	syscall(SYS_futex, &s->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	pthread_cancel(s->thread);
	pthread_join(s->thread, NULL);
	if (s->fd >= 0) {
		close(s->fd);
		close(s->other);
	}
	if (s->epoll >= 0)
		close(s->epoll);
}

static struct sleeper sleepers[SLEEP_NOT];

static void check_kinds(bool with_frames)
{
	struct dnp_target_stack stack = room();

	prepare();
	for (enum sleep_kind kind = 0; kind < SLEEP_NOT; kind++)
		begin(&sleepers[kind], kind, with_frames, 10 + (int)kind);
	for (enum sleep_kind kind = 0; kind < SLEEP_NOT; kind++) {
		struct sleeper *s = &sleepers[kind];

		wait_until_there(s);
		stack.stack = (struct dnp_stack_range){0};
		CHECK_EQ(walk(s->tid, NULL, DNP_TARGET_ASLEEP, &stack), 0);
		CHECK(stack.asleep && !stack.stopped_ns && stack.stack.high);
		check_whole(s, &stack);
		/* Again, with what is known of the stack now, and room for a part of it. */
		stack.max = 5;
		CHECK_EQ(walk(s->tid, NULL, DNP_TARGET_ASLEEP, &stack), 0);
		CHECK_EQ(stack.n, 5);
		CHECK_EQ(stack.stop, DNP_STOP_DEPTH);
		stack.max = FRAMES_MAX;
	}
	for (enum sleep_kind kind = 0; kind < SLEEP_NOT; kind++)
		end(&sleepers[kind]);
}

TEST(sleepers_with_frame_pointers_have_whole_stacks)
{
	check_kinds(true);
}

TEST(sleepers_without_frame_pointers_have_whole_stacks)
{
	check_kinds(false);
}

/* ---- Running */

static void prepare_to_stop(void)
{
#ifdef __SANITIZE_THREAD__
	SKIP("the thread sanitizer calls handlers later, from a frame of its own");
#endif
	prepare();
}

/* Not of a moment in which it waits for a page. */
static void walk_running(const struct sleeper *s, struct dnp_target_stack *stack)
{
	for (int i = 0; i < ATTEMPTS; i++) {
		CHECK_EQ(walk(s->tid, NULL, DNP_TARGET_ASLEEP | DNP_TARGET_STOP, stack), 0);
		if (!stack->asleep)
			return;
	}
	FAIL("thread of kind %d sleeps", s->kind);
}

/* One that is stopped again and again may be long on its way to the loop at the bottom. */
static void wait_for_loop(const struct sleeper *s)
{
	uint64_t deadline = dnp_now_ns() + TEST_HANG_NS;

	while (!s->rounds && dnp_now_ns() < deadline)
		dnp_sleep_until_ns(dnp_now_ns() + 1000000);
	CHECK(s->rounds);
}

TEST(running_threads_have_whole_stacks)
{
	static struct sleeper running[2];
	struct dnp_target_stack stack = room();

	prepare_to_stop();
	for (int i = 0; i < 2; i++) {
		begin(&running[i], SLEEP_NOT, i, 20 + i);
		wait_until_there(&running[i]);
	}
	for (int round = 0; round < 100; round++) {
		struct sleeper *s = &running[round % 2];
		int result;

		stack.stack = (struct dnp_stack_range){0};
		result = dnp_target_walk(s->tid, NULL, DNP_TARGET_ASLEEP, &stack);
		/* It may wait for a page. */
		CHECK(stack.asleep ? result == 0 || !stack.n : result == -EAGAIN && !stack.n);
		walk_running(s, &stack);
		CHECK(stack.stopped_ns);
		CHECK_EQ(stack.stop, DNP_STOP_END);
		CHECK_EQ(frames_in(&stack, (const void *)run_sleeper), 1);
		/* In the loop at the bottom, or on the way there. */
		CHECK(frames_in(&stack, (const void *)s->function) <= s->depth + 1);
	}
	for (int i = 0; i < 2; i++) {
		wait_for_loop(&running[i]);
		stack.stack = (struct dnp_stack_range){0};
		walk_running(&running[i], &stack);
		check_whole(&running[i], &stack);
		end(&running[i]);
	}
}

static void walk_what_stands(const void *context, void *arg)
{
	uint64_t until_ns = dnp_now_ns() + DNP_STOP_CAP_NS; /* then it goes on by itself */
	struct dnp_target_stack stack = room();
	struct dnp_thread_state state;
	struct sleeper *s = arg;

	(void)context;
	do
		CHECK_EQ(dnp_thread_state(s->tid, &state), 0);
	while (!state.asleep && dnp_now_ns() < until_ns);
	CHECK_EQ(dnp_target_walk(s->tid, NULL, DNP_TARGET_ASLEEP, &stack), -EAGAIN);
	CHECK(!stack.asleep && stack.syscall == -1);
}

/* It stands in our handler, and also for a moment after it was let go. */
TEST(a_thread_that_we_stopped_is_not_asleep)
{
	struct sleeper *s = &sleepers[0];
	int result = -ETIMEDOUT;

	prepare_to_stop();
	begin(s, SLEEP_NOT, true, 20);
	wait_until_there(s);
	while (result == -ETIMEDOUT || result == -EAGAIN)
		result = dnp_stop_while(s->tid, TEST_HANG_NS, walk_what_stands, s);
	CHECK_EQ(result, 0);
	end(s);
}

TEST(a_sleeper_that_is_stopped_shows_the_same)
{
	static dnp_frame_word asleep[FRAMES_MAX];
	struct dnp_target_stack stack = room();
	struct sleeper *s = &sleepers[0];
	size_t n;

	prepare_to_stop();
	begin(s, SLEEP_POLL, true, 30);
	wait_until_there(s);
	CHECK_EQ(walk(s->tid, NULL, DNP_TARGET_ASLEEP | DNP_TARGET_STOP, &stack), 0);
	CHECK(stack.asleep);
	n = stack.n;
	memcpy(asleep, frames, sizeof(asleep));
	CHECK_EQ(walk(s->tid, NULL, DNP_TARGET_STOP, &stack), 0);
	CHECK(!stack.asleep);
	CHECK_EQ(stack.n, n);
	CHECK(memcmp(asleep, frames, n * sizeof(frames[0])) == 0);
	end(s);
}

/* A thread that sleeps for moments only: whatever comes out as good has to be. */
static _Atomic bool dozing;

__attribute__((noinline)) static int doze(int depth)
{
	struct timespec moment = {0, 20000};
	volatile int here = depth;

	if (depth)
		return doze(depth - 1) + here;
	nanosleep(&moment, NULL);
	return here;
}

static void *run_dozer(void *arg)
{
	atomic_store((_Atomic int *)arg, dnp_thread_id());
	for (int i = 0; atomic_load(&dozing); i++)
		doze(i % 50);
	return NULL;
}

TEST(a_thread_that_moves_gives_a_whole_stack_or_none)
{
	struct dnp_target_stack stack = room();
	_Atomic int tid = 0;
	pthread_t thread;
	int good = 0;

	prepare();
	atomic_store(&dozing, true);
	CHECK_EQ(pthread_create(&thread, NULL, run_dozer, &tid), 0);
	while (!atomic_load(&tid))
		usleep(100);
	for (int i = 0; i < 5000 || (!good && i < 500000); i++) {
		int result = dnp_target_walk(tid, NULL, DNP_TARGET_ASLEEP, &stack);

		CHECK(result == 0 || result == -EAGAIN);
		if (result || stack.syscall != SYS_clock_nanosleep)
			continue;
		good++;
		CHECK_EQ(stack.stop, DNP_STOP_END);
		CHECK_EQ(frames_in(&stack, (const void *)run_dozer), 1);
		CHECK(frames_in(&stack, (const void *)doze) >= 1);
	}
	CHECK(good);
	atomic_store(&dozing, false);
	pthread_join(thread, NULL);
}

/* ---- Asleep in a handler, on a stack of its own */

static _Atomic int on_other_stack;

__attribute__((noinline)) static void sleep_in_handler(int signal)
{
	(void)signal;
	atomic_store(&on_other_stack, dnp_thread_id());
	pause();
	atomic_store(&on_other_stack, 0);
}

static void end_the_pause(int signal)
{
	(void)signal;
}

__attribute__((noinline)) static void interrupt_oneself(void)
{
	raise(SIGUSR2);
	atomic_store(&on_other_stack, 0);
}

static void *run_on_other_stack(void *arg)
{
	static char memory[1 << 16];
	stack_t other = {.ss_sp = memory, .ss_size = sizeof(memory)}, before;

	CHECK(sigaltstack(&other, &before) == 0);
	interrupt_oneself();
	CHECK(sigaltstack(&before, NULL) == 0); /* the address sanitizer frees it */
	return arg;
}

TEST(a_thread_on_a_stack_of_a_handler_has_a_whole_stack)
{
	struct sigaction action = {.sa_handler = sleep_in_handler, .sa_flags = SA_ONSTACK};
	struct dnp_target_stack stack = room();
	struct dnp_thread_state state;
	pthread_attr_t attr;
	pthread_t thread;
	size_t bytes;
	void *base;

	prepare_to_stop();
	CHECK(sigaction(SIGUSR2, &action, NULL) == 0);
	action = (struct sigaction){.sa_handler = end_the_pause};
	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	CHECK_EQ(pthread_create(&thread, NULL, run_on_other_stack, NULL), 0);
	do
		usleep(1000);
	while (!atomic_load(&on_other_stack) || dnp_thread_state(on_other_stack, &state) ||
		state.syscall != SYS_pause);
	CHECK(pthread_getattr_np(thread, &attr) == 0);
	CHECK(pthread_attr_getstack(&attr, &base, &bytes) == 0);
	pthread_attr_destroy(&attr);
	stack.stack = (struct dnp_stack_range){(uintptr_t)base, (uintptr_t)base + bytes};
	CHECK_EQ(walk(on_other_stack, NULL, DNP_TARGET_ASLEEP, &stack), 0);
	if (stack.stop != DNP_STOP_END)
		show(&stack);
	CHECK_EQ(stack.stop, DNP_STOP_END);
	CHECK_EQ(frames_in(&stack, (const void *)sleep_in_handler), 1);
	CHECK_EQ(frames_in(&stack, (const void *)interrupt_oneself), 1);
	CHECK_EQ(frames_in(&stack, (const void *)run_on_other_stack), 1);
	pthread_kill(thread, SIGUSR1);
	pthread_join(thread, NULL);
}

/* ---- Seeds */

TEST(a_walk_goes_on_from_the_registers_of_each_frame)
{
	static dnp_frame_word whole[FRAMES_MAX];
	static struct dnp_regs seeds[FRAMES_MAX];
	struct dnp_target_stack stack = room();
	struct sleeper *s = &sleepers[0];
	size_t n;

	prepare();
	begin(s, SLEEP_READ, true, 12);
	wait_until_there(s);
	CHECK_EQ(walk(s->tid, NULL, DNP_TARGET_ASLEEP, &stack), 0);
	n = stack.n;
	memcpy(whole, frames, sizeof(whole));
	memcpy(seeds, registers, sizeof(seeds));
	for (size_t i = 0; i < n; i++) {
		CHECK_EQ(walk(s->tid, &seeds[i], DNP_TARGET_ASLEEP, &stack), 0);
		CHECK_EQ(stack.n, n - i);
		CHECK_EQ(DNP_FRAME_ADDR(frames[0]), DNP_FRAME_ADDR(whole[i]));
		CHECK(memcmp(frames + 1, whole + i + 1, (n - i - 1) * sizeof(whole[0])) == 0);
		CHECK_EQ(stack.stop, DNP_STOP_END);
	}
	end(s);
}

/* Another thread's stack, one that is gone, half a word, and code that is none. */
TEST(seeds_that_cannot_be_of_the_thread_are_refused)
{
	void *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct dnp_target_stack stack = room();
	struct dnp_regs good, bad[6], other;

	prepare();
	munmap(gone, 4096);
	for (int i = 0; i < 2; i++) {
		begin(&sleepers[i], SLEEP_READ, true, 12);
		wait_until_there(&sleepers[i]);
		stack.stack = (struct dnp_stack_range){0};
		CHECK_EQ(walk(sleepers[i].tid, NULL, DNP_TARGET_ASLEEP, &stack), 0);
		other = good;
		good = registers[3];
	}
	CHECK_EQ(walk(sleepers[1].tid, &good, DNP_TARGET_ASLEEP, &stack), 0);
	for (size_t i = 0; i < DNP_ARRAY_SIZE(bad); i++)
		bad[i] = good;
	bad[0].sp = other.sp;
	bad[1].sp = (uintptr_t)gone + 64;
	bad[2].sp = good.sp + 4;
	bad[3].sp = stack.stack.high;
	bad[4].pc = (uintptr_t)gone + 64;
	bad[5] = (struct dnp_regs){0};
	for (size_t i = 0; i < DNP_ARRAY_SIZE(bad); i++) {
		CHECK_EQ(walk(sleepers[1].tid, &bad[i], DNP_TARGET_ASLEEP, &stack), -EFAULT);
		CHECK_EQ(stack.n, 0);
	}
	for (int i = 0; i < 2; i++)
		end(&sleepers[i]);
}

static uint64_t random_state = 88172645463325252;

static uint64_t random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uintptr_t somewhere(uintptr_t low, uintptr_t high)
{
	return low + random_number() % (high - low);
}

/* An address of one of the kinds that a wrong seed may have. */
static uintptr_t bad_address(const struct dnp_stack_range *stacks, size_t n, uintptr_t unmapped)
{
	const struct dnp_elf_module *module;
	size_t modules = 0;

	switch (random_number() % 8) {
	case 0: return random_number();
	case 1: return random_number() % 65536;
	case 2: return unmapped + random_number() % 4096;
	case 3: return UINTPTR_MAX - random_number() % 65536;
	case 4:
	case 5:
		while (dnp_module_get(modules))
			modules++;
		module = dnp_module_get(random_number() % modules);
		return somewhere(module->low, module->high);
	default: {
		const struct dnp_stack_range *stack = &stacks[random_number() % n];

		return somewhere(stack->low, stack->high) & (random_number() % 4 ? ~7ULL : ~0ULL);
	}
	}
}

static struct dnp_regs bad_seed(const struct dnp_stack_range *stacks, size_t n, uintptr_t unmapped)
{
	return (struct dnp_regs){
		.pc = bad_address(stacks, n, unmapped),
		.sp = random_number() % 2 ? bad_address(stacks, n, unmapped)
					  : somewhere(stacks[0].low, stacks[0].high) & ~7ULL,
		.bp = bad_address(stacks, n, unmapped),
		.bx = bad_address(stacks, n, unmapped),
		.r10 = bad_address(stacks, n, unmapped),
	};
}

/* Where each takes some microseconds; the sanitizers make it a hundred. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SEEDS 100000
#else
#define SEEDS 200000
#endif

/* DNPROF_TEST_SEEDS says how many others are tried. Each gives an error or frames. */
static void try_seeds(unsigned how, enum sleep_kind kind, long n)
{
	void *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const char *wanted = getenv("DNPROF_TEST_SEEDS");
	struct dnp_stack_range stacks[3];
	struct dnp_target_stack stack = room();
	long frames_seen = 0, refused = 0, late = 0;

	if (wanted)
		n = n * atol(wanted) / SEEDS;
	alarm(0); /* as long as that takes */
	munmap(gone, 4096);
	for (int i = 0; i < 3; i++) {
		begin(&sleepers[i], i ? SLEEP_POLL : kind, i % 2, 30);
		wait_until_there(&sleepers[i]);
		stack.stack = (struct dnp_stack_range){0};
		CHECK_EQ(walk(sleepers[i].tid, NULL, i ? DNP_TARGET_ASLEEP : how, &stack), 0);
		stacks[i] = (struct dnp_stack_range){registers[0].sp - 256, stack.stack.high};
	}
	stack.stack = stacks[0];
	stack.stack.low -= 4096;
	for (long i = 0; i < n; i++) {
		struct dnp_regs seed = bad_seed(stacks, 3, (uintptr_t)gone);
		int result = dnp_target_walk(sleepers[0].tid, &seed, how, &stack);

		CHECK(result == 0 || result == -EFAULT || result == -ETIMEDOUT ||
			result == -EAGAIN);
		CHECK(result ? !stack.n : stack.n && stack.n <= FRAMES_MAX);
		refused += result == -EFAULT;
		late += result == -ETIMEDOUT || result == -EAGAIN;
		frames_seen += (long)stack.n;
	}
	printf("# %ld seeds: %ld refused, %ld frames, %ld times not stopped\n", n, refused,
		frames_seen, late);
	CHECK(refused && frames_seen > n / 100);
	for (int i = 0; i < 3; i++)
		end(&sleepers[i]);
}

TEST(bad_seeds_for_a_sleeper_give_errors_or_frames)
{
	prepare();
	try_seeds(DNP_TARGET_ASLEEP, SLEEP_READ, SEEDS);
}

TEST(bad_seeds_for_a_running_thread_give_errors_or_frames)
{
	prepare_to_stop();
	try_seeds(DNP_TARGET_STOP, SLEEP_NOT, SEEDS / 20);
}

/* ---- Threads that end */

static _Atomic bool churning;
static _Atomic int newest;

static void *run_shortly(void *arg)
{
	struct timespec moment = {0, 10000};

	atomic_store(&newest, dnp_thread_id());
	nanosleep(&moment, NULL);
	return arg;
}

static void *churn(void *arg)
{
	pthread_t thread;

	while (atomic_load(&churning)) {
		if (!pthread_create(&thread, NULL, run_shortly, NULL))
			pthread_join(thread, NULL);
	}
	return arg;
}

TEST(threads_may_end_while_they_are_walked)
{
	struct dnp_target_stack stack = room();
	pthread_t threads[2];

	prepare();
	stack.patience_ns = 20000000;
	atomic_store(&churning, true);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, churn, NULL), 0);
	for (int i = 0; i < 3000; i++) {
		int tid = atomic_load(&newest), result;

		if (!tid)
			continue;
		stack.stack = (struct dnp_stack_range){0};
		result = dnp_target_walk(tid, NULL,
			i % 3 ? DNP_TARGET_ASLEEP : DNP_TARGET_ASLEEP | DNP_TARGET_STOP, &stack);
		CHECK(result == 0 || result == -ESRCH || result == -EAGAIN ||
			result == -ETIMEDOUT || result == -EFAULT);
	}
	atomic_store(&churning, false);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static _Atomic int blocking, unblock, waiting, waited;

/* A thread that cannot be stopped for a while: the walk of it takes as long. */
static void *run_blocking(void *arg)
{
	uint64_t set = UINT64_C(1) << (dnp_signal_number() - 1);

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, sizeof(set));
	atomic_store(&blocking, dnp_thread_id());
	while (!atomic_load(&unblock))
		usleep(100);
	syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, NULL, sizeof(set));
	while (dnp_target_since() != UINT64_MAX)
		usleep(100); /* where the thread sanitizer runs handlers */
	return arg;
}

static void *run_walk(void *arg)
{
	static dnp_frame_word own_frames[FRAMES_MAX];
	struct dnp_target_stack stack = {
		.frames = own_frames, .max = FRAMES_MAX, .patience_ns = TEST_HANG_NS};

	*(int *)arg = dnp_target_walk(atomic_load(&blocking), NULL, DNP_TARGET_STOP, &stack);
	return NULL;
}

static void *run_wait(void *arg)
{
	atomic_store(&waiting, 1);
	dnp_target_wait(atomic_load(&blocking));
	atomic_store(&waited, 1);
	return arg;
}

TEST(a_thread_that_ends_waits_for_its_own_walk_only)
{
	pthread_t blocked, walker, waiter;
	int result = 1;

	prepare();
	CHECK(dnp_target_since() == UINT64_MAX);
	dnp_target_wait(dnp_thread_id());
	CHECK_EQ(pthread_create(&blocked, NULL, run_blocking, NULL), 0);
	while (!atomic_load(&blocking))
		usleep(100);
	CHECK_EQ(pthread_create(&walker, NULL, run_walk, &result), 0);
	while (dnp_target_since() == UINT64_MAX)
		usleep(100);
	CHECK(dnp_target_since() <= dnp_now_ns());

	dnp_target_wait(dnp_thread_id()); /* comes back, though that walk goes on */
	CHECK(dnp_target_since() != UINT64_MAX);

	CHECK_EQ(pthread_create(&waiter, NULL, run_wait, NULL), 0);
	while (!atomic_load(&waiting))
		usleep(100);
	usleep(20000);
	CHECK(!atomic_load(&waited));
	atomic_store(&unblock, 1);
	pthread_join(waiter, NULL);
	CHECK(dnp_target_since() == UINT64_MAX);
	pthread_join(walker, NULL);
	CHECK_EQ(result, 0);
	pthread_join(blocked, NULL);
}

static _Atomic int unstoppable_tid, unstoppable_may_end;

static void *run_unstoppable(void *arg)
{
	uint64_t end_ns = UINT64_MAX;
	sigset_t all;

	(void)arg;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	atomic_store(&unstoppable_tid, dnp_thread_id());
	/* Until somebody has tried for a while. */
	while (dnp_now_ns() < end_ns)
		if (end_ns == UINT64_MAX && dnp_target_since() != UINT64_MAX)
			end_ns = dnp_now_ns() + UINT64_C(10000000);
	while (!atomic_load(&unstoppable_may_end))
		usleep(200000);
	return NULL;
}

TEST(a_thread_that_cannot_be_stopped_is_read_when_it_sleeps)
{
	struct dnp_target_stack stack = room();
	pthread_t thread;

	prepare();
	stack.patience_ns = TEST_HANG_NS;
	CHECK_EQ(pthread_create(&thread, NULL, run_unstoppable, NULL), 0);
	while (!atomic_load(&unstoppable_tid))
		usleep(100);
	CHECK_EQ(dnp_target_walk(atomic_load(&unstoppable_tid), NULL,
			 DNP_TARGET_ASLEEP | DNP_TARGET_STOP, &stack),
		0);
	CHECK(stack.asleep);
	atomic_store(&unstoppable_may_end, 1);
	pthread_join(thread, NULL);
}

TEST(what_cannot_be_walked_is_told)
{
	struct dnp_target_stack stack = room();

	prepare();
	CHECK_EQ(dnp_target_walk(dnp_thread_id(), NULL, DNP_TARGET_STOP, &stack), -EDEADLK);
	CHECK_EQ(dnp_target_walk(1, NULL, DNP_TARGET_ASLEEP, &stack), -ESRCH);
	CHECK_EQ(dnp_target_walk(1, NULL, DNP_TARGET_STOP, &stack), -ESRCH);
	CHECK_EQ(dnp_target_walk(1, NULL, DNP_TARGET_ASLEEP | DNP_TARGET_STOP, &stack), -ESRCH);
}
