/* SPDX-License-Identifier: MIT */
/*
 * All threads at once, by the runtime itself: it is suspended, each thread that has something to
 * tell is walked, and it goes on. The runtime stops managed code at safe points only, so stacks are
 * seen there and not where the time goes. No signal is sent by us, but some threads are stopped by
 * the runtime's: what that interrupts is made to start again (os/sampling_signal.h).
 *
 * A thread of ours, which never runs managed code, does it:
 *
 *   1. Its first walk is of a thread that is not suspended, and until the runtime has answered
 *      that one nobody is suspended: what the runtime sets up for a thread that walks (memory,
 *      locks) it must not need while others stand still. On Linux E_NOTIMPL is the answer that
 *      comes after it, since only suspended threads can be walked; frames would do as well.
 *   2. While the runtime is suspended nothing is allocated and no lock taken; names come later.
 *      Ends of threads are held up only for the one that is walked (capture/managed.h).
 *   3. Whatever happens between them, each suspension is followed by its resumption, and a process
 *      that forks waits for that: in its child the runtime would stay suspended.
 *
 * A thread whose CPU clock stands still has not moved: its last stack holds, without a walk. When
 * that is so of all, nobody is suspended at all.
 */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "capture/due.h"
#include "capture/engine.h"
#include "capture/managed.h"
#include "capture/reasons.h"
#include "clr/hresult.h"
#include "clr/info.h"
#include "os/clock.h"
#include "os/forks.h"
#include "os/mem.h"
#include "os/sampling_signal.h"
#include "os/thread.h"
#include "os/thread_state.h"
#include "os/word.h"
#include "unwind/dss.h"

#define RETRY_FIRST_NS   UINT64_C(50000) /* pause after a suspension that was refused, doubled … */
#define RETRY_MOST_NS    UINT64_C(1000000)  /* … up to this */
#define RETRY_SPAN_NS    UINT64_C(20000000) /* and after so long it waits for the next round */
#define STOP_PATIENCE_NS UINT64_C(5000000000)

#define FALLS_ASLEEP_NS UINT64_C(100000) /* CPU time in which a thread that is stopped does so */
#define LOOK_AGAIN_NS   UINT64_C(20000)
#define DECIDED_NS      UINT64_C(400000) /* how much longer all stand for it, at most … */
#define DECIDED_PART    5                /* … and that part of the interval */

/* The sampler's thread, and who stops it, see snapshot_stop. */
enum state { AT_WORK, IN_CALL, GIVEN_UP };

/* One thread in a round. */
struct turn {
	uint16_t place;
	bool moved; /* it is walked; else its last stack still holds */
};

static struct {
	const struct dnp_info *info;
	uint64_t interval_ns;
	bool native;                    /* runs of native frames are filled */
	_Atomic uint32_t events;        /* bits of enum dnp_due_event that are wanted */
	unsigned index[DNP_DUE_EVENTS]; /* in samples */
	struct dnp_own_thread thread;
	_Atomic uint32_t state;         /* enum state */
	_Atomic uint32_t stop, stopped; /* futexes */
	_Atomic uint64_t since_ns;      /* walks are going on; UINT64_MAX: none */
	bool ready;                     /* rule 1 */
	uint64_t decided_ns;            /* until then it may be found out who runs on */

	/* Memory for the walks. */
	struct dnp_dss dss;
	struct dnp_regs *registers;
	size_t bytes;
	struct dnp_due *due; /* of each place */
	struct turn *round;  /* who is to be sampled in this round */
	uint32_t n_round;
	/* Native frames at the leaf, DNP_DUE_LEAF_MAX for each of the round. */
	dnp_frame_word *leaf;
	struct dnp_reasons reasons[DNP_DUE_EVENTS];
} sampler = {.since_ns = UINT64_MAX};

/* Held while a thread that ends is accounted for, and while memory is freed. A leaf lock. */
static pthread_mutex_t end_lock = PTHREAD_MUTEX_INITIALIZER;

SIGSAFE static uint32_t events(void)
{
	return atomic_load_explicit(&sampler.events, memory_order_acquire);
}

/* A result that says something of all threads. */
static void count_for_all(HRESULT hr)
{
	for (enum dnp_due_event event = 0; event < DNP_DUE_EVENTS; event++)
		if (events() & 1U << event)
			dnp_reasons_count(&sampler.reasons[event], hr);
}

