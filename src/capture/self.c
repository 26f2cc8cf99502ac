/* SPDX-License-Identifier: MIT */
#include "capture/self.h"

#include <stdatomic.h>

#include "os/clock.h"
#include "os/sampler.h"
#include "os/thread.h"
#include "os/watch.h"
#include "unwind/regs.h"
#include "unwind/walk.h"

#define KERNEL_FRAMES_MAX 128
#define RED_ZONE          128 /* bytes below the stack pointer that signals leave alone */

SIGSAFE int dnp_self_enter(struct dnp_thread *thread, unsigned event)
{
	if (atomic_load_explicit(&thread->handling, memory_order_relaxed) & 1) {
		dnp_feed_lost(&thread->own, event, DNP_LOSS_NESTED, 1);
		return 0;
	}
	atomic_fetch_add(&thread->handling, 1);
	return 1;
}

SIGSAFE void dnp_self_leave(struct dnp_thread *thread)
{
	atomic_fetch_add_explicit(&thread->handling, 1, memory_order_release);
}

/* A handler may be at work on a thread that has gone: it will not come back to finish. */
void dnp_self_wait(const struct dnp_thread *thread)
{
	uint32_t seen = atomic_load(&thread->handling);

	while ((seen & 1) && atomic_load(&thread->handling) == seen &&
		dnp_thread_exists(thread->tid))
		dnp_sleep_until_ns(dnp_now_ns() + 50000);
}

static SIGSAFE int is_on(struct dnp_stack_range range, uintptr_t sp)
{
	return sp >= range.low && sp < range.high;
}

/*
 * The stacks to walk: the thread's own, or the one that it runs on now and then its own. That of a
 * handler stands in the context; any other (a coroutine's, say) is looked up in the memory map.
 * 0: not known.
 */
static SIGSAFE int find_stacks(
	struct dnp_thread *thread, const ucontext_t *context, struct dnp_stacks *stacks)
{
	uintptr_t sp = dnp_regs_of(context).sp, low = (uintptr_t)context->uc_stack.ss_sp;
	struct dnp_stack_range handler = {low, low + context->uc_stack.ss_size};

	if (is_on(handler, sp)) {
		*stacks = (struct dnp_stacks){.now = handler, .below = thread->stack};
	} else {
		if (!thread->stack.high)
			dnp_thread_stack_find(sp, &thread->stack.low, &thread->stack.high);
		*stacks = (struct dnp_stacks){.now = thread->stack};
		if (!is_on(stacks->now, sp)) {
			stacks->below = stacks->now;
			if (dnp_thread_stack_find(sp, &stacks->now.low, &stacks->now.high))
				return 0;
		}
	}
	/*
	 * What lies further down is no frame's, and perhaps not even there; but the red zone is,
	 * and at a `ret` it still has the rbp that was popped just before.
	 */
	stacks->now.low = sp - RED_ZONE;
	return 1;
}

static SIGSAFE uint32_t walk(struct dnp_thread *thread, int kernel, const struct dnp_regs *regs,
	struct dnp_stacks stacks, enum dnp_walk_stop *stop)
{
	uint32_t depth = dnp_threads_depth();
	uint32_t n = 0;

	if (kernel) {
		size_t room = depth < KERNEL_FRAMES_MAX ? depth / 2 : KERNEL_FRAMES_MAX;

		n = (uint32_t)dnp_sampler_kernel_frames(
			&thread->sampler, regs->pc, thread->own.frames, room);
		for (uint32_t i = 0; i < n; i++)
			thread->own.frames[i] = DNP_FRAME_ADDR(thread->own.frames[i]) |
				(uint64_t)DNP_WALK_KERNEL << DNP_FRAME_SHIFT;
	}
	return n + (uint32_t)dnp_walk(regs, stacks, thread->own.frames + n, depth - n, stop);
}

SIGSAFE void dnp_self_sample(
	struct dnp_thread *thread, struct dnp_sample *sample, int kernel, const void *context)
{
	struct dnp_regs regs = dnp_regs_of(context);
	struct dnp_stacks stacks;
	enum dnp_walk_stop stop;
	uint32_t n;

	if (!thread->name[0])
		dnp_thread_own_name(thread->name);
	if (!find_stacks(thread, context, &stacks)) {
		dnp_feed_lost(&thread->own, sample->event, DNP_LOSS_STACK, sample->weight);
		return;
	}
	n = walk(thread, kernel, &regs, stacks, &stop);
	if (atomic_load_explicit(&thread->collecting, memory_order_relaxed))
		sample->flags |= DNP_SAMPLE_COLLECTING;
	if (dnp_feed_put(&thread->own, sample, n, stop, dnp_now_ns() - sample->time_ns) &&
		(stop == DNP_STOP_UNKNOWN || stop == DNP_STOP_NO_RULE ||
			dnp_ring_is_filling(&thread->own.ring)))
		dnp_watch_call();
}
