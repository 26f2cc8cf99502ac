/* SPDX-License-Identifier: MIT */
/*
 * Where the time goes that passes, split as the kernel's clocks split it for each thread: so much
 * it ran, so much it waited for a processor, and the rest it slept.
 *
 * What it ran is in samples that it takes itself (capture/running.h). For the rest a thread of ours
 * looks at all threads of the program in turn, in random order. A look at one that sleeps gives a
 * stack, and all that the thread has slept since its last such look counts to it: however seldom
 * its turn comes, and however late, a thread's weights add up to its life. One that runs is looked
 * at again; it has nothing to say here. Nobody who sleeps gets a signal, since many a system call
 * would fail of it.
 *
 * A look begins with the thread's CPU clock. If that stands where it stood when the stack was read,
 * the thread has not run since, and the stack still holds. Else it is read from outside.
 *
 * What all looks cost is bounded (capture/pace.h).
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clean.h"
#include "base/random.h"
#include "capture/engine.h"
#include "capture/outside.h"
#include "capture/pace.h"
#include "capture/running.h"
#include "capture/self.h"
#include "capture/turns.h"
#include "os/clock.h"
#include "os/process.h"
#include "os/tasks.h"
#include "os/thread.h"
#include "os/thread_state.h"
#include "os/watch.h"
#include "os/word.h"

#define SECOND_NS   UINT64_C(1000000000)
#define LATE_NS     (SECOND_NS / 20) /* looks that are so late are not made up for */
#define TRIES       4                /* to read a stack that moves meanwhile */
#define LEARNING_NS UINT64_C(1000000000)
#define LAST_NS     (SECOND_NS / 5) /* for a last look at all threads */

/* Why a thread that is there could not be sampled. */
enum failure { MOVED, NO_STACK, FAILURES };

static const char *const failure_names[FAILURES] = {
	"kept moving while it was read",
	"stack not readable",
};

/* Written in start, before the first sample can come. */
static struct {
	uint8_t event;
	uint64_t interval_ns;
	int pid;
	const char *running; /* where samples of those who run come from */
	char source[128];
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

/* What has passed since it was last booked, by the thread's clocks. False: it has gone. */
static bool book(struct dnp_thread *thread)
{
	struct dnp_turn *turn = &thread->turn;
	struct dnp_task_clock clock;
	int64_t ran, waited;

	if (dnp_task_clock(wall.pid, thread->tid, &clock))
		return false;
	ran = (int64_t)(clock.cpu_ns - turn->ran_ns);
	waited = dnp_task_waited_since(&clock, &turn->waited_ns, &turn->waits_known);
	turn->slept += (int64_t)(clock.time_ns - turn->booked_ns) - ran - waited;
	turn->waited += waited;
	turn->booked_ns = clock.time_ns;
	turn->ran_ns = clock.cpu_ns;
	return true;
}

/* Intervals of a time not counted yet, rounded at random; the rest, which may be negative, stays.
 */
static uint32_t take_weight(int64_t *left_ns)
{
	int64_t interval = (int64_t)wall.interval_ns, weight;

	if (*left_ns <= 0)
		return 0;
	weight = *left_ns / interval;
	weight += (int64_t)dnp_random_below(&random_state, wall.interval_ns) < *left_ns % interval;
	if (weight > INT32_MAX)
		weight = INT32_MAX;
	*left_ns -= weight * interval;
	return (uint32_t)weight;
}

static struct dnp_sample sample_of(uint32_t weight, uint8_t flags)
{
	return (struct dnp_sample){
		.time_ns = dnp_now_ns(),
		.weight = weight,
		.flags = flags,
		.event = wall.event,
	};
}

static void repeat(struct dnp_feed *feed, uint32_t weight)
{
	struct dnp_sample sample = sample_of(weight, 0);

	if (weight)
		dnp_feed_repeat(feed, &sample);
}

/* Stores what was walked, or found out else, of a thread: `n` frames in its feed `outside`. */
static int put(struct dnp_thread *thread, uint32_t weight, uint8_t flags, uint32_t n,
	enum dnp_walk_stop stop, uint64_t walk_ns)
{
	struct dnp_sample sample = sample_of(weight, flags);

