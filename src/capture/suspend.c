/* SPDX-License-Identifier: MIT */
/*
 * The runtime's threads in turn, each suspended by the system for as long as its stack is walked
 * (unwind/suspended.h): for systems on which a thread can be stopped at any instruction without
 * taking part in it.
 *
 * A thread of ours does it, which never runs managed code, and which calls nothing while another
 * one stands that could wait for it. A thread does not end while it is looked at
 * (capture/managed.h). Before the runtime is asked for a stack the first time it is asked for that
 * of a thread that is not suspended: what it sets up for a thread that walks (memory, locks) it
 * must not need while another one stands still. That one is at rest as far as its CPU clock tells.
 *
 * A thread whose CPU clock stands still for long has not moved: its last stack holds, without a
 * walk. What one did between its last walk and its end is its own and is told of as not sampled,
 * which is all of it where it ends before it has its turn: no walk was made of it, so none failed.
 *
 * Samples that there is no room for stay due, and go to the next stack that is seen, as if this
 * thread had had its turn so much later. What is not stored by then is counted as lost.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "capture/due.h"
#include "capture/engine.h"
#include "capture/managed.h"
#include "capture/reasons.h"
#include "clr/hresult.h"
#include "os/bell.h"
#include "os/clock.h"
#include "os/mem.h"
#include "os/process.h"
#include "os/thread.h"
#include "os/watch.h"
#include "unwind/suspended.h"

/* As long as the clock of a thread may say nothing while it runs. */
#define TICKS_NS UINT64_C(40000000)

/* Samples of no more time wait for room. */
#define KEEP_NS UINT64_C(1000000000)

/* A frame, and each event's sample of it: what a thread may have to tell last waits for nobody. */
#define LAST_WORDS ((size_t)DNP_DUE_EVENTS * (DNP_SAMPLE_WORDS_MAX + 1))

/* Of threads that are there, and of which there is no stack. */
enum failure { UNREADABLE, UNSTOPPED, FAILURES };
static const char *const failure_names[FAILURES] = {
	[UNREADABLE] = "stack that cannot be read",
	[UNSTOPPED] = "thread that cannot be suspended",
};

static struct {
	uint64_t interval_ns;
	bool always;                    /* the runtime is asked for each stack */
	bool wanted;                    /* … or was to be asked for one */
	bool ready;                     /* it has answered for a thread that was not suspended */
	_Atomic uint32_t events;        /* bits of enum dnp_due_event that are wanted */
	unsigned index[DNP_DUE_EVENTS]; /* in samples */
	struct dnp_own_thread thread;
	int bell; /* rings when it is to stop */
	_Atomic bool stop;
	_Atomic uint64_t since_ns; /* walks are going on; UINT64_MAX: none */

	/* Memory for the walks. */
	struct dnp_suspended walk;
	struct dnp_due *due; /* of each place */
	void *memory;
	size_t bytes;
	struct dnp_reasons reasons[DNP_DUE_EVENTS];
	_Atomic uint64_t failed[DNP_DUE_EVENTS][FAILURES];
} sampler = {.since_ns = UINT64_MAX, .stop = true};

/* Held while a thread that ends is accounted for, and while memory is freed. A leaf lock. */
static pthread_mutex_t end_lock = PTHREAD_MUTEX_INITIALIZER;

static uint32_t events(void)
{
	return atomic_load_explicit(&sampler.events, memory_order_acquire);
}

static bool is_stopping(void)
{
	return atomic_load_explicit(&sampler.stop, memory_order_acquire);
}

/* ---- Samples */

/* Whether the next sample, of `n` frames, has to wait; the recorder is told when it is to hurry. */
static bool waits_for_room(const struct dnp_due *due, struct dnp_feed *feed, uint32_t n)
{
	uint64_t weight = due->weight[DNP_DUE_CPU] > due->weight[DNP_DUE_WALL]
		? due->weight[DNP_DUE_CPU]
		: due->weight[DNP_DUE_WALL];

	if (dnp_ring_is_filling(&feed->ring))
		dnp_watch_call();
	return !dnp_feed_has_room(feed, n, LAST_WORDS) && weight * sampler.interval_ns < KEEP_NS;
}

