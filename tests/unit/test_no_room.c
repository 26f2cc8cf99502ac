/* SPDX-License-Identifier: MIT */
/* Signals for which a thread's stack has no room left. */
#include "test.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "os/clock.h"
#include "os/sampling_signal.h"
#include "os/thread.h"

#define STACK_BYTES (2048 * 1024) /* a sanitizer wants much */
#define ALT_BYTES   (64 * 1024)
#define LEFT        900 /* bytes, fewer than any frame of a signal takes */

static volatile int activations, samples, lost;
static siginfo_t fault;
static sigjmp_buf back;

static void on_activation(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	(void)context;
	activations++;
}

static void on_fault(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)context;
	fault = *info;
	siglongjmp(back, 1);
}

static int on_sample(const struct dnp_signal_info *info, void *context)
{
	(void)context;
	if (dnp_signal_is_nothing(info) == DNP_SIGNAL_NO_ROOM) {
		lost++;
		return 0;
	}
	if (!dnp_signal_is_sent(info, DNP_SIGNAL_STOP))
		return 0;
	samples++;
	return 1;
}

static bool is_back(void)
{
	struct sigaction now;

	CHECK(sigaction(SIGSEGV, NULL, &now) == 0);
	return now.sa_sigaction == on_fault;
}

static void act_as_the_runtime(void)
{
	struct sigaction activation = {
		.sa_sigaction = on_activation, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct sigaction segv = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	sigaddset(&segv.sa_mask, dnp_signal_number());
	CHECK(sigaction(dnp_signal_number(), &activation, NULL) == 0);
	CHECK(sigaction(SIGSEGV, &segv, NULL) == 0);
}

static void share(void)
{
	struct dnp_err err;

	if (dnp_signal_share(on_sample, &err))
		FAIL("%s", err.text);
}

/* What a thread does on a stack of its own, with an alternative one for handlers. */
struct job {
	void (*work)(void);
	stack_t alternative;
};

static void *work(void *context)
{
	struct job *job = context;
	stack_t before; /* a sanitizer's, which takes it back */

	CHECK(sigaltstack(&job->alternative, &before) == 0);
	job->work();
	CHECK(sigaltstack(&before, NULL) == 0);
	return NULL;
}

static void run(void (*what)(void))
{
	struct job job = {.work = what, .alternative.ss_size = ALT_BYTES};
	pthread_attr_t attributes;
	pthread_t thread;
	char *stack = mmap(NULL, 4096 + STACK_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(stack != MAP_FAILED);
	CHECK(mprotect(stack + 4096, STACK_BYTES, PROT_READ | PROT_WRITE) == 0);
	job.alternative.ss_sp = malloc(ALT_BYTES);
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, stack + 4096, STACK_BYTES);
	CHECK(pthread_create(&thread, &attributes, work, &job) == 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
	munmap(stack, 4096 + STACK_BYTES);
	free(job.alternative.ss_sp);
}

/* With nothing on the stack that a compiler or a sanitizer puts there. */
__attribute__((noinline, no_sanitize("address", "undefined"))) static void send_at(char *sp)
{
	long tid = dnp_thread_id(), signo = dnp_signal_number(), number = SYS_tkill;
	char *here;

	__asm__ volatile("mov %%rsp, %[here]\n\t"
			 "mov %[sp], %%rsp\n\t"
			 "syscall\n\t"
			 "mov %[here], %%rsp"
			 : [here] "=&r"(here), "+a"(number)
			 : [sp] "r"(sp), "D"(tid), "S"(signo)
			 : "rcx", "r11", "memory");
	CHECK_EQ(number, 0);
}

static char *stack_low(void)
{
	pthread_attr_t attributes;
	size_t size;
	void *low;

	CHECK(pthread_getattr_np(pthread_self(), &attributes) == 0);
	pthread_attr_getstack(&attributes, &low, &size);
	pthread_attr_destroy(&attributes);
	return low;
}

/* A sanitizer puts signals off until the thread sleeps. */
static void wait_for(const volatile int *count)
{
	while (!*count)
		dnp_sleep_until_ns(dnp_now_ns() + 100000);
}

static void at_the_end(void)
{
	send_at(stack_low() + LEFT);
	CHECK_EQ(lost, 1);
	CHECK_EQ(activations, 0);
	CHECK(!fault.si_signo);
	/* The next one has room, and comes. */
	CHECK_EQ(dnp_signal_send(dnp_thread_id(), DNP_SIGNAL_STOP), 0);
	wait_for(&samples);
	CHECK_EQ(samples, 1);
	for (int i = 0; i < 100; i++)
		send_at(stack_low() + LEFT);
	CHECK_EQ(lost, 101);
}

TEST(thread_goes_on_without_a_signal_that_has_no_room)
{
	act_as_the_runtime();
	share();
	CHECK(!is_back());
	run(at_the_end);
	CHECK_EQ(dnp_signal_unshare(on_sample), 0);
	CHECK(is_back());
	CHECK(dnp_signal_left(TEST_HANG_NS));
}

static void with_room(void)
{
	send_at(stack_low() + STACK_BYTES / 2);
	wait_for(&activations);
	CHECK_EQ(activations, 1);
	CHECK_EQ(lost, 0);
}

TEST(signal_that_has_room_comes)
{
	act_as_the_runtime();
	share();
	run(with_room);
	CHECK_EQ(dnp_signal_unshare(on_sample), 0);
	CHECK(dnp_signal_left(TEST_HANG_NS));
}

static void read_at(uintptr_t address)
{
	fault.si_signo = 0;
	if (!sigsetjmp(back, 1))
		__asm__ volatile("movb (%0), %%al" : : "r"(address) : "rax");
	CHECK_EQ(fault.si_signo, SIGSEGV);
}

/* Faults of the program, also such as the kernel tells without an address. */
static void faults(void)
{
	read_at(0);
	read_at(8);
	read_at(UINT64_C(0x123456789abc000));
	read_at(UINT64_C(0xf0) << 56);
	CHECK_EQ(fault.si_code, SI_KERNEL);
	CHECK_EQ(lost, 0);
}

TEST(faults_of_the_program_are_the_runtimes)
{
	act_as_the_runtime();
	share();
	run(faults);
	CHECK_EQ(dnp_signal_unshare(on_sample), 0);
	CHECK(dnp_signal_left(TEST_HANG_NS));
}

TEST(without_an_alternative_stack_nothing_is_put_before_faults)
{
	struct sigaction segv = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

	act_as_the_runtime();
	CHECK(sigaction(SIGSEGV, &segv, NULL) == 0);
	share();
	CHECK(is_back());
	CHECK_EQ(dnp_signal_unshare(on_sample), 0);
	CHECK(dnp_signal_left(TEST_HANG_NS));
}
