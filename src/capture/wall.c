/* SPDX-License-Identifier: MIT */
/*
 * Where the time goes that passes: a thread of ours looks at all threads of the program in turn,
 * in random order, whether they run or not. A sample weighs as many intervals as have passed since
 * the thread's last one: however seldom its turn comes, a thread's weights add up to its life.
 *
 * A look begins with the thread's CPU clock. If that stands where it stood when the stack was read,
 * the thread has not run since, and the stack still holds. Else a sleeper's stack is read from
 * outside, undisturbed; a thread that runs, or could, is asked by a signal to sample itself. Nobody
 * who sleeps gets a signal, since many a system call would fail of it.
 *
 * What all looks cost is bounded (capture/pace.h).
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clean.h"
#include "base/random.h"
#include "capture/engine.h"
#include "capture/outside.h"
#include "capture/pace.h"
#include "capture/self.h"
#include "capture/turns.h"
#include "os/clock.h"
#include "os/sampling_signal.h"
#include "os/thread.h"
#include "os/thread_state.h"
#include "os/watch.h"
#include "os/word.h"

#define SECOND_NS UINT64_C(1000000000)
#define LATE_NS   (SECOND_NS / 20) /* looks that are so late are not made up for */
#define TRIES     4                /* to read a stack that moves meanwhile */
#define TAKEN_NS  SECOND_NS        /* a thread that runs takes its signal sooner, or blocks it */
#define LAST_NS   (SECOND_NS / 5)  /* for a last look at all threads */
#define ANSWER_NS (SECOND_NS / 20) /* for their last answers */

/* Why a thread that is there could not be sampled. */
enum failure { MOVED, NO_STACK, BLOCKED, NO_SIGNAL, FAILURES };

static const char *const failure_names[FAILURES] = {
	"kept moving while it was read",
	"stack not readable",
	"signal blocked by the thread",
	"signal could not be sent",
};

/* Written in start, before the first sample can come. */
static struct {
	uint8_t event;
	uint64_t interval_ns;
} wall;

/* 1: samples are taken. It changes under begin_lock. */
static _Atomic int active;

/* Held while a thread is made known, so that none is once stop has begun. A leaf lock. */
static pthread_mutex_t begin_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t stopping;

/*
 * Over the threads whose turn comes (capture/turns.h), and all of struct dnp_turn that is not
 * atomic. A leaf lock of the sampler and the recorder, held during one look at most.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t random_state;

/* The sampler's; the recorder's before it starts and after it has ended. */
static struct dnp_own_thread sampler;
static _Atomic uint64_t walking_since = UINT64_MAX;
static _Atomic uint64_t failed[FAILURES];

/* ---- Weights */

/* Intervals not counted yet, rounded at random; the rest, which may be negative, is kept. */
static uint32_t take_weight(struct dnp_turn *turn, uint64_t now_ns)
{
	int64_t interval = (int64_t)wall.interval_ns, left = (int64_t)now_ns - turn->counted_ns;
	int64_t weight;

	if (left <= 0)
		return 0;
	weight = left / interval;
	weight += (int64_t)dnp_random_below(&random_state, wall.interval_ns) < left % interval;
	if (weight > INT32_MAX)
		weight = INT32_MAX;
	turn->counted_ns += weight * interval;
	return (uint32_t)weight;
}

/* A sample of as much of *weight as one can have; the rest stays. */
static SIGSAFE struct dnp_sample sample_of(uint32_t *weight, uint8_t flags)
{
	uint32_t part = *weight < UINT16_MAX ? *weight : UINT16_MAX;

	*weight -= part;
	return (struct dnp_sample){
		.time_ns = dnp_now_ns(),
		.weight = (uint16_t)part,
		.flags = flags,
		.event = wall.event,
	};
}

static SIGSAFE void repeat(struct dnp_feed *feed, uint32_t weight)
{
	while (weight) {
		struct dnp_sample sample = sample_of(&weight, 0);

		dnp_feed_repeat(feed, &sample);
	}
}