static void repeat(struct dnp_due *due, const struct dnp_managed *managed)
{
	struct dnp_feed *feed = &managed->thread->outside;

	memcpy(feed->frames, feed->before, feed->n_before * sizeof(feed->frames[0]));
	dnp_due_store(due, feed, sampler.index, feed->n_before, 0);
}

/* Samples that are due, but nobody saw where the thread was. */
static void not_seen(struct dnp_due *due, const struct dnp_managed *managed)
{
	struct dnp_feed *feed = &managed->thread->outside;

	feed->frames[0] = (dnp_frame_word)DNP_WALK_NOT_YET << DNP_FRAME_SHIFT | DNP_FRAME_EXACT;
	due->flags = 0;
	due->stop = DNP_STOP_END;
	due->walked_ns = UINT64_MAX;
	dnp_due_store(due, feed, sampler.index, 1, 0);
}

/* Whether the last samples of a thread that owes no CPU time go to where it was seen last. */
static bool stays(const struct dnp_due *due, const struct dnp_managed *managed)
{
	return !due->weight[DNP_DUE_CPU] && due->walked_ns != UINT64_MAX &&
		dnp_feed_has_last(&managed->thread->outside);
}

/* What a thread did last is its own, and is told of; but nobody walks it any more. */
static void tell_rest(struct dnp_due *due, const struct dnp_managed *managed)
{
	if (stays(due, managed))
		repeat(due, managed);
	else
		not_seen(due, managed);
}

/* ---- Walks */

static void count(const struct dnp_due *due, HRESULT hr)
{
	for (enum dnp_due_event event = 0; event < DNP_DUE_EVENTS; event++)
		if (due->weight[event])
			dnp_reasons_count(&sampler.reasons[event], hr);
}

static enum dnp_suspended_ask when_to_ask(void)
{
	if (!sampler.ready)
		return DNP_ASK_NEVER;
	return sampler.always ? DNP_ASK_ALWAYS : DNP_ASK_NEEDED;
}

/* What was found, as a sample; what the runtime refused and we did not see either is told. */
static void take(struct dnp_due *due, const struct dnp_managed *managed, uint64_t walk_ns)
{
	const struct dnp_suspended *walk = &sampler.walk;
	bool whole = dnp_suspended_is_all(walk->mixed.stop);

	sampler.wanted |= sampler.always || (walk->managed && !whole);
	if (waits_for_room(due, &managed->thread->outside, (uint32_t)walk->mixed.n))
		return;
	if (walk->asked && FAILED(walk->result) && !whole)
		count(due, walk->result);
	due->walked_ns = due->cpu_ns;
	due->flags = (uint8_t)dnp_walk_flags(walk->mixed.stop);
	due->stop = walk->mixed.stop;
	dnp_due_store(
		due, &managed->thread->outside, sampler.index, (uint32_t)walk->mixed.n, walk_ns);
}

static void count_failed(const struct dnp_due *due, enum failure failure)
{
	for (enum dnp_due_event event = 0; event < DNP_DUE_EVENTS; event++)
		if (due->weight[event])
			atomic_fetch_add_explicit(
				&sampler.failed[event][failure], 1, memory_order_relaxed);
}

static void walk(struct dnp_due *due, const struct dnp_managed *managed)
{
	uint64_t begin_ns = dnp_now_ns();
	int result;

	sampler.walk.ask = when_to_ask();
	sampler.walk.mixed.frames = managed->thread->outside.frames;
	sampler.walk.stack = dnp_thread_told_stack(managed->thread);
	result = dnp_suspended_walk(managed->thread->tid, managed->id, &sampler.walk);
	if (!result && sampler.walk.mixed.n) {
		take(due, managed, dnp_now_ns() - begin_ns);
		return;
	}
	/* One that has ended just now is nobody to walk: that is no failure. */
	if (result != -ESRCH)
		count_failed(due, UNREADABLE);
	else if (dnp_thread_exists(managed->thread->tid))
		count_failed(due, UNSTOPPED);
	not_seen(due, managed);
}

