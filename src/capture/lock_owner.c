/* SPDX-License-Identifier: MIT */
/*
 * Who had the locks that others waited for, and where he was meanwhile: a thread of ours looks at
 * the owner of a lock once, when somebody has waited for it so long that the wait is recorded, and
 * still waits. Only what was so for certain is kept: if the wait is over when the stack is there,
 * or the lock has changed hands, it is thrown away.
 *
 * An owner that sleeps is read from outside and does not notice; one that runs is stopped for the
 * moment that a walk takes (unwind/target.h).
 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clean.h"
#include "base/vec.h"
#include "capture/budget.h"
#include "capture/engine.h"
#include "capture/lock.h"
#include "capture/lock_waits.h"
#include "capture/outside.h"
#include "os/clock.h"
#include "os/mem.h"
#include "os/stop.h"
#include "os/thread.h"
#include "os/watch.h"
#include "os/word.h"
#include "store/labels.h"
#include "store/ring.h"

#define SECOND_NS  UINT64_C(1000000000)
#define CPU_SHARE  200 /* what its looks may take: one part in so many of a processor */
#define TRIES      4   /* to read a stack that moves meanwhile */
#define RING_WORDS ((size_t)32768)
#define HEAD_WORDS 6

static const char *const missed_names[DNP_LOCK_MISSED] = {
	[DNP_LOCK_NOT_TOLD] = "owner not told by the runtime",
	[DNP_LOCK_MANY] = "too many waits at once",
	[DNP_LOCK_BEFORE] = "wait began before the recording",
	[DNP_LOCK_SHORT] = "over before the owner was seen",
	[DNP_LOCK_GONE] = "owner not known",
	[DNP_LOCK_MOVED] = "owner moved while it was read",
	[DNP_LOCK_NO_STACK] = "owner's stack not readable",
	[DNP_LOCK_NO_ROOM] = "no room for its stack",
};

/* The stack of an owner on its way to the recorder; its frames follow. */
struct seen {
	uint64_t number; /* of the wait */
	uint64_t time_ns, walk_ns;
	uint32_t thread, label;
	int32_t tid;
	uint32_t n;
	uint32_t stop; /* enum dnp_walk_stop */
	uint32_t asleep;
};

_Static_assert(sizeof(struct seen) == HEAD_WORDS * sizeof(uint64_t), "it is a ring's words");

/* The same in the recording. */
struct held {
	uint64_t number;
	uint32_t thread, node;
	unsigned flags; /* of samples */
};

static struct {
	const struct dnp_engine_setting *setting;
	unsigned event;
	uint64_t least_ns;
	struct dnp_own_thread thread;
	_Atomic bool stopping;
	_Atomic uint32_t rung;      /* our thread sleeps on it; how often it was asked to look */
	_Atomic uint64_t asleep_ns; /* … until then, 0: it is not to be woken */
	_Atomic uint64_t walking_since;
	_Atomic uint64_t missed[DNP_LOCK_MISSED];
	_Atomic uint64_t cpu_ns;             /* used by our thread */
	uint64_t told_ns, told;              /* when stats were last written; samples so far */
	struct dnp_ring ring;                /* from our thread to the recorder */
	uint64_t *words;                     /* owned: the ring's; NULL: nothing is recorded */
	dnp_frame_word *frames;              /* owned: a stack as it is read */
	dnp_frame_word *taken;               /* owned: one as it is taken out, with its label */
	struct dnp_vec_of(struct held) held; /* the recorder's: of waits that go on */
	struct dnp_vec_of(struct dnp_lock_wait) over; /* … that are over */
} owner = {.walking_since = UINT64_MAX};

void dnp_lock_owner_missed(enum dnp_lock_missed why)
{
	atomic_fetch_add_explicit(&owner.missed[why], 1, memory_order_relaxed);
}

/* ---- Who waits calls our thread */

static void ring(void)
{
	atomic_fetch_add(&owner.rung, 1);
	dnp_word_wake(&owner.rung);
}

