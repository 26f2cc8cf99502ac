/* SPDX-License-Identifier: MIT */
#include "capture/self.h"

#include <stdatomic.h>
#include <string.h>

#include "os/clock.h"
#include "os/mem.h"
#include "os/thread.h"
#include "store/labels.h"
#include "unwind/walk.h"

/*
 * Bytes that must be left below the stack pointer, or the sample is given up: the handler's frames
 * take less than 4 KiB, the kernel's frame of a signal up to 4 KiB (AVX-512). A runtime that
 * reports a stack overflow does so on 28 KiB, with signals open.
 */
#define ROOM 8192

SIGSAFE int dnp_self_enter(struct dnp_thread *thread)
{
	if (atomic_load_explicit(&thread->handling, memory_order_relaxed) & 1)
		return 0;
	atomic_fetch_add(&thread->handling, 1);
	return 1;
}

SIGSAFE void dnp_self_leave(struct dnp_thread *thread)
{
	atomic_fetch_add_explicit(&thread->handling, 1, memory_order_release);
}

SIGSAFE void dnp_self_late(struct dnp_thread *thread, unsigned event, uint32_t units)
{
	if (atomic_load_explicit(&thread->busy, memory_order_relaxed))
		atomic_fetch_add_explicit(&thread->late[event], units, memory_order_relaxed);
	else
		dnp_feed_lost(&thread->own, event, DNP_LOSS_NESTED, units);
}

SIGSAFE void dnp_self_lose(
	struct dnp_thread *thread, unsigned event, enum dnp_loss_reason why, uint32_t units)
{
	if (!dnp_self_enter(thread)) {
		dnp_self_late(thread, event, units);
		return;
	}
	dnp_feed_lost(&thread->own, event, why, units);
	dnp_self_leave(thread);
}

/*
 * `busy` is set around the time that `handling` is odd: a handler that comes on the edges finds the
 * feed free.
 */
void dnp_self_begin(struct dnp_thread *thread)
{
	atomic_store(&thread->busy, 1);
	atomic_fetch_add(&thread->handling, 1);
}

static void store_late(struct dnp_thread *thread, unsigned event, uint32_t units, int stored)
{
	if (!stored) {
		dnp_feed_lost(&thread->own, event, DNP_LOSS_NESTED, units);
		return;
	}
	dnp_feed_repeat(&thread->own,
		&(struct dnp_sample){
			.time_ns = dnp_now_ns(), .weight = units, .event = (uint8_t)event});
}

static int is_any_late(const struct dnp_thread *thread)
{
	uint32_t any = 0;

	for (unsigned event = 0; event < DNP_EVENTS_MAX; event++)
		any |= atomic_load_explicit(&thread->late[event], memory_order_relaxed);
	return any != 0;
}

static void take_late(struct dnp_thread *thread, int stored)
{
	if (!is_any_late(thread))
		return;
	for (unsigned event = 0; event < DNP_EVENTS_MAX; event++) {
		uint32_t units = atomic_exchange(&thread->late[event], 0);

		if (units)
			store_late(thread, event, units, stored);
	}
}

void dnp_self_end(struct dnp_thread *thread, int stored)
{
	for (;;) {
		take_late(thread, stored);
		dnp_self_leave(thread);
		atomic_store(&thread->busy, 0);
		/* What came behind the look that found nothing. */
		if (!is_any_late(thread))
			return;
		dnp_self_begin(thread);
	}
}