/* The first walk that the runtime makes for this thread, of one that is at rest. */
static void get_ready(const struct dnp_due *due, const struct dnp_managed *managed)
{
	if (!due->waiting || !(atomic_load(&managed->thread->flags) & DNP_THREAD_MANAGED))
		return;
	dnp_dss_walk(
		sampler.walk.info, managed->id, COR_PRF_SNAPSHOT_DEFAULT, NULL, &sampler.walk.dss);
	sampler.ready = sampler.walk.dss.n;
}

/*
 * Whether it may have run since it was walked last: clocks of threads go in ticks, and say so late.
 */
static bool may_have_moved(struct dnp_due *due)
{
	uint64_t now_ns = dnp_now_ns();

	if (!due->waiting)
		due->moved_ns = now_ns;
	return due->weight[DNP_DUE_CPU] || dnp_due_has_moved(due) ||
		now_ns - due->moved_ns < TICKS_NS;
}

static void look_at(uint32_t place, const struct dnp_due_round *round)
{
	struct dnp_due *due = &sampler.due[place];
	struct dnp_managed managed;
	struct dnp_feed *feed;

	if (!dnp_managed_enter(place, &managed))
		return;
	feed = &managed.thread->outside;
	/* A stack is as deep as the last, in the rule: none is taken to be thrown away. */
	if (dnp_due_look(due, &managed, round) && !waits_for_room(due, feed, feed->n_before)) {
		if (may_have_moved(due))
			walk(due, &managed);
		else
			repeat(due, &managed);
	}
	if (sampler.wanted && !sampler.ready)
		get_ready(due, &managed);
	dnp_managed_leave();
}

/* ---- The thread */

/*
 * Random, spread evenly between half and one and a half times the interval: a program that does the
 * same thing every few milliseconds would else be seen at always the same places.
 */
static uint64_t next_interval(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return sampler.interval_ns / 2 + *random % sampler.interval_ns;
}

static void look_at_all(const struct dnp_due_round *round)
{
	atomic_store(&sampler.since_ns, dnp_now_ns());
	for (uint32_t i = 0; i < dnp_managed_places() && !is_stopping(); i++)
		look_at(i, round);
	atomic_store(&sampler.since_ns, UINT64_MAX);
}

/*
 * Of the time that passes each thread's counts until now; where it was seen last, it still is. Of
 * CPU time only what has waited for room.
 */
static void look_last(struct dnp_due_round *round)
{
	struct dnp_managed managed;

	round->events &= 1U << DNP_DUE_WALL;
	for (uint32_t i = 0; i < dnp_managed_places(); i++) {
		struct dnp_due *due = &sampler.due[i];

		if (!dnp_managed_enter(i, &managed))
			continue;
		if (dnp_due_look(due, &managed, round) || dnp_due_gone(due, &managed, round))
			tell_rest(due, &managed);
		dnp_managed_leave();
	}
}

static void *run(void *context)
{
	uint64_t random = dnp_random_number() | 1, last_ns = dnp_now_ns();
	uint64_t due_ns = last_ns + next_interval(&random);
	struct dnp_due_round round = {.interval_ns = sampler.interval_ns};

	(void)context;
	dnp_thread_set_name("dnprof-suspend");
	while (!is_stopping()) {
		uint64_t now_ns = dnp_now_ns();

		if (now_ns < due_ns) {
			dnp_bell_wait(sampler.bell, due_ns);
			continue;
		}
		round.events = events();
		round.most_ns = now_ns - last_ns;
		last_ns = now_ns;
		due_ns = now_ns + next_interval(&random);
		look_at_all(&round);
	}
	look_last(&round);
	return NULL;
}

