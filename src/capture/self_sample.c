/* SPDX-License-Identifier: MIT */
/* What a thread does in a handler of the shared signal; the rest is in self.c. */
#include <stdatomic.h>
#include <string.h>

#include "capture/self.h"
#include "os/clock.h"
#include "os/sampler.h"
#include "os/thread.h"
#include "os/watch.h"
#include "os/x86_64/context.h"

#define KERNEL_FRAMES_MAX 128

/* On top of the stack; how many there are. */
static SIGSAFE uint32_t kernel_frames(struct dnp_thread *thread, uintptr_t pc, unsigned back)
{
	uint32_t depth = dnp_threads_depth();
	size_t room = depth < KERNEL_FRAMES_MAX ? depth / 2 : KERNEL_FRAMES_MAX;
	uint32_t n = (uint32_t)dnp_sampler_kernel_frames(
		&thread->sampler, pc, back, thread->own.frames, room);

	for (uint32_t i = 0; i < n; i++)
		thread->own.frames[i] = DNP_FRAME_ADDR(thread->own.frames[i]) |
			(uint64_t)DNP_WALK_KERNEL << DNP_FRAME_SHIFT;
	return n;
}

static SIGSAFE struct dnp_stack_range stack_of_handler(const ucontext_t *context)
{
	uintptr_t low = (uintptr_t)context->uc_stack.ss_sp;

	return (struct dnp_stack_range){low, low + context->uc_stack.ss_size};
}

#define MOMENTS_MAX 8

/* What is left of a sample that stands for several moments of a system call: others, and their
 * weight. */
struct rest {
	unsigned moments;
	uint32_t weight; /* of each */
};

/* Leaves the sample the last moment's part of its weight. */
static SIGSAFE struct rest take_share(
	const struct dnp_thread *thread, struct dnp_sample *sample, uintptr_t pc)
{
	struct rest rest = {0};
	uint64_t moments;

	if (sample->weight < 2)
		return rest;
	moments = dnp_sampler_kernel_moments(&thread->sampler, pc);
	if (moments > MOMENTS_MAX)
		moments = MOMENTS_MAX;
	if (moments > sample->weight)
		moments = sample->weight;
	if (moments < 2)
		return rest;
	rest = (struct rest){(unsigned)moments - 1, (uint32_t)(sample->weight / moments)};
	sample->weight -= rest.moments * rest.weight;
	return rest;
}

/* A stack that was stored: where it goes on, its kernel frames, all frames, and why they end. */
struct walked_below {
	uintptr_t pc;
	uint32_t n_kernel, n;
	enum dnp_walk_stop stop;
};

static SIGSAFE void lose(
	struct dnp_thread *thread, enum dnp_loss_reason why, uint64_t units, uint32_t events)
{
	for (; events; events &= events - 1)
		dnp_feed_lost(&thread->own, (unsigned)__builtin_ctz(events), why, units);
}

/* The last `n` of the other moments: what they weigh is nowhere else. */
static SIGSAFE void lose_moments(struct dnp_thread *thread, const struct dnp_sample *sample,
	uint32_t also, const struct rest *rest, unsigned n)
{
	if (n)
		lose(thread, DNP_LOSS_RING, (uint64_t)n * rest->weight,
			also | UINT32_C(1) << sample->event);
}

/* A sample that was stored right now, or could not be, for other events. */
static SIGSAFE void put_also(struct dnp_thread *thread, const struct dnp_sample *stored_sample,
	int stored, uint32_t also)
{
	if (!stored)
		lose(thread, DNP_LOSS_RING, stored_sample->weight, also);
	for (; stored && also; also &= also - 1) {
		struct dnp_sample sample = *stored_sample;

		sample.event = (uint8_t)__builtin_ctz(also);
		dnp_feed_repeat(&thread->own, &sample);
	}
}

