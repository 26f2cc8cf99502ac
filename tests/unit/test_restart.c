/* SPDX-License-Identifier: MIT */
/* Calls that sleep, and the runtime's own signal on its way through our handler. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clean.h"
#include "os/linux/signal_info.h"
#include "os/sampling_signal.h"
#include "os/thread.h"
#include "os/thread_state.h"

#define WAIT_MS 200 /* of a call that is to come to its end, at first */

static int wait_ms; /* how long calls wait */
static _Atomic bool over;
static _Atomic int activations, amid; /* of these, those that came while the call was not over */

static void on_activation(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	(void)context;
	if (!atomic_load(&over))
		atomic_fetch_add(&amid, 1);
	atomic_fetch_add(&activations, 1);
}

static int on_none(const struct dnp_signal_info *info, void *context)
{
	(void)info;
	(void)context;
	return 0;
}

/* ---- Calls: 0 when they have waited, -1 with errno */

static int call_nanosleep(void)
{
	return nanosleep(&(struct timespec){wait_ms / 1000, wait_ms % 1000 * 1000000}, NULL);
}

static int call_poll(void)
{
	return poll(NULL, 0, wait_ms);
}

/*
 * As newer C libraries make it: all calls in one place, with the number in a register, and on the
 * stack of who calls that. How far up is what gcc 14 made of glibc 2.41 and gcc 15 of 2.43.
 */
int call_cancellable(long a, long b, long c, long d, long e, long f, long number);
int call_cancellable_with_more(long a, long b, long c, long d, long e, long f, long number);
int call_uncancellable(long a, long b, long c, long d, long e, long f, long number);

__asm__("	.text\n"
	"arch:\n"
	"	mov	(%rdi), %eax\n	testb	$8, (%rdi)\n"
	"	.byte	0x0f, 0x85, 0, 0, 0, 0\n" /* jne, near */
	"	mov	%rdi, %r11\n	mov	%rsi, %rax\n	mov	%rdx, %rdi\n"
	"	mov	%rcx, %rsi\n	mov	%r8, %rdx\n	mov	%r9, %r10\n"
	"	mov	8(%rsp), %r8\n	mov	16(%rsp), %r9\n	mov	%r11, 8(%rsp)\n"
	"	syscall\n"
	"	ret\n"

	"	.globl	call_cancellable\n"
	"	.type	call_cancellable, @function\n"
	"call_cancellable:\n"
	"	push	%rbx\n"
	"	mov	%rcx, %r10\n	lea	no_state(%rip), %r11\n"
	"	push	%r9\n	mov	%rcx, %r9\n	mov	%rsi, %rcx\n	push	%r8\n"
	"	mov	32(%rsp), %rsi\n	mov	%rdx, %r8\n"
	"	mov	%rdi, %rdx\n	mov	%r11, %rdi\n"
	"	call	arch\n"
	"	pop	%rcx\n	pop	%rsi\n	pop	%rbx\n"
	"	ret\n"

	"	.globl	call_cancellable_with_more\n"
	"	.type	call_cancellable_with_more, @function\n"
	"call_cancellable_with_more:\n"
	"	sub	$24, %rsp\n"
	"	lea	no_state(%rip), %r10\n	mov	%r10, 8(%rsp)\n"
	"	mov	%rdx, %rax\n	mov	%rcx, %r11\n"
	"	push	%r9\n	mov	%rsi, %rcx\n	mov	%rdi, %rdx\n"
	"	mov	%r11, %r9\n	push	%r8\n	mov	48(%rsp), %rsi\n"
	"	mov	%rax, %r8\n	mov	%r10, %rdi\n"
	"	call	arch\n"
	"	pop	%rcx\n	pop	%rsi\n	add	$24, %rsp\n"
	"	ret\n"

	"	.globl	call_uncancellable\n"
	"	.type	call_uncancellable, @function\n"
	"call_uncancellable:\n"
	"	push	%rbx\n"
	"	mov	%rcx, %r10\n	mov	16(%rsp), %rax\n"
	"	syscall\n"
	"	pop	%rbx\n"
	"	ret\n"

	"	.data\n"
	"no_state:\n"
	"	.long	0\n"
	"	.text\n");