/*
 * Sequentially consistent with rest: either our thread sees that it was rung for before it sleeps,
 * or we see how long it sleeps.
 */
void dnp_lock_owner_await(uint64_t since_ns)
{
	atomic_fetch_add(&owner.rung, 1);
	if (atomic_load(&owner.asleep_ns) > since_ns + owner.least_ns)
		ring();
}

/* ---- Our thread: looks at owners */

static void put(const struct seen *seen, const struct dnp_lock_wait *wait)
{
	uint64_t head[HEAD_WORDS], at;

	if (!dnp_ring_reserve(&owner.ring, HEAD_WORDS + seen->n, &at)) {
		dnp_lock_owner_missed(DNP_LOCK_NO_ROOM);
		return;
	}
	if (!dnp_lock_waits_saw(wait)) {
		dnp_lock_owner_missed(DNP_LOCK_SHORT);
		return;
	}
	memcpy(head, seen, sizeof(head));
	dnp_ring_write(&owner.ring, at, head, HEAD_WORDS);
	dnp_ring_write(&owner.ring, at + HEAD_WORDS, owner.frames, seen->n);
	dnp_ring_commit(&owner.ring, at + HEAD_WORDS + seen->n);
	if (dnp_ring_is_filling(&owner.ring))
		dnp_watch_call();
}

static enum dnp_lock_missed why_not(int result)
{
	switch (result) {
	case -ESRCH: return DNP_LOCK_GONE;
	case -EFAULT: return DNP_LOCK_NO_STACK;
	default: return DNP_LOCK_MOVED;
	}
}

static void read_stack(const struct dnp_lock_wait *wait)
{
	struct dnp_thread *thread = dnp_thread_find(wait->owner);
	struct dnp_target_stack stack;
	uint64_t walk_ns;
	int result = thread ? -EAGAIN : -ESRCH;

	for (int i = 0; i < TRIES && result == -EAGAIN; i++)
		result = dnp_outside_walk(thread, DNP_TARGET_ASLEEP | DNP_TARGET_STOP, owner.frames,
			&stack, &walk_ns);
	if (result) {
		dnp_lock_owner_missed(why_not(result));
		return;
	}
	put(
		&(struct seen){
			.number = wait->number,
			.time_ns = dnp_now_ns(),
			.walk_ns = walk_ns,
			.thread = thread->index,
			.label = wait->label,
			.tid = wait->owner,
			.n = (uint32_t)stack.n,
			.stop = (uint32_t)stack.stop,
			.asleep = stack.asleep,
		},
		wait);
	if (stack.stop == DNP_STOP_UNKNOWN || stack.stop == DNP_STOP_NO_RULE)
		dnp_watch_call(); /* code that is new may be known then */
}

static void look(const struct dnp_lock_wait *wait)
{
	if (!wait->owner || wait->owner == wait->tid) {
		dnp_lock_owner_missed(DNP_LOCK_NOT_TOLD);
		return;
	}
	atomic_store(&owner.walking_since, dnp_now_ns());
	read_stack(wait);
	atomic_store(&owner.walking_since, UINT64_MAX);
}

/* When a wait is long enough, but not before our thread may use a processor again. */
static uint64_t next_look_ns(uint64_t paid_ns)
{
	uint64_t since_ns = dnp_lock_waits_first();

	if (since_ns == UINT64_MAX)
		return dnp_now_ns() < paid_ns ? paid_ns : UINT64_MAX;
	return since_ns + owner.least_ns > paid_ns ? since_ns + owner.least_ns : paid_ns;
}

static void rest(uint64_t paid_ns)
{
	uint32_t rung = atomic_load(&owner.rung);
	uint64_t until_ns = next_look_ns(paid_ns), now_ns = dnp_now_ns();
	uint64_t ns = until_ns > now_ns ? until_ns - now_ns : 0;

	/* Who wakes it before it has rested brings no look forward, but more to rest for. */
	atomic_store(&owner.asleep_ns, until_ns > paid_ns ? until_ns : 0);
	if (ns && !atomic_load(&owner.stopping))
		dnp_word_wait(&owner.rung, rung, ns);
	atomic_store(&owner.asleep_ns, 0);
}