/* The other moments: below the kernel's frames the stack is the same. */
static SIGSAFE void put_rest(struct dnp_thread *thread, const struct dnp_sample *sample,
	uint32_t also, const struct rest *rest, struct walked_below last)
{
	for (unsigned back = 1; back <= rest->moments; back++) {
		struct dnp_sample other = {.time_ns = sample->time_ns,
			.weight = rest->weight,
			.event = sample->event,
			.flags = sample->flags & DNP_SAMPLE_COLLECTING};
		uint32_t n_kernel = kernel_frames(thread, last.pc, back);
		uint32_t n_user = last.n - last.n_kernel, room = dnp_threads_depth() - n_kernel;
		int stored;

		if (n_user > room) {
			n_user = room;
			last.stop = DNP_STOP_DEPTH;
		}
		memcpy(thread->own.frames + n_kernel, thread->own.before + last.n_kernel,
			n_user * sizeof(*thread->own.frames));
		stored = dnp_feed_put(&thread->own, &other, n_kernel + n_user, last.stop, 0);
		put_also(thread, &other, stored, also);
		if (!stored) {
			lose_moments(thread, sample, also, rest, rest->moments - back);
			return;
		}
		last.n_kernel = n_kernel;
		last.n = n_kernel + n_user;
	}
}

/* The rest of the walk is left to the drain thread, for each event by itself. */
static SIGSAFE int put_unwalked(struct dnp_thread *thread, struct dnp_sample *sample, uint32_t also,
	uint32_t n_frames, uint32_t n, uint64_t walk_ns)
{
	int stored = dnp_feed_put_unwalked(&thread->own, sample, n_frames, n, walk_ns);

	for (; also; also &= also - 1) {
		struct dnp_sample other = {.time_ns = sample->time_ns,
			.weight = sample->weight,
			.event = (uint8_t)__builtin_ctz(also),
			.flags = sample->flags & DNP_SAMPLE_COLLECTING};

		dnp_feed_put_unwalked(&thread->own, &other, n_frames, n, 0);
	}
	return stored;
}

SIGSAFE void dnp_self_sample(struct dnp_thread *thread, struct dnp_sample *sample, uint32_t also,
	int kernel, const void *context)
{
	struct dnp_regs regs = dnp_regs_of(context);
	struct dnp_stacks stacks;
	uint32_t n_kernel, n, n_frames, left = 0;
	struct rest rest = {0};
	enum dnp_walk_stop stop;
	uint64_t walk_ns;
	int stored;

	if (!thread->name[0])
		dnp_thread_own_name(thread->name);
	if (!dnp_self_stacks(thread, regs.sp, stack_of_handler(context), &stacks)) {
		lose(thread, DNP_LOSS_STACK, sample->weight, also | UINT32_C(1) << sample->event);
		return;
	}
	n_kernel = kernel ? kernel_frames(thread, regs.pc, 0) : 0;
	n = n_kernel +
		(uint32_t)dnp_walk(&regs, stacks, thread->own.frames + n_kernel,
			dnp_threads_depth() - n_kernel, &stop);
	n_frames = n_kernel + dnp_self_known(thread->own.frames + n_kernel, n - n_kernel, stop);
	if (n_frames < n)
		left = dnp_self_leave_unwalked(
			thread, (struct dnp_walk){regs, stacks, true}, n_kernel, n_frames, true);
	/* It began one in the background, whose end comes on another thread. */
	if (n > n_kernel && dnp_frame_is_managed(thread->own.frames[n_kernel]))
		atomic_store_explicit(&thread->collecting, 0, memory_order_relaxed);
	if (dnp_thread_collects(thread))
		sample->flags |= DNP_SAMPLE_COLLECTING;
	if (n_kernel && !left)
		rest = take_share(thread, sample, regs.pc);
	walk_ns = dnp_now_ns() - sample->time_ns;
	stored = left ? put_unwalked(thread, sample, also, n_frames, left, walk_ns)
		      : dnp_feed_put(&thread->own, sample, n, stop, walk_ns);
	if (!left)
		put_also(thread, sample, stored, also);
	if (stored &&
		(stop == DNP_STOP_UNKNOWN || stop == DNP_STOP_NO_RULE ||
			dnp_ring_is_filling(&thread->own.ring)))
		dnp_watch_call();
	if (stored)
		put_rest(thread, sample, also, &rest,
			(struct walked_below){regs.pc, n_kernel, n, stop});
	else
		lose_moments(thread, sample, also, &rest, rest.moments);
}