SIGSAFE static bool is_stopping(void)
{
	return atomic_load_explicit(&sampler.stop, memory_order_acquire);
}

/* ---- Calls into the runtime, in which the thread may be given up */

/* The records of threads are no more the sampler's to look at: they are forgotten, or others'. */
SIGSAFE static bool is_given_up(void)
{
	return atomic_load(&sampler.state) == GIVEN_UP;
}

SIGSAFE static void begin_call(void)
{
	uint32_t state = AT_WORK;

	atomic_compare_exchange_strong(&sampler.state, &state, IN_CALL);
}

/* False: it has been given up. */
SIGSAFE static bool end_call(void)
{
	uint32_t state = IN_CALL;

	return atomic_compare_exchange_strong(&sampler.state, &state, AT_WORK);
}

/* By who stops it. False: it is at work, which ends by itself. */
static bool give_up(void)
{
	uint32_t state = IN_CALL;

	return atomic_compare_exchange_strong(&sampler.state, &state, GIVEN_UP);
}

/* ---- Who is to be sampled */

static bool look(struct dnp_due *due, const struct dnp_managed *managed)
{
	struct dnp_due_round round = {
		.events = events(),
		.interval_ns = sampler.interval_ns,
		.most_ns = UINT64_MAX,
		.splits = true,
	};

	return dnp_due_look(due, managed, &round);
}

/* Whether it is one of the round, whose place there is `turn`. */
static bool look_closer(struct dnp_due *due, const struct dnp_managed *managed, struct turn *turn)
{
	dnp_frame_word *leaf = sampler.leaf + (turn - sampler.round) * DNP_DUE_LEAF_MAX;

	turn->moved = dnp_due_has_moved(due);
	if (turn->moved)
		dnp_due_look_at_leaf(due, managed, leaf);
	if (events() & 1U << DNP_DUE_WALL)
		dnp_due_split(due, managed, sampler.interval_ns, sampler.index);
	return due->weight[DNP_DUE_CPU] || due->weight[DNP_DUE_WALL];
}

static void look_at_all(void)
{
	uint32_t n = dnp_managed_places();
	struct dnp_managed managed;

	sampler.n_round = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct dnp_due *due = &sampler.due[i];
		struct turn *turn = &sampler.round[sampler.n_round];

		if (!dnp_managed_enter(i, &managed))
			continue;
		turn->place = (uint16_t)i;
		sampler.n_round += look(due, &managed) && look_closer(due, &managed, turn);
		dnp_managed_leave();
	}
}

/* ---- Samples */

/* A stack that the runtime could not walk: the time was spent, but it is not known where. */
SIGSAFE static void not_walked(struct dnp_feed *feed, struct dnp_due *due, HRESULT hr)
{
	for (enum dnp_due_event event = 0; event < DNP_DUE_EVENTS; event++)
		if (due->weight[event])
			dnp_reasons_count(&sampler.reasons[event], hr);
	feed->frames[0] = DNP_FRAME_HOLE;
	due->flags = DNP_SAMPLE_INCOMPLETE;
	due->stop = DNP_STOP_END;
	due->walked_ns = UINT64_MAX;
	dnp_due_store(due, feed, sampler.index, 1, 0);
}

/*
 * Whether a thread goes on running while the runtime is suspended. One that is stopped has still to
 * fall asleep when the runtime says that all stand (coreclr 8), for which it needs a processor: so
 * it is given a moment, and native is what has used more time than that takes. Of one that got no
 * processor meanwhile it is not known.
 */
SIGSAFE static bool runs_on(const struct dnp_due *due, int tid)
{
	struct dnp_thread_state state;

	for (;;) {
		/* sigsafe: nothing here was interrupted, and it takes neither lock nor memory */
		if (dnp_thread_state(tid, &state) || state.asleep)
			return false;
		if (dnp_thread_cpu_ns(tid) - due->stood_cpu_ns >= FALLS_ASLEEP_NS)
			return true;
		if (dnp_now_ns() >= sampler.decided_ns)
			return false;
		/* sigsafe: the same */
		dnp_sleep_until_ns(dnp_now_ns() + LOOK_AGAIN_NS);
	}
}

