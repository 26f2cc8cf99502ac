/* SPDX-License-Identifier: MIT */
/*
 * Where the CPU time goes: each thread is interrupted each time it has used so much of it, and
 * walks its own stack in the handler.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "capture/engine.h"
#include "format/rec.h"
#include "os/clock.h"
#include "os/sampler.h"
#include "os/sampling_signal.h"
#include "os/thread.h"
#include "os/watch.h"
#include "store/sample.h"
#include "unwind/regs.h"
#include "unwind/walk.h"

#define KERNEL_FRAMES_MAX 128
#define RED_ZONE          128 /* bytes below the stack pointer that signals leave alone */

/* Written in start, before the first sample can come. */
static struct {
	enum dnp_sampler_source source;
	int kernel;
	uint64_t interval_ns;
	char note[sizeof(((struct dnp_err *)0)->text)];
} cpu;

/* 1: samples are taken. Handlers read it; it changes under begin_lock. */
static _Atomic int active;

/* Held while a thread's sampler starts, so that none starts once stop has begun. A leaf lock. */
static pthread_mutex_t begin_lock = PTHREAD_MUTEX_INITIALIZER;

static SIGSAFE void count(_Atomic uint64_t *counter, uint64_t n)
{
	/* Only this thread writes: no read-modify-write is needed. */
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
		memory_order_relaxed);
}

static SIGSAFE void count32(_Atomic uint32_t *counter, uint32_t n)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
		memory_order_relaxed);
}

static SIGSAFE void count_walk(struct dnp_thread *thread, uint64_t ns)
{
	unsigned log2 = ns ? 63u - (unsigned)__builtin_clzll(ns) : 0;
	unsigned quarter = log2 >= 2 ? (unsigned)(ns >> (log2 - 2)) & 3 : 0;
	unsigned bucket = log2 * 4 + quarter;

	count32(&thread->counts.walks[bucket < DNP_WALK_BUCKETS ? bucket : DNP_WALK_BUCKETS - 1],
		1);
	count(&thread->counts.walk_ns, ns);
}

/*
 * The stacks to walk: the thread's own, or the one that it runs on now (a handler's, say) and then
 * its own. 0: not known.
 */
static SIGSAFE int find_stacks(struct dnp_thread *thread, uintptr_t sp, struct dnp_stacks *stacks)
{
	if (!thread->stack.high)
		dnp_thread_stack_find(sp, &thread->stack.low, &thread->stack.high);
	*stacks = (struct dnp_stacks){.now = thread->stack};
	if (sp < stacks->now.low || sp >= stacks->now.high) {
		stacks->below = stacks->now;
		if (dnp_thread_stack_find(sp, &stacks->now.low, &stacks->now.high))
			return 0;
	}
	/*
	 * What lies further down is no frame's, and perhaps not even there; but the red zone is,
	 * and at a `ret` it still has the rbp that was popped just before.
	 */
	stacks->now.low = sp - RED_ZONE;
	return 1;
}

static SIGSAFE uint32_t walk(struct dnp_thread *thread, const struct dnp_regs *regs,
	struct dnp_stacks stacks, enum dnp_walk_stop *stop)
{
	uint32_t depth = dnp_threads_depth();
	uint32_t n = 0;

	if (cpu.kernel) {
		size_t room = depth < KERNEL_FRAMES_MAX ? depth / 2 : KERNEL_FRAMES_MAX;

		n = (uint32_t)dnp_sampler_kernel_frames(&thread->sampler, thread->frames, room);
		for (uint32_t i = 0; i < n; i++)
			thread->frames[i] = DNP_FRAME_ADDR(thread->frames[i]) |
				(uint64_t)DNP_WALK_KERNEL << DNP_FRAME_SHIFT;
	}
	return n + (uint32_t)dnp_walk(regs, stacks, thread->frames + n, depth - n, stop);
}

static SIGSAFE void take(
	struct dnp_thread *thread, uint32_t weight, uint64_t begin_ns, const void *context)
{
	struct dnp_sample sample = {.time_ns = begin_ns};
	struct dnp_stacks stacks;
	enum dnp_walk_stop stop;
	struct dnp_regs regs;
	uint32_t n;

	if (!thread->name[0])
		dnp_thread_own_name(thread->name);
	regs = dnp_regs_of(context);
	if (!find_stacks(thread, regs.sp, &stacks)) {
		count32(&thread->counts.lost_stack, weight);
		return;
	}
	n = walk(thread, &regs, stacks, &stop);
	sample.weight = (uint16_t)(weight < UINT16_MAX ? weight : UINT16_MAX);
	if (stop == DNP_STOP_DEPTH)
		sample.flags = DNP_SAMPLE_TRUNCATED;
	else if (stop != DNP_STOP_END)
		sample.flags = DNP_SAMPLE_INCOMPLETE;
	if (atomic_load_explicit(&thread->collecting, memory_order_relaxed))
		sample.flags |= DNP_SAMPLE_COLLECTING;
	count_walk(thread, dnp_now_ns() - begin_ns);
	if (!dnp_sample_store(thread, &sample, n)) {
		count32(&thread->counts.lost_ring, weight);
		return;
	}
	if (stop == DNP_STOP_UNKNOWN || stop == DNP_STOP_NO_RULE ||
		dnp_ring_is_filling(&thread->ring))
		dnp_watch_call();
	count(&thread->counts.samples, 1);
	count(&thread->counts.frames, n);
	count(&thread->counts.truncated, stop == DNP_STOP_DEPTH);
	count32(&thread->counts.stops[stop], 1);
}