static void *look_on(void *context)
{
	struct dnp_lock_wait wait;
	struct dnp_budget budget;

	(void)context;
	dnp_thread_set_name("dnprof-lock");
	dnp_budget_begin(&budget, CPU_SHARE);
	while (!atomic_load(&owner.stopping)) {
		uint64_t paid_ns = budget.time_ns + dnp_budget_debt_ns(&budget);

		rest(paid_ns);
		if (dnp_now_ns() >= paid_ns &&
			dnp_lock_waits_next(dnp_now_ns() - owner.least_ns, &wait))
			look(&wait);
		dnp_budget_reckon(&budget);
		atomic_store_explicit(&owner.cpu_ns, budget.cpu_ns, memory_order_relaxed);
	}
	return NULL;
}

/* ---- Memory */

static size_t stack_bytes(void)
{
	return (dnp_threads_depth() + 1) * sizeof(dnp_frame_word);
}

static void free_memory(void)
{
	if (owner.words)
		dnp_mem_unmap(owner.words, RING_WORDS * sizeof(uint64_t));
	if (owner.frames)
		dnp_mem_unmap(owner.frames, stack_bytes());
	if (owner.taken)
		dnp_mem_unmap(owner.taken, stack_bytes());
	dnp_vec_done(&owner.held);
	dnp_vec_done(&owner.over);
	owner.words = NULL;
	owner.frames = owner.taken = NULL;
}

static int get_memory(void)
{
	owner.words = dnp_mem_map(RING_WORDS * sizeof(uint64_t));
	owner.frames = dnp_mem_map(stack_bytes());
	owner.taken = dnp_mem_map(stack_bytes());
	if (!owner.words || !owner.frames || !owner.taken)
		return -ENOMEM;
	dnp_ring_init(&owner.ring, owner.words, RING_WORDS);
	return 0;
}

/* ---- The recorder */

static void take(const struct seen *seen)
{
	struct dnp_thread *thread = dnp_thread_find(seen->tid);
	unsigned flags = dnp_walk_flags((enum dnp_walk_stop)seen->stop);
	struct dnp_walked_node walked;

	if (thread && thread->index == seen->thread)
		owner.setting->announce(thread);
	owner.taken[0] = dnp_label_frame(seen->label);
	walked = owner.setting->walked(owner.event,
		&(struct dnp_walked){
			.frames = owner.taken,
			.n = seen->n + 1,
			.stop = (enum dnp_walk_stop)seen->stop,
			.time_ns = seen->time_ns,
			.walk_ns = seen->walk_ns,
		});
	if (seen->asleep)
		flags |= DNP_SAMPLE_WAITING;
	if (dnp_vec_push(
		    &owner.held, ((struct held){seen->number, seen->thread, walked.node, flags})))
		dnp_lock_owner_missed(DNP_LOCK_NO_ROOM);
}

static void take_seen(void)
{
	uint64_t at, end;

	end = dnp_ring_readable(&owner.ring, &at);
	end += at;
	while (at < end) {
		uint64_t head[HEAD_WORDS];
		struct seen seen;

		dnp_ring_read(&owner.ring, at, head, HEAD_WORDS);
		memcpy(&seen, head, sizeof(seen));
		dnp_ring_read(&owner.ring, at + HEAD_WORDS, owner.taken + 1, seen.n);
		at += HEAD_WORDS + seen.n;
		take(&seen);
		dnp_ring_release(&owner.ring, at);
	}
}

static void take_over(void)
{
	struct dnp_lock_wait wait;

	while (dnp_lock_waits_take(&wait))
		if (dnp_vec_push(&owner.over, wait))
			dnp_lock_owner_missed(DNP_LOCK_NO_ROOM);
}