static int as_libc(long result)
{
	errno = result < 0 ? (int)-result : 0;
	return result < 0 ? -1 : (int)result;
}

__attribute__((unused)) static int call_poll_cancellable(void)
{
	return as_libc(call_cancellable(0, 0, wait_ms, 0, 0, 0, SYS_poll));
}

__attribute__((unused)) static int call_poll_cancellable_with_more(void)
{
	return as_libc(call_cancellable_with_more(0, 0, wait_ms, 0, 0, 0, SYS_poll));
}

__attribute__((unused)) static int call_poll_uncancellable(void)
{
	return as_libc(call_uncancellable(0, 0, wait_ms, 0, 0, 0, SYS_poll));
}

static int call_epoll(void)
{
	int fd = epoll_create1(EPOLL_CLOEXEC), result, error;
	struct epoll_event event;

	result = epoll_wait(fd, &event, 1, wait_ms);
	error = errno;
	close(fd);
	errno = error;
	return result;
}

/* As the C library calls it, where that is new enough: the number in the instruction before. */
__attribute__((unused)) static int call_epoll_pwait2(void)
{
	struct timespec patience = {wait_ms / 1000, wait_ms % 1000 * 1000000};
	struct epoll_event event;
	int fd = epoll_create1(EPOLL_CLOEXEC);
	register const struct timespec *r10 __asm__("r10") = &patience;
	register const void *r8 __asm__("r8") = NULL;
	register long r9 __asm__("r9") = 0;
	long result;

	__asm__ volatile("mov $441, %%eax\n\tsyscall"
			 : "=&a"(result)
			 : "D"((long)fd), "S"(&event), "d"(1L), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	close(fd);
	errno = result < 0 ? (int)-result : 0;
	if (result == -ENOSYS) /* before Linux 5.11 */
		return call_epoll();
	return result < 0 ? -1 : (int)result;
}

__attribute__((unused)) static int call_select(void)
{
	return select(
		0, NULL, NULL, NULL, &(struct timeval){wait_ms / 1000, wait_ms % 1000 * 1000});
}

/* The C library has arguments to fetch between the call's number and the call. */
__attribute__((unused)) static int call_epoll_pwait(void)
{
	int fd = epoll_create1(EPOLL_CLOEXEC), result, error;
	struct epoll_event event;
	sigset_t none;

	sigemptyset(&none);
	result = epoll_pwait(fd, &event, 1, wait_ms, &none);
	error = errno;
	close(fd);
	errno = error;
	return result;
}

/* With a time-out the kernel gives up on these. 0: that is over. */
static int wait_at_socket(ssize_t (*receive)(int fd, void *to, size_t n))
{
	struct timeval patience = {wait_ms / 1000, wait_ms % 1000 * 1000};
	int fds[2], error;
	char byte;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	CHECK_EQ(setsockopt(fds[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	CHECK_EQ(receive(fds[0], &byte, 1), -1);
	error = errno;
	close(fds[0]);
	close(fds[1]);
	errno = error;
	return error == EAGAIN ? 0 : -1;
}

static ssize_t receive_from(int fd, void *to, size_t n)
{
	return recvfrom(fd, to, n, 0, NULL, NULL);
}

__attribute__((unused)) static int call_recvfrom(void)
{
	return wait_at_socket(receive_from);
}

__attribute__((unused)) static int call_read(void)
{
	return wait_at_socket(read);
}

static int call_sem(void)
{
	struct timespec until;
	sem_t sem;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += wait_ms % 1000 * 1000000;
	until.tv_sec += wait_ms / 1000 + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	sem_init(&sem, 0, 0);
	return sem_timedwait(&sem, &until) && errno == ETIMEDOUT ? 0 : -1;
}

static const struct {
	const char *name;
	int (*call)(void);
} calls[] = {
	{"nanosleep", call_nanosleep},
	{"poll", call_poll},
	{"epoll_wait", call_epoll},
#ifndef __SANITIZE_THREAD__ /* does not know it: the handler runs too late */
	{"select", call_select},
	{"epoll_pwait2", call_epoll_pwait2},
	{"epoll_pwait", call_epoll_pwait},
	{"recvfrom", call_recvfrom},
	{"read", call_read},
	{"poll, cancellable", call_poll_cancellable},
	{"poll, cancellable, with more on the stack", call_poll_cancellable_with_more},
	{"poll, not cancellable", call_poll_uncancellable},
#endif
	{"sem_timedwait", call_sem},
};

/* ---- A thread in one of them */

static struct {
	int (*call)(void);
	_Atomic int tid, result;
} caller;

/* It is there until it has got the signal. */
static void *run(void *context)
{
	int before = atomic_load(&activations);

	(void)context;
	atomic_store(&caller.tid, dnp_thread_id());
	atomic_store(&caller.result, caller.call() ? -errno : 0);
	atomic_store(&over, true);
	while (atomic_load(&activations) == before)
		usleep(100);
	return NULL;
}

static bool sleeps(int tid)
{
	struct dnp_thread_state state;

	return !dnp_thread_state(tid, &state) && state.asleep && state.syscall >= 0;
}

/* As the runtime does. */
static int send_from_within(int tid)
{
	return (int)syscall(SYS_tgkill, getpid(), tid, dnp_signal_number());
}

static int send_otherwise(int tid)
{
	siginfo_t info = {.si_code = SI_QUEUE};

	info.si_pid = getpid();
	return (int)syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, dnp_signal_number(), &info);
}

/* The result of a call that waits so long, during which the signal came once, if it was in time. */
static int try_to_interrupt(int (*call)(void), int (*send)(int tid), int ms)
{
	int before = atomic_load(&activations);
	pthread_t thread;

	atomic_store(&caller.tid, 0);
	atomic_store(&over, false);
	atomic_store(&amid, 0);
	caller.call = call;
	wait_ms = ms;
	CHECK(pthread_create(&thread, NULL, run, NULL) == 0);
	while (!atomic_load(&over) &&
		(!atomic_load(&caller.tid) || !sleeps(atomic_load(&caller.tid))))
		sched_yield();
	CHECK(send(atomic_load(&caller.tid)) == 0);
	pthread_join(thread, NULL);
	CHECK_EQ(atomic_load(&activations), before + 1);
	return atomic_load(&caller.result);
}

/* Of one that ends for it. */
static int interrupted(int (*call)(void), int (*send)(int tid))
{
	return try_to_interrupt(call, send, TEST_HANG_S * 1000);
}

/* Of one that waits on, to its end. */
static int interrupted_for_nothing(int (*call)(void), int (*send)(int tid))
{
	int result = 0;

	for (int ms = WAIT_MS; !atomic_load(&amid) || ms == WAIT_MS; ms *= 2)
		result = try_to_interrupt(call, send, ms);
	return result;
}

static void act_as_the_runtime(void)
{
	struct sigaction runtime = {
		.sa_sigaction = on_activation, .sa_flags = SA_SIGINFO | SA_RESTART};

	signal(SIGSEGV, SIG_DFL);
	CHECK(sigaction(dnp_signal_number(), &runtime, NULL) == 0);
}

static void share_by(dnp_signal_handler handler)
{
	struct dnp_err err;

	if (dnp_signal_share(handler, &err))
		FAIL("%s", err.text);
}

static void share(void)
{
	share_by(on_none);
}

TEST(calls_that_the_runtime_interrupts_start_again)
{
	act_as_the_runtime();
	for (size_t i = 0; i < DNP_ARRAY_SIZE(calls); i++)
		if (calls[i].call != call_sem) /* the C library itself makes that one again */
			CHECK_EQ(interrupted(calls[i].call, send_from_within), -EINTR);
	share();
	for (size_t i = 0; i < DNP_ARRAY_SIZE(calls); i++) {
		int result = interrupted_for_nothing(calls[i].call, send_from_within);

		if (result)
			FAIL("%s: %s", calls[i].name, strerror(-result));
	}
	CHECK_EQ(dnp_signal_unshare(on_none), 0);
}

TEST(calls_that_others_interrupt_end)
{
	act_as_the_runtime();
	share();
	CHECK_EQ(interrupted(call_poll, send_otherwise), -EINTR);
	CHECK_EQ(dnp_signal_unshare(on_none), 0);
}

/* ---- A signal of the program's that comes amid one of ours */

enum { ENDED, WENT_ON }; /* statuses of a child whose call ended for SIGUSR1, or for SIGUSR2 */

static int sample_taken[2]; /* a pipe */
static volatile sig_atomic_t last_came;

static void on_program_signal(int signo)
{
	last_came = signo == SIGUSR2;
}

static int on_sample(const struct dnp_signal_info *info, void *context)
{
	(void)context;
	if (!dnp_signal_is_sent(info, DNP_SIGNAL_STOP))
		return 0;
	kill(getpid(), SIGUSR1);
	return write(sample_taken[1], "", 1) == 1;
}

static void wait_in_call(void)
{
	int result = poll(NULL, 0, -1);

	CHECK(result == -1 && errno == EINTR);
	test_end_child(last_came ? WENT_ON : ENDED);
}

/* To read what the only thread of another process does. */
static int open_state(pid_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	return fd;
}

/* Whether a child does so again: else it has ended, with *status. */
static bool waits(pid_t pid, int *status)
{
	struct dnp_thread_state state = {0};
	auto_close int fd = open_state(pid);

	while (dnp_thread_state_read(fd, &state) || state.syscall != SYS_poll) {
		if (waitpid(pid, status, WNOHANG) == pid)
			return false;
		sched_yield();
	}
	return true;
}

/* How a child's call ends that one of ours comes amid, and SIGUSR1 amid that. */
static int amid_both(void (*handler)(int signo))
{
	struct dnp_signal_info sample;
	int status;
	char byte;
	pid_t pid;

	act_as_the_runtime();
	CHECK(signal(SIGUSR1, handler) != SIG_ERR);
	CHECK(signal(SIGUSR2, on_program_signal) != SIG_ERR);
	CHECK_EQ(pipe(sample_taken), 0);
	share_by(on_sample);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		wait_in_call();
	CHECK(waits(pid, &status));
	dnp_signal_make(&sample, DNP_SIGNAL_STOP);
	CHECK_EQ(syscall(SYS_rt_tgsigqueueinfo, pid, pid, dnp_signal_number(), &sample.system), 0);
	CHECK_EQ(read(sample_taken[0], &byte, 1), 1);
	if (waits(pid, &status)) {
		CHECK_EQ(kill(pid, SIGUSR2), 0);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
	}
	CHECK_EQ(dnp_signal_unshare(on_sample), 0);
	close(sample_taken[0]);
	close(sample_taken[1]);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

TEST(calls_that_the_program_interrupts_end)
{
#ifdef __SANITIZE_THREAD__
	SKIP("the thread sanitizer calls handlers in an order of its own");
#endif
	CHECK_EQ(amid_both(on_program_signal), ENDED);
}

TEST(calls_amid_which_a_signal_is_ignored_go_on)
{
#ifdef __SANITIZE_THREAD__
	SKIP("the thread sanitizer calls handlers in an order of its own");
#endif
	CHECK_EQ(amid_both(SIG_IGN), WENT_ON);
}

/* ---- A process that is stopped as a whole */

static void wait_for_event(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t event = PTHREAD_COND_INITIALIZER;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 3600;
	pthread_mutex_lock(&mutex);
	pthread_cond_timedwait(&event, &mutex, &until);
	pthread_mutex_unlock(&mutex);
}

/* Until another process sleeps in that call. */
static struct dnp_thread_state await_call(pid_t pid, long number)
{
	struct dnp_thread_state state = {0};
	auto_close int fd = open_state(pid);

	while (dnp_thread_state_read(fd, &state) || !state.asleep || state.syscall != number)
		usleep(100);
	return state;
}

TEST(who_was_stopped_as_it_waited_for_an_event_waits_for_it)
{
	struct dnp_thread_state state;
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (!pid) {
		wait_for_event();
		test_end_child(0);
	}
	state = await_call(pid, SYS_futex);
	CHECK(dnp_thread_waits_for_event(&state));
	CHECK_EQ(kill(pid, SIGSTOP), 0);
	CHECK_EQ(waitpid(pid, &status, WUNTRACED), pid);
	CHECK(WIFSTOPPED(status));
	CHECK_EQ(kill(pid, SIGCONT), 0);
	state = await_call(pid, SYS_restart_syscall);
	CHECK(dnp_thread_waits_for_event(&state));
	CHECK_EQ(kill(pid, SIGKILL), 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
}