/* Stores what was walked, or found out else, of a thread: `n` frames in its feed `outside`. */
static int put(struct dnp_thread *thread, uint32_t weight, uint8_t flags, uint32_t n,
	enum dnp_walk_stop stop, uint64_t walk_ns)
{
	struct dnp_sample sample = sample_of(&weight, flags);

	if (!dnp_feed_put(&thread->outside, &sample, n, stop, walk_ns)) {
		dnp_feed_lost(&thread->outside, wall.event, DNP_LOSS_RING, weight);
		return 0;
	}
	repeat(&thread->outside, weight);
	return 1;
}

static void put_one_frame(struct dnp_thread *thread, uint32_t weight, enum dnp_walk_kind kind,
	enum dnp_walk_stop stop)
{
	thread->turn.cpu_ns = 0;
	thread->outside.frames[0] = (dnp_frame_word)kind << DNP_FRAME_SHIFT;
	put(thread, weight, 0, 1, stop, 0);
}

static void put_failed(struct dnp_thread *thread, uint32_t weight, enum failure why)
{
	atomic_fetch_add_explicit(&failed[why], 1, memory_order_relaxed);
	put_one_frame(thread, weight, DNP_WALK_UNKNOWN, DNP_STOP_NOT_WALKED);
}

/* ---- A thread that runs samples itself */

static uint64_t ask_of(const struct dnp_thread *thread, uint32_t weight)
{
	return (uint64_t)(uint32_t)thread->tid << 32 | weight;
}

/* The weight that it was given and has not used; its signal may still be under way. */
static uint32_t take_back(struct dnp_thread *thread)
{
	uint64_t asked = atomic_load(&thread->turn.asked);

	while (asked &&
		!atomic_compare_exchange_weak(&thread->turn.asked, &asked, ask_of(thread, 0)))
		;
	return (uint32_t)asked;
}

static SIGSAFE uint32_t take_asked(struct dnp_thread *thread)
{
	return atomic_load(&active) ? (uint32_t)atomic_exchange(&thread->turn.asked, 0) : 0;
}

/* A signal came to nothing on its stack: its own, if it was given one. */
static SIGSAFE void lose(void)
{
	struct dnp_thread *thread = dnp_thread_own();
	uint32_t weight = thread ? take_asked(thread) : 0;

	if (weight)
		dnp_self_lose(thread, wall.event, DNP_LOSS_STACK, weight);
}

/*
 * The signal is for this thread, and the record still its own: both carry its id. It may be of a
 * recording before, and so carries the record's place.
 */
static SIGSAFE int on_signal(const struct dnp_signal_info *info, void *context)
{
	struct dnp_thread *thread;
	uint32_t weight;

	if (dnp_signal_is_nothing(info) == DNP_SIGNAL_NO_ROOM)
		lose();
	if (!dnp_signal_is_sent(info, DNP_SIGNAL_WALL))
		return 0;
	thread = dnp_thread_at((uintptr_t)dnp_signal_value(info));
	if (!thread)
		return 1;
	if ((int)(atomic_load(&thread->turn.asked) >> 32) != dnp_thread_id())
		return 1;
	if (!dnp_self_enter(thread)) {
		dnp_self_late(thread, wall.event, take_asked(thread));
		return 1;
	}
	weight = take_asked(thread);
	if (weight) {
		struct dnp_sample sample = sample_of(&weight, 0);

		dnp_self_sample(thread, &sample, 0, context);
		if (dnp_feed_has_last(&thread->own))
			repeat(&thread->own, weight);
	}
	dnp_self_leave(thread);
	return 1;
}