/* ---- The engines */

static int get_memory(size_t depth)
{
	size_t frames = depth * sizeof(sampler.walk.dss.frames[0]);
	size_t registers = depth * sizeof(sampler.walk.mixed.registers[0]);
	size_t own = depth * sizeof(sampler.walk.own[0]);
	char *memory;

	sampler.bytes = frames + registers + own + DNP_THREADS_MAX * sizeof(sampler.due[0]);
	memory = dnp_mem_map(sampler.bytes);
	if (!memory)
		return -ENOMEM;
	sampler.memory = memory;
	sampler.walk.dss.frames = (struct dnp_dss_frame *)(void *)memory;
	sampler.walk.mixed.registers = (struct dnp_regs *)(void *)(memory + frames);
	sampler.walk.own = (dnp_frame_word *)(void *)(memory + frames + registers);
	sampler.due = (struct dnp_due *)(void *)(memory + frames + registers + own);
	sampler.walk.dss.max = sampler.walk.mixed.max = depth;
	return 0;
}

static void free_memory(void)
{
	pthread_mutex_lock(&end_lock);
	dnp_mem_unmap(sampler.memory, sampler.bytes);
	sampler.memory = NULL;
	pthread_mutex_unlock(&end_lock);
	dnp_bell_close(sampler.bell);
	dnp_managed_forget();
}

static int start_thread(const struct dnp_engine_setting *setting)
{
	int failed;

	memset(&sampler.walk, 0, sizeof(sampler.walk));
	memset(sampler.reasons, 0, sizeof(sampler.reasons));
	memset(sampler.failed, 0, sizeof(sampler.failed));
	atomic_store(&sampler.events, 0);
	sampler.walk.info = setting->info;
	sampler.interval_ns = setting->options->interval_ns;
	sampler.wanted = sampler.ready = false;
	sampler.bell = dnp_bell_open();
	if (sampler.bell < 0)
		return sampler.bell;
	failed = get_memory(setting->options->depth);
	if (failed) {
		dnp_bell_close(sampler.bell);
		return failed;
	}
	atomic_store(&sampler.stop, false);
	dnp_managed_watch();
	failed = dnp_own_thread_start(&sampler.thread, run, NULL);
	if (failed) {
		atomic_store(&sampler.stop, true);
		free_memory();
	}
	return failed;
}

static int start(enum dnp_due_event event, bool always, const struct dnp_engine_setting *setting,
	unsigned index, struct dnp_err *err)
{
	int failed = sampler.thread.running ? 0 : start_thread(setting);

	if (failed)
		return dnp_err(err, failed, "the thread that takes stacks cannot be started: %s",
			strerror(-failed));
	sampler.always = always;
	sampler.index[event] = index;
	atomic_fetch_or_explicit(&sampler.events, 1U << event, memory_order_release);
	return 0;
}

static int suspend_cpu_start(
	const struct dnp_engine_setting *setting, unsigned index, struct dnp_err *err)
{
	return start(DNP_DUE_CPU, false, setting, index, err);
}

static int suspend_wall_start(
	const struct dnp_engine_setting *setting, unsigned index, struct dnp_err *err)
{
	return start(DNP_DUE_WALL, false, setting, index, err);
}

static int asking_cpu_start(
	const struct dnp_engine_setting *setting, unsigned index, struct dnp_err *err)
{
	return start(DNP_DUE_CPU, true, setting, index, err);
}

static int asking_wall_start(
	const struct dnp_engine_setting *setting, unsigned index, struct dnp_err *err)
{
	return start(DNP_DUE_WALL, true, setting, index, err);
}

static const char *suspend_source(void)
{
	return "thread suspension";
}

static const char *suspend_note(void)
{
	return "threads that never ran managed code are not seen";
}