	return dnp_feed_put(&thread->outside, &sample, n, stop, walk_ns);
}

static void put_one_frame(struct dnp_thread *thread, uint32_t weight, uint8_t flags,
	dnp_frame_word frame, enum dnp_walk_stop stop)
{
	thread->turn.cpu_ns = 0;
	thread->turn.has_slept = 0;
	thread->outside.frames[0] = frame;
	put(thread, weight, flags, 1, stop, 0);
}

static void put_failed(struct dnp_thread *thread, uint32_t weight, enum failure why)
{
	atomic_fetch_add_explicit(&failed[why], 1, memory_order_relaxed);
	put_one_frame(thread, weight, DNP_SAMPLE_WAITING,
		(dnp_frame_word)DNP_WALK_UNKNOWN << DNP_FRAME_SHIFT, DNP_STOP_NOT_WALKED);
}

/* What it waited for a processor, and was therefore nowhere. */
static void put_waited(struct dnp_thread *thread)
{
	uint32_t weight = take_weight(&thread->turn.waited);

	if (weight)
		put_one_frame(thread, weight, DNP_SAMPLE_WAITING,
			(dnp_frame_word)DNP_WALK_READY << DNP_FRAME_SHIFT, DNP_STOP_END);
}

/*
 * What it slept goes to where it slept last, if that is known. One that was woken and waits for a
 * processor looks as if it slept on; what was told so and is not made up for by sleep that came
 * later is not told again: what a thread's samples weigh is its life.
 */
static void put_last(struct dnp_thread *thread)
{
	uint32_t weight = take_weight(&thread->turn.slept);

	if (thread->turn.slept < 0)
		thread->turn.waited += thread->turn.slept;
	if (weight && thread->turn.has_slept)
		repeat(&thread->outside, weight);
	else if (weight)
		put_one_frame(thread, weight, DNP_SAMPLE_WAITING,
			(dnp_frame_word)DNP_WALK_NOT_YET << DNP_FRAME_SHIFT, DNP_STOP_END);
	put_waited(thread);
}

/* ---- A thread that sleeps is read */

/*
 * Code that was compiled before anybody listened is known when the recorder has asked for it, which
 * it does when it sees the stack: so that is read again, for a time.
 */
static bool may_become_known(
	struct dnp_turn *turn, uint64_t cpu_ns, const struct dnp_target_stack *stack)
{
	uint64_t now_ns = dnp_now_ns();