/* Its signal is under way already: gives it this weight, too. 0: no longer, it was taken. */
static int add_to_asked(struct dnp_thread *thread, uint64_t cpu_ns, uint32_t weight)
{
	struct dnp_turn *turn = &thread->turn;
	uint64_t asked = atomic_load(&turn->asked);

	if (asked && dnp_now_ns() - turn->asked_ns > TAKEN_NS && cpu_ns != turn->asked_cpu_ns) {
		put_failed(thread, weight + take_back(thread), BLOCKED);
		return 1;
	}
	while (asked)
		if (atomic_compare_exchange_weak(&turn->asked, &asked, asked + weight))
			return 1;
	return 0;
}

static void *place_of(const struct dnp_thread *thread)
{
	return (void *)(uintptr_t)thread->place; /* NOLINT(performance-no-int-to-ptr) */
}

static void ask(struct dnp_thread *thread, uint64_t cpu_ns, uint32_t weight)
{
	struct dnp_turn *turn = &thread->turn;

	if (add_to_asked(thread, cpu_ns, weight))
		return;
	turn->self = 1;
	turn->asked_ns = dnp_now_ns();
	turn->asked_cpu_ns = cpu_ns;
	atomic_store(&turn->asked, ask_of(thread, weight));
	if (dnp_signal_send(thread->tid, DNP_SIGNAL_WALL, place_of(thread))) {
		atomic_store(&turn->asked, 0);
		put_failed(thread, weight, NO_SIGNAL);
	}
}

/* ---- A thread that sleeps is read */

static void put_stack(struct dnp_thread *thread, uint64_t cpu_ns, uint32_t weight,
	const struct dnp_target_stack *stack, uint64_t walk_ns)
{
	uint8_t flags = DNP_SAMPLE_WAITING;

	if (dnp_thread_collects(thread))
		flags |= DNP_SAMPLE_COLLECTING;
	thread->turn.self = 0;
	thread->turn.cpu_ns =
		put(thread, weight, flags, (uint32_t)stack->n, stack->stop, walk_ns) ? cpu_ns : 0;
	if (stack->stop == DNP_STOP_UNKNOWN || stack->stop == DNP_STOP_NO_RULE)
		dnp_watch_call(); /* code that is new may be known then */
}

/* It has run since it was last read, or was never read. */
static void look_closer(struct dnp_thread *thread, uint64_t cpu_ns, uint32_t weight)
{
	struct dnp_target_stack stack;
	uint64_t walk_ns;
	int result = -EAGAIN;

	for (int i = 0; i < TRIES && result == -EAGAIN; i++) {
		result = dnp_outside_walk(
			thread, DNP_TARGET_ASLEEP, thread->outside.frames, &stack, &walk_ns);
		if (result == -EAGAIN && !stack.asleep) {
			ask(thread, cpu_ns, weight);
			return;
		}
		if (result == -EAGAIN)
			cpu_ns = dnp_thread_cpu_ns(thread->tid);
	}
	if (result)
		put_failed(thread, weight, result == -EAGAIN ? MOVED : NO_STACK);
	else
		put_stack(thread, cpu_ns, weight, &stack, walk_ns);
}

/* ---- Turns */

/*
 * The thread has gone: the rest of its life counts to what was seen of it last. Nobody but us puts
 * anything into its own feed any more.
 */
static void end(struct dnp_thread *thread)
{
	uint64_t end_ns = atomic_load(&thread->end_ns);
	uint32_t weight = take_weight(&thread->turn, end_ns ? end_ns : dnp_now_ns());
	struct dnp_feed *last;

	thread->turn.gone = 1;
	weight += take_back(thread);
	atomic_store(&thread->turn.asked, 0);
	if (!weight)
		return;
	/* Pairs with the release at a handler's end. */
	atomic_load_explicit(&thread->handling, memory_order_acquire);
	last = thread->turn.self || !dnp_feed_has_last(&thread->outside) ? &thread->own
									 : &thread->outside;
	if (dnp_feed_has_last(last))
		repeat(last, weight);
	else
		put_one_frame(thread, weight, DNP_WALK_NOT_YET, DNP_STOP_END);
}