/*
 * Whether a thread is in native code while the runtime is suspended, and the frames of that which
 * are known, put where its stack is to begin. A thread that still sleeps as it did before is; one
 * that runs on is, since all others stand still. Of one that has fallen asleep since it is not
 * known: that may be the runtime's stop.
 */
SIGSAFE static bool is_native(
	const struct dnp_due *due, int tid, const dnp_frame_word *leaf, struct dnp_mixed *mixed)
{
	if (!due->asleep || dnp_thread_cpu_ns(tid) != due->leaf_cpu_ns)
		return runs_on(due, tid);
	if (!sampler.native || !due->n_leaf || due->n_leaf > mixed->max)
		return true;
	memcpy(mixed->frames, leaf, due->n_leaf * sizeof(leaf[0]));
	mixed->frames += due->n_leaf;
	mixed->max -= due->n_leaf;
	return false;
}

/*
 * One thread, while the runtime is suspended. A thread of the runtime's that runs none of its code
 * now (E_FAIL) is a run of native frames.
 */
SIGSAFE static void walk(
	struct dnp_due *due, const struct dnp_managed *managed, const dnp_frame_word *leaf)
{
	struct dnp_feed *feed = &managed->thread->outside;
	uint64_t begin_ns = dnp_now_ns();
	struct dnp_dss_place place = {.stack = managed->thread->stack};
	struct dnp_mixed mixed = {
		.frames = feed->frames,
		.registers = sampler.registers,
		.max = sampler.dss.max,
	};
	HRESULT hr;

	if (is_stopping()) /* what is due is told as not seen, and nobody stands for longer */
		return;
	begin_call();
	hr = dnp_dss_walk(
		sampler.info, managed->id, COR_PRF_SNAPSHOT_REGISTER_CONTEXT, NULL, &sampler.dss);
	if (!end_call())
		return;
	if (FAILED(hr) && hr != E_FAIL && !sampler.dss.full) {
		not_walked(feed, due, hr);
		return;
	}
	if (hr == E_FAIL)
		sampler.dss.n = 0;
	place.native = is_native(due, managed->thread->tid, leaf, &mixed);
	if (!sampler.dss.n && mixed.frames == feed->frames)
		place.native = true;
	dnp_dss_fill(
		&sampler.dss, sampler.native ? DNP_NATIVE_ALL : DNP_NATIVE_NONE, &place, &mixed);
	due->walked_ns = due->cpu_ns;
	due->flags = 0;
	due->stop = mixed.stop;
	dnp_due_store(due, feed, sampler.index, (uint32_t)(mixed.frames + mixed.n - feed->frames),
		dnp_now_ns() - begin_ns);
}

typedef void (*sample_fn)(
	struct dnp_due *due, const struct dnp_managed *managed, const dnp_frame_word *leaf);

SIGSAFE static void each_of_round(bool moved, sample_fn sample)
{
	for (uint32_t i = 0; i < sampler.n_round && !is_given_up(); i++) {
		const struct turn *turn = &sampler.round[i];
		struct dnp_due *due = &sampler.due[turn->place];
		struct dnp_managed managed;

		if (turn->moved != moved || !dnp_managed_enter(turn->place, &managed))
			continue;
		if (managed.serial == due->serial)
			/* sigsafe: one of those in this file */
			sample(due, &managed, sampler.leaf + (size_t)i * DNP_DUE_LEAF_MAX);
		dnp_managed_leave();
	}
}

SIGSAFE static void repeat(
	struct dnp_due *due, const struct dnp_managed *managed, const dnp_frame_word *leaf)
{
	struct dnp_feed *feed = &managed->thread->outside;

	(void)leaf;
	memcpy(feed->frames, feed->before, feed->n_before * sizeof(feed->frames[0]));
	dnp_due_store(due, feed, sampler.index, feed->n_before, 0);
}

/* Samples that are due, but nobody could or can ask where the thread was. */
SIGSAFE static void not_seen(
	struct dnp_due *due, const struct dnp_managed *managed, const dnp_frame_word *leaf)
{
	struct dnp_feed *feed = &managed->thread->outside;

	(void)leaf;
	feed->frames[0] = (dnp_frame_word)DNP_WALK_NOT_YET << DNP_FRAME_SHIFT | DNP_FRAME_EXACT;
	due->flags = 0;
	due->stop = DNP_STOP_END;
	dnp_due_store(due, feed, sampler.index, 1, 0);
}