	if (dnp_self_known(stack->frames, (uint32_t)stack->n, stack->stop) == stack->n)
		return false;
	if (!turn->cut_ns || turn->cut_cpu_ns != cpu_ns) {
		turn->cut_ns = now_ns;
		turn->cut_cpu_ns = cpu_ns;
	}
	return now_ns - turn->cut_ns < LEARNING_NS;
}

static void put_stack(struct dnp_thread *thread, uint64_t cpu_ns, uint32_t weight,
	const struct dnp_target_stack *stack, uint64_t walk_ns)
{
	uint8_t flags = DNP_SAMPLE_WAITING;

	if (dnp_thread_collects(thread))
		flags |= DNP_SAMPLE_COLLECTING;
	thread->turn.has_slept =
		put(thread, weight, flags, (uint32_t)stack->n, stack->stop, walk_ns);
	thread->turn.cpu_ns =
		thread->turn.has_slept && !may_become_known(&thread->turn, cpu_ns, stack) ? cpu_ns
											  : 0;
	if (stack->stop == DNP_STOP_UNKNOWN || stack->stop == DNP_STOP_NO_RULE)
		dnp_watch_call(); /* code that is new may be known then */
}

/*
 * It has run since it was last read, or was never read. One that runs now has its turn again; what
 * it slept before waits for it.
 */
static void look_closer(struct dnp_thread *thread, uint64_t cpu_ns)
{
	struct dnp_target_stack stack;
	uint32_t weight = book(thread) ? take_weight(&thread->turn.slept) : 0;
	uint64_t walk_ns;
	int result = -EAGAIN;

	if (!weight)
		return;
	for (int i = 0; i < TRIES && result == -EAGAIN; i++) {
		result = dnp_outside_walk(
			thread, DNP_TARGET_ASLEEP, thread->outside.frames, &stack, &walk_ns);
		if (result == -EAGAIN && !stack.asleep) {
			thread->turn.slept += (int64_t)(weight * wall.interval_ns);
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
 * The thread has gone, and with it what the system kept of it: its last word is taken. Of one that
 * gave none, as those that native code has made, nobody knows when it went, nor what it did since
 * it was last looked at: of that nothing is told. What it ran is told elsewhere. Nobody but us puts
 * anything into its feed.
 */
static void end(struct dnp_thread *thread)
{
	struct dnp_turn *turn = &thread->turn;
	uint64_t end_ns = atomic_load(&thread->end_ns), ran_ns = atomic_load(&thread->end_cpu_ns);
	uint64_t waited_ns = atomic_load(&turn->end_waited_ns);

	turn->gone = 1;
	if (end_ns)
		turn->slept += (int64_t)(end_ns - turn->booked_ns);
	if (ran_ns > turn->ran_ns)
		turn->slept -= (int64_t)(ran_ns - turn->ran_ns);
	if (turn->waits_known && waited_ns > turn->waited_ns) {
		turn->slept -= (int64_t)(waited_ns - turn->waited_ns);
		turn->waited += (int64_t)(waited_ns - turn->waited_ns);
	}
	put_last(thread);
}

static void look(struct dnp_thread *thread)
{
	struct dnp_turn *turn = &thread->turn;
	uint64_t cpu_ns = dnp_thread_cpu_ns(thread->tid), now_ns;

	if (!cpu_ns && !dnp_thread_exists(thread->tid)) {
		end(thread);
	} else if (turn->cpu_ns && turn->cpu_ns == cpu_ns) {
		now_ns = dnp_now_ns();
		turn->slept += (int64_t)(now_ns - turn->booked_ns);
		turn->booked_ns = now_ns;
		repeat(&thread->outside, take_weight(&turn->slept));
	} else {
		put_waited(thread);
		look_closer(thread, cpu_ns);
	}
}

static void begin(struct dnp_thread *thread)
{
	thread->turn.booked_ns = thread->start_ns;
	thread->turn.ran_ns = thread->start_cpu_ns;
	thread->turn.slept = thread->turn.waited = 0;
}

static void look_at(struct dnp_thread *thread)
{
	atomic_store(&walking_since, dnp_now_ns());
	if (!thread->turn.gone)
		look(thread);
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

static void look_at_next(void)
{
	struct dnp_thread *thread;

	pthread_mutex_lock(&lock);
	thread = dnp_turns_next(&random_state);
	if (thread)
		look_at(thread);
	pthread_mutex_unlock(&lock);
}

/* Sleeps until then or until stop wants the sampler's end. */
static void rest_until(uint64_t due_ns)
{
	uint64_t now = dnp_now_ns(), ns = due_ns > now ? due_ns - now : 0;

	if (ns)
		dnp_word_wait(&stopping, 0, ns);
}

/* All threads once more, so that each counts until now. */
static void look_last(void)
{
	uint64_t deadline = dnp_now_ns() + LAST_NS;

	dnp_turns_again();
	for (uint32_t n = count_threads(); n && dnp_now_ns() < deadline; n--)
		look_at_next();
}

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
			look_at_next();
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

static void set_source(void)
{
	wall.running = dnp_running_source();
	snprintf(wall.source, sizeof(wall.source), "turns of all threads, and %s", wall.running);
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
	wall.pid = dnp_process_id();
	result = dnp_running_start(setting, index, err);
	if (result)
		return result;
	set_source();
	atomic_store(&active, 1);
	atomic_store(&stopping, 0);
	result = dnp_own_thread_start(&sampler, look_at_all, NULL);
	if (result) {
		close_down();
		dnp_running_stop(index);
		return dnp_err(err, result, "the profiler's thread cannot be started: %s",
			strerror(-result));
	}
	return 0;
}

static const char *wall_source(void)
{
	return wall.source;
}

static bool wall_changed(void)
{
	bool changed = dnp_running_source() != wall.running;

	set_source();
	return changed;
}

/* One that sleeps from its beginning on calls nobody. */
static bool wall_at_once(void)
{
	return true;
}

/* What it has waited for a processor so far; 0: it has gone, or that is not told. */
static uint64_t waited_so_far(int tid, bool *known)
{
	struct dnp_task_clock clock;

	*known = !dnp_task_clock(wall.pid, tid, &clock) && clock.waits_known;
	return *known ? clock.wait_ns : 0;
}

/*
 * What it has waited until now is not of its time here. The sampler, which may have to wait for a
 * processor itself, would ask too late.
 */
static void wall_thread_begin(struct dnp_thread *thread)
{
	dnp_running_thread_begin(thread, wall.event);
	thread->turn.waited_ns = waited_so_far(thread->tid, &thread->turn.waits_known);
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

/* What it has waited since the sampler's last look at it nobody can ask when it has gone. */
static void wall_managed_end(uintptr_t id, int tid)
{
	struct dnp_thread *thread =
		tid == dnp_thread_id() && atomic_load(&active) ? dnp_thread_find(tid) : NULL;
	bool known;

	(void)id;
	if (thread)
		atomic_store(&thread->turn.end_waited_ns, waited_so_far(tid, &known));
}

static void wall_look(void)
{
	dnp_running_look(wall.event);
}

static void wall_thread_end(struct dnp_thread *thread)
{
	dnp_running_thread_end(thread, wall.event);
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

static void wall_stop(void)
{
	struct dnp_thread *thread;

	atomic_store(&stopping, 1);
	dnp_word_wake(&stopping);
	dnp_own_thread_join(&sampler);
	close_down();
	pthread_mutex_lock(&lock);
	while ((thread = dnp_turns_take_out()))
		if (!thread->turn.gone && book(thread))
			put_last(thread);
	pthread_mutex_unlock(&lock);
	dnp_running_stop(wall.event);
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
	.changed = wall_changed,
	.at_once = wall_at_once,
	.tells_threads = dnp_running_tells_threads,
	.thread_begin = wall_thread_begin,
	.thread_end = wall_thread_end,
	.look = wall_look,
	.managed_begin = wall_managed_begin,
	.managed_end = wall_managed_end,
	.walking_since = wall_walking_since,
	.stop = wall_stop,
	.failures = wall_failures,
};