static void look(struct dnp_thread *thread, uint64_t due_ns)
{
	struct dnp_turn *turn = &thread->turn;
	uint64_t cpu_ns = dnp_thread_cpu_ns(thread->tid);
	uint32_t weight;

	if (!cpu_ns && !dnp_thread_exists(thread->tid)) {
		end(thread);
		return;
	}
	weight = take_weight(turn, due_ns);
	if (!weight)
		return;
	if (turn->cpu_ns && turn->cpu_ns == cpu_ns)
		repeat(&thread->outside, weight);
	else
		look_closer(thread, cpu_ns, weight);
}

static void begin(struct dnp_thread *thread)
{
	thread->turn.counted_ns = (int64_t)thread->start_ns;
}

static void look_at(struct dnp_thread *thread, uint64_t due_ns)
{
	atomic_store(&walking_since, dnp_now_ns());
	if (!thread->turn.gone)
		look(thread, due_ns);
	atomic_store(&walking_since, UINT64_MAX);
}

/* ---- The sampler */

static uint32_t count_threads(void)
{
	uint32_t n;

	pthread_mutex_lock(&lock);
	n = dnp_turns_take_new(begin);
	pthread_mutex_unlock(&lock);
	return n;
}

static void look_at_next(uint64_t due_ns)
{
	struct dnp_thread *thread;

	pthread_mutex_lock(&lock);
	thread = dnp_turns_next(&random_state);
	if (thread)
		look_at(thread, due_ns);
	pthread_mutex_unlock(&lock);
}

/* Sleeps until then or until stop wants the sampler's end. */
static void rest_until(uint64_t due_ns)
{
	uint64_t now = dnp_now_ns(), ns = due_ns > now ? due_ns - now : 0;

	if (ns)
		dnp_word_wait(&stopping, 0, ns);
}

static bool is_asked(const struct dnp_thread *thread)
{
	return atomic_load(&thread->turn.asked) != 0;
}

static bool is_answering(void)
{
	bool answering;

	pthread_mutex_lock(&lock);
	answering = dnp_turns_any(is_asked);
	pthread_mutex_unlock(&lock);
	return answering;
}

/* All threads once more, so that each counts until now. */
static void look_last(void)
{
	uint64_t now = dnp_now_ns(), deadline = now + LAST_NS;

	dnp_turns_again();
	for (uint32_t n = count_threads(); n && dnp_now_ns() < deadline; n--)
		look_at_next(now);
	deadline = dnp_now_ns() + ANSWER_NS;
	while (is_answering() && dnp_now_ns() < deadline)
		dnp_sleep_until_ns(dnp_now_ns() + SECOND_NS / 1000);
}

/*
 * Weights are reckoned by the times at which looks are due. When they are done depends on how busy
 * the processors are, and so on what the program does: what it does then would have too much
 * weight.
 */
static void *look_at_all(void *context)
{
	uint64_t due_ns = dnp_now_ns();
	struct dnp_pace pace;

	(void)context;
	dnp_thread_set_name("dnprof-wall");
	dnp_pace_begin(&pace, wall.interval_ns);
	while (!atomic_load(&stopping)) {
		uint32_t n = count_threads(), looks;
		uint64_t slot_ns = dnp_pace_slot(&pace, n), now_ns;
		uint64_t pause_ns = dnp_pace_rest(&pace, slot_ns);

		rest_until(due_ns + pause_ns);
		now_ns = dnp_now_ns();
		if (now_ns > due_ns + pause_ns + LATE_NS)
			pause_ns = now_ns - due_ns;
		due_ns += pause_ns;
		looks = dnp_pace_due(&pace, pause_ns, slot_ns, n);
		for (uint32_t i = 0; i < looks; i++)
			look_at_next(due_ns);
		dnp_pace_looked(&pace, looks);
	}
	look_last();
	return NULL;
}