/* Nobody will look at it again. Whether there was something that has not been told of. */
static bool tell_rest(struct dnp_due *due, const struct dnp_managed *managed)
{
	bool wall = events() & 1U << DNP_DUE_WALL, there = look(due, managed), any;

	if (due->serial != managed->serial)
		return false;
	if (wall)
		dnp_due_split_end(due, managed, sampler.interval_ns, sampler.index, there);
	any = due->weight[DNP_DUE_CPU] || due->weight[DNP_DUE_WALL];
	not_seen(due, managed, NULL);
	if (wall)
		dnp_due_split_slept(due, sampler.interval_ns);
	not_seen(due, managed, NULL);
	return any;
}

static void tell_rest_of_all(void)
{
	uint32_t n = dnp_managed_places();
	struct dnp_managed managed;

	for (uint32_t i = 0; i < n; i++)
		if (dnp_managed_enter(i, &managed)) {
			tell_rest(&sampler.due[i], &managed);
			dnp_managed_leave();
		}
}

/* ---- Suspension */

/* Rule 1. Whether the runtime has answered a walk by this thread. */
static bool get_ready(void)
{
	struct dnp_managed managed;

	for (uint32_t i = 0; i < sampler.n_round && !sampler.ready && !is_given_up(); i++) {
		HRESULT hr;

		if (!dnp_managed_enter(sampler.round[i].place, &managed))
			continue;
		dnp_forks_hold();
		begin_call();
		hr = dnp_dss_walk(
			sampler.info, managed.id, COR_PRF_SNAPSHOT_DEFAULT, NULL, &sampler.dss);
		end_call();
		dnp_forks_release();
		dnp_managed_leave();
		sampler.ready = hr == E_NOTIMPL || sampler.dss.n;
	}
	return sampler.ready;
}

/*
 * Asks for a suspension, again while another one is going on (a collection, for most): but not
 * longer than a bit. What is due then is due in the next round.
 */
static bool suspend(void)
{
	uint64_t give_up_ns = dnp_now_ns() +
		(sampler.interval_ns / 2 < RETRY_SPAN_NS ? sampler.interval_ns / 2 : RETRY_SPAN_NS);
	uint64_t pause_ns = RETRY_FIRST_NS;
	HRESULT hr;

	assert(sampler.ready);
	while (!is_stopping()) {
		dnp_forks_hold();
		begin_call();
		hr = dnp_com(sampler.info->com, SuspendRuntime);
		end_call();
		if (SUCCEEDED(hr))
			return true;
		dnp_forks_release();
		count_for_all(hr);
		if (hr != CORPROF_E_SUSPENSION_IN_PROGRESS || dnp_now_ns() >= give_up_ns)
			return false;
		dnp_sleep_until_ns(dnp_now_ns() + pause_ns);
		pause_ns = pause_ns * 2 < RETRY_MOST_NS ? pause_ns * 2 : RETRY_MOST_NS;
	}
	return false;
}

static void resume(void)
{
	HRESULT hr;

	begin_call();
	hr = dnp_com(sampler.info->com, ResumeRuntime);
	end_call();
	dnp_forks_release();
	if (FAILED(hr))
		count_for_all(hr);
}

static bool anyone_moved(void)
{
	for (uint32_t i = 0; i < sampler.n_round; i++)
		if (sampler.round[i].moved)
			return true;
	return false;
}

SIGSAFE static void stands(
	struct dnp_due *due, const struct dnp_managed *managed, const dnp_frame_word *leaf)
{
	(void)leaf;
	due->stood_cpu_ns = dnp_thread_cpu_ns(managed->thread->tid);
}

static void sample_all(void)
{
	uint64_t part_ns = sampler.interval_ns / DECIDED_PART;

	each_of_round(false, repeat);
	if (anyone_moved() && suspend()) {
		sampler.decided_ns = dnp_now_ns() + (part_ns < DECIDED_NS ? part_ns : DECIDED_NS);
		each_of_round(true, stands);
		each_of_round(true, walk);
		resume();
	}
}

/* ---- The thread */

/* Sleeps until then, or until it is to stop. */
static void rest_until(uint64_t deadline_ns)
{
	uint64_t now_ns = dnp_now_ns();
	uint64_t ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;

	if (ns)
		dnp_word_wait(&sampler.stop, 0, ns);
}

