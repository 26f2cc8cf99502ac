/* SPDX-License-Identifier: MIT */
/* Whole stacks of this very program: every function on the way is known. */
#include "test.h"

#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>

#include "unwind/native.h"
#include "unwind/regs.h"
#include "unwind/walk.h"

#define FRAMES_MAX 4096

static dnp_frame_word frames[FRAMES_MAX];
static size_t n_frames;
static enum dnp_walk_stop stopped;
static volatile int sink;

static struct dnp_stack_range own_stack(void)
{
	struct dnp_stack_range range;
	pthread_attr_t attr;
	void *base;
	size_t size;

	CHECK(pthread_getattr_np(pthread_self(), &attr) == 0);
	CHECK(pthread_attr_getstack(&attr, &base, &size) == 0);
	pthread_attr_destroy(&attr);
	range.low = (uintptr_t)base;
	range.high = (uintptr_t)base + size;
	return range;
}

static struct dnp_stack_range range;

static void on_signal(int signal, siginfo_t *info, void *context)
{
	struct dnp_regs regs = dnp_regs_of(context);

	(void)signal;
	(void)info;
	n_frames = dnp_walk(&regs, (struct dnp_stacks){.now = range}, frames, FRAMES_MAX, &stopped);
}

static void prepare(void)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};

	CHECK(dnp_native_refresh(1) >= 0);
	range = own_stack();
	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
}

/* The number of frames whose function is the one that begins at `function`. */
static size_t frames_of(const void *function)
{
	size_t n = 0;

	for (size_t i = 0; i < n_frames; i++) {
		uintptr_t pc = DNP_FRAME_ADDR(frames[i]) - (frames[i] & DNP_FRAME_EXACT ? 0 : 1);
		const struct dnp_elf_module *module = dnp_module_find(pc);
		uint64_t start;

		if (module && dnp_native_function(module, pc, &start) &&
			start + module->bias == (uintptr_t)function)
			n++;
	}
	return n;
}

__attribute__((noinline)) static void leaf(void)
{
	raise(SIGUSR1);
	sink++;
}

__attribute__((noinline)) static void with_frame_pointer(void)
{
	leaf();
	sink++;
}

__attribute__((noinline)) static void with_alloca(size_t n)
{
	volatile char *p = alloca(n);

	p[0] = 1;
	with_frame_pointer();
	sink += p[0];
}

__attribute__((noinline)) static int recursive(int depth)
{
	int below = depth ? recursive(depth - 1) : 0;

	if (!depth)
		with_alloca(100);
	sink++;
	return below + 1;
}

TEST(walk_reaches_the_start_through_all_kinds_of_functions)
{
	prepare();
	recursive(50);
	CHECK_EQ(stopped, DNP_STOP_END);
	CHECK_EQ(frames_of(leaf), 1);
	CHECK_EQ(frames_of(with_frame_pointer), 1);
	CHECK_EQ(frames_of(with_alloca), 1);
	CHECK_EQ(frames_of(recursive), 51);
	CHECK(frames[0] & DNP_FRAME_EXACT);
	CHECK_EQ(DNP_FRAME_KIND(frames[0]), DNP_WALK_NATIVE);
}