/* ---- The engine */

/* No sample is taken and no thread made known any more. */
static void close_down(void)
{
	pthread_mutex_lock(&begin_lock);
	atomic_store(&active, 0);
	dnp_turns_drop_new();
	pthread_mutex_unlock(&begin_lock);
}

static int wall_start(const struct dnp_engine_setting *setting, unsigned index, struct dnp_err *err)
{
	struct dnp_thread_state state;
	int result = dnp_thread_state(dnp_thread_id(), &state);

	if (result)
		return dnp_err(err, result,
			"the system does not tell what threads do (/proc/self/task/TID/syscall): "
			"%s; record without -e wall",
			strerror(-result));
	random_state = dnp_now_ns() | 1;
	for (unsigned i = 0; i < FAILURES; i++)
		atomic_store(&failed[i], 0);
	wall.event = (uint8_t)index;
	wall.interval_ns = setting->options->interval_ns;
	result = dnp_signal_share(on_signal, err);
	if (result)
		return result;
	atomic_store(&active, 1);
	atomic_store(&stopping, 0);
	result = dnp_own_thread_start(&sampler, look_at_all, NULL);
	if (result) {
		close_down();
		dnp_signal_unshare(on_signal);
		return dnp_err(err, result, "the profiler's thread cannot be started: %s",
			strerror(-result));
	}
	return 0;
}

static const char *wall_source(void)
{
	return "turns of all threads";
}

static void wall_thread_begin(struct dnp_thread *thread)
{
	pthread_mutex_lock(&begin_lock);
	if (atomic_load(&active))
		dnp_turns_add(thread);
	pthread_mutex_unlock(&begin_lock);
}

static void wall_managed_begin(uintptr_t id, struct dnp_thread *thread)
{
	(void)id;
	if (thread->tid != dnp_thread_id() || !thread->stack.high)
		return;
	atomic_store_explicit(&thread->turn.stack_low, thread->stack.low, memory_order_relaxed);
	atomic_store_explicit(&thread->turn.stack_high, thread->stack.high, memory_order_release);
}

static void wall_thread_end(struct dnp_thread *thread)
{
	pthread_mutex_lock(&lock);
	dnp_turns_take_new(begin);
	if (dnp_turns_has(thread)) {
		if (!thread->turn.gone)
			end(thread);
		dnp_turns_remove(thread);
	}
	pthread_mutex_unlock(&lock);
}

static uint64_t wall_walking_since(void)
{
	return atomic_load(&walking_since);
}

/* What it was given and did not use in time. */
static void finish(struct dnp_thread *thread)
{
	uint32_t weight;

	dnp_self_wait(thread);
	weight = take_back(thread);
	if (weight)
		put_failed(thread, weight, BLOCKED);
}

static void wall_stop(void)
{
	struct dnp_thread *thread;

	atomic_store(&stopping, 1);
	dnp_word_wake(&stopping);
	dnp_own_thread_join(&sampler);
	close_down();
	pthread_mutex_lock(&lock);
	while ((thread = dnp_turns_take_out()))
		finish(thread);
	pthread_mutex_unlock(&lock);
	dnp_signal_unshare(on_signal);
}

static void wall_failures(unsigned index, dnp_failure_tell tell)
{
	for (unsigned i = 0; i < FAILURES; i++)
		tell(index, failure_names[i],
			atomic_load_explicit(&failed[i], memory_order_relaxed));
}

const struct dnp_engine dnp_engine_wall = {
	.event = "wall",
	.choice = DNP_ENGINE_SIGNAL,
	.walks = true,
	.start = wall_start,
	.source = wall_source,
	.thread_begin = wall_thread_begin,
	.thread_end = wall_thread_end,
	.managed_begin = wall_managed_begin,
	.walking_since = wall_walking_since,
	.stop = wall_stop,
	.failures = wall_failures,
};