/* False: its stack is still on its way. */
static bool tell_wait(struct dnp_writer *writer, const struct dnp_lock_wait *wait)
{
	for (size_t i = 0; i < owner.held.n; i++) {
		struct held held = owner.held.p[i];

		if (held.number != wait->number)
			continue;
		owner.held.p[i] = owner.held.p[--owner.held.n];
		/* By the runtime's clock it may be shorter than by ours: it is no sample of lock.
		 */
		if (!wait->ns || wait->ns < owner.least_ns)
			return true;
		owner.told++;
		dnp_write_sample_at(writer, wait->until_ns,
			&(struct dnp_rec_sample){
				.event = owner.event,
				.thread = held.thread,
				.node = held.node,
				.weight = wait->ns,
				.flags = held.flags,
				.value = wait->lock,
			});
		return true;
	}
	return false;
}

static void write_stats(struct dnp_writer *writer, int last)
{
	uint64_t now_ns = dnp_now_ns();

	if (!last && now_ns - owner.told_ns < SECOND_NS)
		return;
	owner.told_ns = now_ns;
	dnp_write_wait_stats(writer,
		&(struct dnp_rec_wait_stats){
			.event = owner.event,
			.time_ns = now_ns,
			.least_ns = owner.least_ns,
			.waits = dnp_lock_kept(),
			.seen = owner.told,
			.cpu_ns = atomic_load_explicit(&owner.cpu_ns, memory_order_relaxed),
		});
}

/* What is over first: then its stack is in the ring, or is just being put there. */
static void owner_write(struct dnp_writer *writer, int last)
{
	size_t left = 0;

	take_over();
	take_seen();
	for (size_t i = 0; i < owner.over.n; i++)
		if (!tell_wait(writer, &owner.over.p[i]))
			owner.over.p[left++] = owner.over.p[i];
	owner.over.n = left;
	write_stats(writer, last);
}

static void owner_hurry(void)
{
	owner.told_ns = 0;
}

/* ---- The engine */

static int start_thread(struct dnp_err *err)
{
	int failed = get_memory();

	if (failed)
		return dnp_err(err, failed, "no memory for the stacks of owners of locks");
	failed = dnp_own_thread_start(&owner.thread, look_on, NULL);
	return failed ? dnp_err(err, failed, "the profiler's thread cannot be started: %s",
				strerror(-failed))
		      : 0;
}

static int owner_start(
	const struct dnp_engine_setting *setting, unsigned index, struct dnp_err *err)
{
	int failed = dnp_stop_open(err);

	if (failed)
		return failed;
	owner.setting = setting;
	owner.event = index;
	owner.least_ns = setting->options->lock_ns;
	owner.told_ns = owner.told = 0;
	for (unsigned i = 0; i < DNP_LOCK_MISSED; i++)
		atomic_store(&owner.missed[i], 0);
	atomic_store(&owner.asleep_ns, 0);
	atomic_store(&owner.cpu_ns, 0);
	atomic_store(&owner.stopping, false);
	failed = start_thread(err);
	if (failed) {
		free_memory();
		dnp_stop_close();
	}
	return failed;
}

static void owner_stop(void)
{
	atomic_store(&owner.stopping, true);
	ring();
	dnp_own_thread_join(&owner.thread);
	dnp_stop_close();
}

static const char *owner_source(void)
{
	return "stacks of threads that have what others wait for";
}

static const char *owner_note(void)
{
	return "looking at them uses half a percent of a processor at most";
}

static uint64_t owner_walking_since(void)
{
	return atomic_load(&owner.walking_since);
}

static void owner_failures(unsigned index, dnp_failure_tell tell_one)
{
	for (unsigned i = 0; i < DNP_LOCK_MISSED; i++)
		tell_one(index, missed_names[i],
			atomic_load_explicit(&owner.missed[i], memory_order_relaxed));
}

const struct dnp_engine dnp_engine_lock_owner = {
	.event = "lock-owner",
	.unit = "ns",
	.walks = true,
	.happens = true,
	.start = owner_start,
	.source = owner_source,
	.note = owner_note,
	.walking_since = owner_walking_since,
	.stop = owner_stop,
	.forget = free_memory,
	.write = owner_write,
	.writes_seldom = true,
	.hurry = owner_hurry,
	.failures = owner_failures,
};