static void *run(void *context)
{
	uint64_t due_ns = dnp_now_ns() + sampler.interval_ns;

	(void)context;
	dnp_thread_set_name("dnprof-snap");
	while (!is_stopping()) {
		uint64_t now_ns = dnp_now_ns();

		if (now_ns < due_ns) {
			rest_until(due_ns);
			continue;
		}
		due_ns += (1 + (now_ns - due_ns) / sampler.interval_ns) * sampler.interval_ns;
		atomic_store(&sampler.since_ns, dnp_now_ns());
		look_at_all();
		if (sampler.ready || get_ready())
			sample_all();
		else
			each_of_round(true, not_seen);
		atomic_store(&sampler.since_ns, UINT64_MAX);
	}
	if (!is_given_up())
		tell_rest_of_all();
	atomic_store_explicit(&sampler.stopped, 1, memory_order_release);
	dnp_word_wake(&sampler.stopped);
	return NULL;
}

/* ---- The engines */

static int get_memory(size_t depth)
{
	size_t frames = depth * sizeof(sampler.dss.frames[0]);
	size_t registers = depth * sizeof(sampler.registers[0]);
	size_t due = DNP_THREADS_MAX * sizeof(sampler.due[0]);
	size_t leaf = DNP_THREADS_MAX * DNP_DUE_LEAF_MAX * sizeof(sampler.leaf[0]);
	size_t round = DNP_THREADS_MAX * sizeof(sampler.round[0]);
	char *memory;

	sampler.bytes = frames + registers + due + leaf + round;
	memory = dnp_mem_map(sampler.bytes);
	if (!memory)
		return -ENOMEM;
	sampler.dss.frames = (struct dnp_dss_frame *)(void *)memory;
	sampler.registers = (struct dnp_regs *)(void *)(memory + frames);
	sampler.due = (struct dnp_due *)(void *)(memory + frames + registers);
	sampler.leaf = (dnp_frame_word *)(void *)(memory + frames + registers + due);
	sampler.round = (struct turn *)(void *)(memory + frames + registers + due + leaf);
	sampler.dss.max = depth;
	return 0;
}

/* None of them is ours. */
static SIGSAFE int pass_on(const struct dnp_signal_info *info, void *context)
{
	(void)info;
	(void)context;
	return 0;
}

/* The thread has ended, or is about to: its memory goes. */
static void end_sampler(void)
{
	dnp_own_thread_join(&sampler.thread);
	atomic_store(&sampler.state, AT_WORK);
	pthread_mutex_lock(&end_lock);
	dnp_mem_unmap(sampler.dss.frames, sampler.bytes);
	sampler.dss.frames = NULL;
	pthread_mutex_unlock(&end_lock);
	dnp_managed_forget();
}

static void begin_afresh(void)
{
	memset(sampler.reasons, 0, sizeof(sampler.reasons));
	sampler.ready = false;
	sampler.n_round = 0;
	atomic_store(&sampler.events, 0);
	atomic_store(&sampler.stopped, 0);
	atomic_store(&sampler.stop, 0);
	dnp_managed_watch();
}

static int start_thread(const struct dnp_engine_setting *setting)
{
	int failed = get_memory(setting->options->depth);

	if (failed)
		return failed;
	begin_afresh();
	failed = dnp_own_thread_start(&sampler.thread, run, NULL);
	if (failed) {
		atomic_store(&sampler.stop, 1);
		end_sampler();
	}
	return failed;
}

static int start_sampler(const struct dnp_engine_setting *setting, struct dnp_err *err)
{
	int failed;

	if (is_given_up() && !atomic_load_explicit(&sampler.stopped, memory_order_acquire))
		return dnp_err(err, -EBUSY,
			"the runtime still keeps the thread that took snapshots before; use "
			"--engine signal");
	if (is_given_up())
		end_sampler();

	if (!dnp_info_has(setting->info, SuspendRuntime))
		return dnp_err(err, -ENOTSUP,
			"this runtime cannot be suspended by a profiler; use --engine signal");
	sampler.info = setting->info;
	sampler.interval_ns = setting->options->interval_ns;
	sampler.native = setting->options->native;
	failed = start_thread(setting);
	if (failed)
		return dnp_err(err, failed, "the thread that takes snapshots cannot be started: %s",
			strerror(-failed));
	/* Where that is not possible, it is as in a collection: such a call may fail. */
	dnp_signal_share(pass_on, &(struct dnp_err){0});
	return 0;
}