/* The first that is late, with the frames below the label. 0: none is, or it was lost. */
static int store_first_late(struct dnp_thread *thread, uint32_t n, enum dnp_walk_stop stop)
{
	dnp_frame_word *frames = thread->own.frames;
	struct dnp_sample sample = {.time_ns = dnp_now_ns()};

	for (unsigned event = 0; event < DNP_EVENTS_MAX && !sample.weight; event++) {
		sample.weight = atomic_exchange(&thread->late[event], 0);
		sample.event = (uint8_t)event;
	}
	if (!sample.weight)
		return 0;
	memmove(frames, frames + 1, (n - 1) * sizeof(*frames));
	return dnp_feed_put(&thread->own, &sample, n - 1, stop, 0);
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
 * Some other stack that the thread is on: a coroutine's, or what a runtime in trouble switched to.
 * Found in the memory map, which takes so long that the last one is kept; it may be gone and
 * another one in its place, so it is looked at again.
 */
static SIGSAFE int find_other(struct dnp_thread *thread, uintptr_t sp)
{
	struct dnp_stack_range *other = &thread->other_stack;

	return (is_on(*other, sp) && dnp_mem_is_readable(sp, other->high)) ||
		dnp_thread_stack_find(sp, &other->low, &other->high) == 0;
}

SIGSAFE int dnp_self_stacks(struct dnp_thread *thread, uintptr_t sp, struct dnp_stack_range handler,
	struct dnp_stacks *stacks)
{
	if (!is_on(handler, sp) && !thread->stack.high)
		dnp_thread_stack_find(sp, &thread->stack.low, &thread->stack.high);
	if (is_on(handler, sp))
		*stacks = (struct dnp_stacks){.now = handler, .below = thread->stack};
	else if (is_on(thread->stack, sp))
		*stacks = (struct dnp_stacks){.now = thread->stack};
	else if (find_other(thread, sp))
		*stacks = (struct dnp_stacks){.now = thread->other_stack, .below = thread->stack};
	else
		return 0;
	if (sp - stacks->now.low < ROOM)
		return 0;
	/*
	 * What lies further down is no frame's, and perhaps not even there; but the red zone is,
	 * and at a `ret` it still has the rbp that was popped just before.
	 */
	stacks->now.low = sp - DNP_SELF_RED_ZONE;
	stacks->runtime_thread = atomic_load_explicit(&thread->managed, memory_order_relaxed);
	return 1;
}

SIGSAFE uint32_t dnp_self_known(const dnp_frame_word *frames, uint32_t n, enum dnp_walk_stop stop)
{
	uint32_t known = 0;

	if (stop != DNP_STOP_UNKNOWN && stop != DNP_STOP_BAD_STACK)
		return n;
	while (known < n && !dnp_frame_is_unknown(frames[known]))
		known++;
	return known;
}

#define LEFT_WORDS_MAX 2048 /* of the stack, a quarter of the ring */
#define ROOM_WORDS     1024 /* that must be left in the ring for what comes next */

SIGSAFE bool dnp_self_ring_has_room(struct dnp_thread *thread, uint32_t words)
{
	return dnp_feed_has_room(&thread->own, words, ROOM_WORDS);
}

SIGSAFE uint32_t dnp_self_leave_unwalked(struct dnp_thread *thread, struct dnp_walk walk,
	uint32_t above, uint32_t n_frames, bool for_ring)
{
	uint32_t depth = dnp_threads_depth(), n = n_frames + DNP_UNWALKED_WORDS;
	dnp_frame_word *frames = thread->own.frames;
	struct dnp_unwalked left;
	enum dnp_walk_stop stop;
	size_t words;

	if (n >= depth)
		return 0;
	dnp_walk_on(&walk, frames + above, NULL, n_frames - above, &stop);
	left = (struct dnp_unwalked){
		walk.regs, (walk.regs.sp - DNP_SELF_RED_ZONE) & ~(uintptr_t)7, walk.exact};
	words = (walk.stacks.now.high - left.low) / 8;
	if (words > depth - n)
		words = depth - n;
	if (words > LEFT_WORDS_MAX)
		words = LEFT_WORDS_MAX;
	if (for_ring && !dnp_self_ring_has_room(thread, n + (uint32_t)words))
		return 0;
	words = dnp_mem_read_some(left.low, frames + n, words * 8) / 8;
	if (!words)
		return 0;
	memcpy(frames + n_frames, &left, sizeof(left));
	return n + (uint32_t)words;
}

/* How many of the frames are above the topmost managed one; 0: there is none. */
static uint32_t above_managed(const dnp_frame_word *frames, uint32_t n)
{
	uint32_t above = 0;

	while (above < n && !dnp_frame_is_managed(frames[above]))
		above++;
	return above < n ? above : 0;
}

/*
 * Of frames whose leaf is managed: how many are above the managed one that called the native code
 * that called them; 0: there is none.
 */
static uint32_t above_caller(const dnp_frame_word *frames, uint32_t n)
{
	uint32_t managed = 0, native;

	while (managed < n && dnp_frame_is_managed(frames[managed]))
		managed++;
	native = above_managed(frames + managed, n - managed);
	return native ? managed + native : 0;
}

static uint32_t above_cause(
	const dnp_frame_word *frames, uint32_t n, bool (*tells)(dnp_frame_word frame))
{
	uint32_t above = above_managed(frames, n);

	if (tells && above && tells(frames[above]))
		above += above_caller(frames + above, n - above);
	return above;
}

/* What was left to be walked begins with managed code, if there is none before. */
static uint32_t above_rest(const dnp_frame_word *frames, uint32_t n, uint32_t above)
{
	return above || !n || dnp_frame_is_managed(frames[0]) ? above : n;
}

/* Its own frame is the leaf of the walk. */
__attribute__((noinline)) uint32_t dnp_self_walk(struct dnp_thread *thread, dnp_frame_word label,
	bool (*tells)(dnp_frame_word frame), enum dnp_walk_stop *stop, uint32_t *left)
{
	struct dnp_regs regs = dnp_regs_here();
	dnp_frame_word *frames = thread->own.frames;
	struct dnp_stacks stacks;
	uint32_t n, known, above, words = 0;

	if (left)
		*left = 0;
	if (!thread->name_asked)
		dnp_thread_own_name(thread->name);
	thread->name_asked = 1;
	if (!dnp_self_stacks(thread, regs.sp, (struct dnp_stack_range){0}, &stacks))
		return 0;
	n = (uint32_t)dnp_walk(&regs, stacks, frames + 1, dnp_threads_depth() - 1, stop);
	known = left ? dnp_self_known(frames + 1, n, *stop) : n;
	if (known < n)
		words = dnp_self_leave_unwalked(
			thread, (struct dnp_walk){regs, stacks, true}, 1, 1 + known, false);
	if (words)
		n = known;
	above = above_cause(frames + 1, n, tells);
	if (words) {
		above = above_rest(frames + 1, n, above);
		*left = words - above;
	}
	memmove(frames + 1, frames + 1 + above,
		((words ? words - 1 : n) - above) * sizeof(*frames));
	frames[0] = label;
	return 1 + n - above;
}

/*
 * What comes behind the look that found nothing finds the thread where it was: the stack is taken
 * again, for handlers may have used its room meanwhile.
 */
void dnp_self_end_walked(struct dnp_thread *thread, uint32_t n, enum dnp_walk_stop stop)
{
	while (!is_any_late(thread)) {
		dnp_self_leave(thread);
		atomic_store(&thread->busy, 0);
		if (!is_any_late(thread))
			return;
		dnp_self_begin(thread);
		n = dnp_self_walk(thread, dnp_label_frame(DNP_LABEL_OTHER), NULL, &stop, NULL);
	}
	dnp_self_end(thread, n > 1 && store_first_late(thread, n, stop));
}
