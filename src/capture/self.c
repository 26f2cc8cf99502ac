/* SPDX-License-Identifier: MIT */
#include "capture/self.h"

#include <stdatomic.h>
#include <string.h>

#include "os/clock.h"
#include "os/mem.h"
#include "os/sampler.h"
#include "os/thread.h"
#include "os/watch.h"
#include "os/x86_64/context.h"
#include "store/labels.h"
#include "unwind/walk.h"

#define KERNEL_FRAMES_MAX 128
#define RED_ZONE          128 /* bytes below the stack pointer that signals leave alone */

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
	while (units) {
		uint32_t part = units < UINT16_MAX ? units : UINT16_MAX;
		struct dnp_sample sample = {
			.time_ns = dnp_now_ns(), .weight = part, .event = (uint8_t)event};

		dnp_feed_repeat(&thread->own, &sample);
		units -= part;
	}
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
	uint32_t units = 0;

	for (unsigned event = 0; event < DNP_EVENTS_MAX && !units; event++) {
		units = atomic_exchange(&thread->late[event], 0);
		sample.event = (uint8_t)event;
	}
	if (!units)
		return 0;
	sample.weight = units < UINT16_MAX ? units : UINT16_MAX;
	memmove(frames, frames + 1, (n - 1) * sizeof(*frames));
	if (!dnp_feed_put(&thread->own, &sample, n - 1, stop, 0))
		return 0;
	store_late(thread, sample.event, units - (uint32_t)sample.weight, 1);
	return 1;
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

/*
 * The stacks to walk: the thread's own, or the one that it runs on now and then its own. `handler`:
 * one that signals are handled on, high 0: there is none. 0: not known, or no room left on it.
 */
static SIGSAFE int find_stacks(struct dnp_thread *thread, uintptr_t sp,
	struct dnp_stack_range handler, struct dnp_stacks *stacks)
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
	stacks->now.low = sp - RED_ZONE;
	return 1;
}

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

/*
 * The first frame in code that is not known: there the walk has ended, or gone on as from a stub,
 * which may have been wrong. `n`: there is none.
 */
static SIGSAFE uint32_t first_unknown(const dnp_frame_word *frames, uint32_t from, uint32_t n)
{
	while (from < n && !dnp_frame_is_unknown(frames[from]))
		from++;
	return from;
}

#define LEFT_WORDS_MAX 2048 /* of the stack, a quarter of the ring */
#define ROOM_WORDS     1024 /* that must be left in the ring for what comes next */

/*
 * Leaves the walk of which `n_frames` are right to the drain thread from there on: another thread
 * may have compiled the code it came to, and not told of it yet. Puts the registers there and the
 * stack, or what there is room for of it, behind the frames. How many words all is; 0: the ring is
 * wanted for others, or the stack cannot be read.
 */
static SIGSAFE uint32_t leave_unwalked(
	struct dnp_thread *thread, struct dnp_walk walk, uint32_t n_kernel, uint32_t n_frames)
{
	uint32_t depth = dnp_threads_depth(), n = n_frames + DNP_UNWALKED_WORDS;
	dnp_frame_word *frames = thread->own.frames;
	struct dnp_unwalked left;
	enum dnp_walk_stop stop;
	size_t words;
	uint64_t at;

	if (n >= depth)
		return 0;
	dnp_walk_on(&walk, frames + n_kernel, NULL, n_frames - n_kernel, &stop);
	left = (struct dnp_unwalked){
		walk.regs, (walk.regs.sp - RED_ZONE) & ~(uintptr_t)7, walk.exact};
	words = (walk.stacks.now.high - left.low) / 8;
	if (words > depth - n)
		words = depth - n;
	if (words > LEFT_WORDS_MAX)
		words = LEFT_WORDS_MAX;
	if (!dnp_ring_reserve(&thread->own.ring, n + words + ROOM_WORDS, &at))
		return 0;
	words = dnp_mem_read_some(left.low, frames + n, words * 8) / 8;
	if (!words)
		return 0;
	memcpy(frames + n_frames, &left, sizeof(left));
	return n + (uint32_t)words;
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

static SIGSAFE void lose_also(struct dnp_thread *thread, const struct dnp_sample *sample,
	enum dnp_loss_reason why, uint32_t also)
{
	for (; also; also &= also - 1)
		dnp_feed_lost(&thread->own, (unsigned)__builtin_ctz(also), why, sample->weight);
}

/* A sample that was stored right now, or could not be, for other events. */
static SIGSAFE void put_also(struct dnp_thread *thread, const struct dnp_sample *stored_sample,
	int stored, uint32_t also)
{
	if (!stored)
		lose_also(thread, stored_sample, DNP_LOSS_RING, also);
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
		if (!stored)
			return;
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
	if (!find_stacks(thread, regs.sp, stack_of_handler(context), &stacks)) {
		dnp_feed_lost(&thread->own, sample->event, DNP_LOSS_STACK, sample->weight);
		lose_also(thread, sample, DNP_LOSS_STACK, also);
		return;
	}
	n_kernel = kernel ? kernel_frames(thread, regs.pc, 0) : 0;
	n = n_kernel +
		(uint32_t)dnp_walk(&regs, stacks, thread->own.frames + n_kernel,
			dnp_threads_depth() - n_kernel, &stop);
	n_frames = stop == DNP_STOP_UNKNOWN || stop == DNP_STOP_BAD_STACK
		? first_unknown(thread->own.frames, n_kernel, n)
		: n;
	if (n_frames < n)
		left = leave_unwalked(
			thread, (struct dnp_walk){regs, stacks, true}, n_kernel, n_frames);
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

static uint32_t above_cause(const dnp_frame_word *frames, uint32_t n, bool (*tells)(uintptr_t pc))
{
	uint32_t above = above_managed(frames, n);

	if (tells && above && tells(DNP_FRAME_ADDR(frames[above])))
		above += above_caller(frames + above, n - above);
	return above;
}

/* Its own frame is the leaf of the walk. */
__attribute__((noinline)) uint32_t dnp_self_walk(struct dnp_thread *thread, dnp_frame_word label,
	bool (*tells)(uintptr_t pc), enum dnp_walk_stop *stop)
{
	struct dnp_regs regs = dnp_regs_here();
	dnp_frame_word *frames = thread->own.frames;
	struct dnp_stacks stacks;
	uint32_t n, above;

	if (!thread->name[0])
		dnp_thread_own_name(thread->name);
	if (!find_stacks(thread, regs.sp, (struct dnp_stack_range){0}, &stacks))
		return 0;
	n = (uint32_t)dnp_walk(&regs, stacks, frames + 1, dnp_threads_depth() - 1, stop);
	above = above_cause(frames + 1, n, tells);
	memmove(frames + 1, frames + 1 + above, (n - above) * sizeof(*frames));
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
		n = dnp_self_walk(thread, dnp_label_frame(DNP_LABEL_OTHER), NULL, &stop);
	}
	dnp_self_end(thread, n > 1 && store_first_late(thread, n, stop));
}