static int start(enum dnp_due_event event, const struct dnp_engine_setting *setting, unsigned index,
	struct dnp_err *err)
{
	int failed = sampler.thread.running && !is_stopping() ? 0 : start_sampler(setting, err);

	if (failed)
		return failed;
	sampler.index[event] = index;
	atomic_fetch_or_explicit(&sampler.events, 1U << event, memory_order_release);
	return 0;
}

static int cpu_start(const struct dnp_engine_setting *setting, unsigned index, struct dnp_err *err)
{
	return start(DNP_DUE_CPU, setting, index, err);
}

static int wall_start(const struct dnp_engine_setting *setting, unsigned index, struct dnp_err *err)
{
	return start(DNP_DUE_WALL, setting, index, err);
}

static const char *snapshot_source(void)
{
	return "runtime suspension";
}

static const char *snapshot_note(void)
{
	return "safepoint-biased: managed code is seen where the runtime can stop it, not where "
	       "its time goes; threads that never ran managed code are not seen";
}

static uint64_t walking_since(void)
{
	return atomic_load(&sampler.since_ns);
}

/*
 * The sampler ends its round, which lasts as long as the runtime takes to be suspended. If that
 * were for ever, it is given up while it is in there: it resumes what it has suspended, and looks
 * at nothing, since the records of threads are others' by then. What it does besides lasts no
 * longer than a processor takes for it, and is waited for.
 */
static void snapshot_stop(void)
{
	if (!sampler.thread.running || is_given_up())
		return;
	pthread_mutex_lock(&end_lock);
	atomic_store_explicit(&sampler.stop, 1, memory_order_release);
	pthread_mutex_unlock(&end_lock);
	dnp_word_wake(&sampler.stop);
	while (!dnp_word_wait_change(&sampler.stopped, 0, STOP_PATIENCE_NS) && !give_up())
		;
	dnp_signal_unshare(pass_on);
	if (is_given_up())
		dnp_managed_forget();
	else
		end_sampler();
}

static void cpu_failures(unsigned index, dnp_failure_tell tell)
{
	dnp_reasons_tell(&sampler.reasons[DNP_DUE_CPU], index, tell);
}

static void wall_failures(unsigned index, dnp_failure_tell tell)
{
	dnp_reasons_tell(&sampler.reasons[DNP_DUE_WALL], index, tell);
}

/*
 * On the thread that ends, or after it has: what it still owes was never seen. The lock is held
 * against stop only, which frees what is read here.
 */
static void see_last(uint32_t place, const struct dnp_managed *managed)
{
	struct dnp_due *due = &sampler.due[place];

	pthread_mutex_lock(&end_lock);
	if (!is_stopping() && tell_rest(due, managed))
		for (enum dnp_due_event event = 0; event < DNP_DUE_EVENTS; event++)
			if (events() & 1U << event)
				dnp_reasons_count(&sampler.reasons[event],
					CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD);
	pthread_mutex_unlock(&end_lock);
}

static void managed_end(uintptr_t id, int tid)
{
	(void)tid;
	dnp_managed_remove(id, see_last);
}

static void thread_end(struct dnp_thread *thread)
{
	dnp_managed_gone(thread, 0, see_last);
}

#define SNAPSHOT_ENGINE(name, begin, tell)                                                         \
	{                                                                                          \
		.event = (name), .choice = DNP_ENGINE_SNAPSHOT, .walks = true,                     \
		.events_low = COR_PRF_ENABLE_STACK_SNAPSHOT, .start = (begin),                     \
		.source = snapshot_source, .note = snapshot_note, .thread_end = thread_end,        \
		.needs_managed = true, .managed_begin = dnp_managed_add,                           \
		.managed_end = managed_end, .walking_since = walking_since, .stop = snapshot_stop, \
		.failures = (tell),                                                                \
	}

const struct dnp_engine dnp_engine_snapshot_cpu = SNAPSHOT_ENGINE("cpu", cpu_start, cpu_failures);
const struct dnp_engine dnp_engine_snapshot_wall =
	SNAPSHOT_ENGINE("wall", wall_start, wall_failures);