static SIGSAFE int on_signal(const siginfo_t *info, void *context)
{
	struct dnp_thread *thread;
	uint64_t begin_ns;
	uint32_t weight;

	if (!dnp_sampler_is_ours(info))
		return 0;
	thread = dnp_sampler_owner(info);
	if (!thread)
		return 1;
	if (atomic_load_explicit(&thread->handling, memory_order_relaxed) & 1) {
		count32(&thread->counts.lost_nested, 1);
		return 1;
	}
	/*
	 * Sequentially consistent with stop(): either it sees that we are in here and waits, or we
	 * see that it has begun and do nothing.
	 */
	atomic_fetch_add(&thread->handling, 1);
	if (atomic_load(&active)) {
		weight = dnp_sampler_weight(&thread->sampler, info);
		begin_ns = dnp_now_ns();
		take(thread, weight, begin_ns, context);
		dnp_sampler_rearm(&thread->sampler, dnp_now_ns() - begin_ns);
	}
	atomic_fetch_add_explicit(&thread->handling, 1, memory_order_release);
	return 1;
}

static int cpu_start(const struct dnp_agent_options *options, struct dnp_err *err)
{
	struct dnp_err why = {0};
	enum dnp_sampler_source wanted = options->source == DNP_SOURCE_PERF ? DNP_SAMPLER_PERF
		: options->source == DNP_SOURCE_TIMER                       ? DNP_SAMPLER_TIMER
									    : DNP_SAMPLER_AUTO;
	int failed;

	cpu.interval_ns = options->interval_ns;
	cpu.source = dnp_sampler_probe(wanted, &cpu.kernel, &why);
	memcpy(cpu.note, why.text, sizeof(cpu.note));
	if (cpu.source == DNP_SAMPLER_AUTO)
		return dnp_err(err, why.code, "%s", why.text);
	/* Not before samples are wanted, and not after: see on_signal. */
	atomic_store(&active, 1);
	failed = dnp_signal_share(on_signal, err);
	if (failed)
		atomic_store(&active, 0);
	return failed;
}

static const char *cpu_source(void)
{
	return cpu.source == DNP_SAMPLER_PERF ? "perf cpu-clock" : "timer";
}

static const char *cpu_note(void)
{
	return cpu.note;
}

/* A number in [0, interval), different for each thread: xorshift of its record and birth. */
static uint64_t random_phase(const struct dnp_thread *thread)
{
	uint64_t x = thread->start_ns ^ (uint64_t)thread->tid << 32 ^ (uint64_t)(uintptr_t)thread;

	for (int i = 0; i < 3; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x % cpu.interval_ns;
}

/*
 * When its first sample is due: at a random moment in the first interval of its CPU time. Where
 * that has passed, and with it perhaps more intervals, they are missed.
 */
static uint64_t first_interval(struct dnp_thread *thread)
{
	int before = atomic_load(&thread->flags) & DNP_THREAD_LATE;
	uint64_t phase = random_phase(thread), used = before ? 0 : thread->start_cpu_ns;

	if (phase >= used)
		return phase - used;
	thread->missed = 1 + (uint32_t)((used - phase) / cpu.interval_ns);
	return cpu.interval_ns - (used - phase) % cpu.interval_ns;
}

static void start_sampler(struct dnp_thread *thread)
{
	uint64_t first_ns = first_interval(thread);
	int signo = dnp_signal_number();
	int failed = dnp_sampler_start(&thread->sampler, cpu.source, cpu.kernel, thread->tid, signo,
		first_ns, cpu.interval_ns, thread);

	/* Out of descriptors, say: a tick-bound thread is better than an unseen one. */
	if (failed && cpu.source == DNP_SAMPLER_PERF)
		failed = dnp_sampler_start(&thread->sampler, DNP_SAMPLER_TIMER, 0, thread->tid,
			signo, first_ns, cpu.interval_ns, thread);
	if (failed && dnp_thread_exists(thread->tid))
		dnp_threads_refuse();
}

static void cpu_thread_begin(struct dnp_thread *thread)
{
	pthread_mutex_lock(&begin_lock);
	if (atomic_load(&active))
		start_sampler(thread);
	pthread_mutex_unlock(&begin_lock);
}

static void pause_thread(struct dnp_thread *thread, void *context)
{
	(void)context;
	dnp_sampler_pause(&thread->sampler);
}

static void stop_thread(struct dnp_thread *thread, void *context)
{
	uint32_t seen = atomic_load(&thread->handling);

	(void)context;
	/*
	 * A handler that began before `active` fell may be at work, also on a thread that is not
	 * scheduled for a while; one that has gone will not come back to finish.
	 */
	while ((seen & 1) && atomic_load(&thread->handling) == seen &&
		dnp_thread_exists(thread->tid))
		dnp_sleep_until_ns(dnp_now_ns() + 50000);
	dnp_sampler_stop(&thread->sampler);
}

/*
 * The handler stays: a signal that is under way would end the process if nobody knew it. It does
 * nothing any more but pass on what is not ours.
 */
static void cpu_stop(void)
{
	pthread_mutex_lock(&begin_lock);
	atomic_store(&active, 0);
	pthread_mutex_unlock(&begin_lock);
	dnp_threads_each(pause_thread, NULL);
	dnp_threads_each(stop_thread, NULL);
}

const struct dnp_engine dnp_engine_cpu = {
	.name = "cpu",
	.start = cpu_start,
	.source = cpu_source,
	.note = cpu_note,
	.thread_begin = cpu_thread_begin,
	.stop = cpu_stop,
};