static uint64_t walking_since(void)
{
	return atomic_load(&sampler.since_ns);
}

static void suspend_stop(void)
{
	if (!sampler.thread.running)
		return;
	pthread_mutex_lock(&end_lock);
	atomic_store_explicit(&sampler.stop, true, memory_order_release);
	pthread_mutex_unlock(&end_lock);
	dnp_bell_ring(sampler.bell);
	dnp_own_thread_join(&sampler.thread);
	free_memory();
}

static void failures(enum dnp_due_event event, unsigned index, dnp_failure_tell tell)
{
	dnp_reasons_tell(&sampler.reasons[event], index, tell);
	for (enum failure failure = 0; failure < FAILURES; failure++)
		tell(index, failure_names[failure], atomic_load(&sampler.failed[event][failure]));
}

static void cpu_failures(unsigned index, dnp_failure_tell tell)
{
	failures(DNP_DUE_CPU, index, tell);
}

static void wall_failures(unsigned index, dnp_failure_tell tell)
{
	failures(DNP_DUE_WALL, index, tell);
}

/*
 * That its turn did not come, which may be never where a thread lives for less than a round, is no
 * walk that failed. The lock is held against stop only, which frees what is read here.
 */
static void tell_last(uint32_t place, const struct dnp_managed *managed, bool may_live)
{
	struct dnp_due_round round = {
		.events = events(),
		.interval_ns = sampler.interval_ns,
		.most_ns = UINT64_MAX,
	};
	struct dnp_due *due = &sampler.due[place];

	pthread_mutex_lock(&end_lock);
	if (!is_stopping() &&
		((may_live && dnp_due_look(due, managed, &round)) ||
			dnp_due_gone(due, managed, &round)))
		tell_rest(due, managed);
	pthread_mutex_unlock(&end_lock);
}

/* On the thread that ends, or on the finalizer's after it has. */
static void see_last(uint32_t place, const struct dnp_managed *managed)
{
	tell_last(place, managed, true);
}

/* Its number may be another thread's by now. */
static void see_gone(uint32_t place, const struct dnp_managed *managed)
{
	tell_last(place, managed, false);
}

/* A thread has one id: who had another one by its number has gone, and nobody told. */
static void managed_begin(uintptr_t id, struct dnp_thread *thread)
{
	dnp_managed_gone(thread, id, see_gone);
	dnp_managed_add(id, thread);
}

static void managed_end(uintptr_t id, int tid)
{
	(void)tid;
	dnp_managed_remove(id, see_last);
}

static void thread_end(struct dnp_thread *thread)
{
	dnp_managed_gone(thread, 0, see_gone);
}

#define SUSPEND_ENGINE(name, how, begin, tell)                                                     \
	{                                                                                          \
		.event = (name), .choice = (how), .walks = true,                                   \
		.events_low = COR_PRF_ENABLE_STACK_SNAPSHOT, .start = (begin),                     \
		.source = suspend_source, .note = suspend_note, .thread_end = thread_end,          \
		.needs_managed = true, .managed_begin = managed_begin, .managed_end = managed_end, \
		.walking_since = walking_since, .stop = suspend_stop, .failures = (tell),          \
	}

const struct dnp_engine dnp_engine_suspend_cpu =
	SUSPEND_ENGINE("cpu", DNP_ENGINE_SUSPEND, suspend_cpu_start, cpu_failures);
const struct dnp_engine dnp_engine_suspend_wall =
	SUSPEND_ENGINE("wall", DNP_ENGINE_SUSPEND, suspend_wall_start, wall_failures);
const struct dnp_engine dnp_engine_asking_cpu =
	SUSPEND_ENGINE("cpu", DNP_ENGINE_SNAPSHOT, asking_cpu_start, cpu_failures);
const struct dnp_engine dnp_engine_asking_wall =
	SUSPEND_ENGINE("wall", DNP_ENGINE_SNAPSHOT, asking_wall_start, wall_failures);
