/* SPDX-License-Identifier: MIT */
/*
 * Where the kernel tells of no switches: the threads' clocks, looked at again and again. A thread
 * whose clock has moved since the last look has run at some time in between.
 */
#include <string.h>

#include "os/bell.h"
#include "os/clock.h"
#include "timeline/timeline.h"

#define MS          UINT64_C(1000000)
#define LIST_NS     (20 * MS)   /* between looks for threads that are new */
#define NAME_NS     (1000 * MS) /* between askings for a name, at most */
#define BUDGET      50          /* of a processor, one part in so many */
#define INTERVAL_NS (1000 * MS)
#define STEPS       4           /* of a clock that goes by steps are enough to tell a cost by */
#define COST_NS     (3000 * MS) /* or so much time is */

/* The reading of the look before, which has not changed since it was made. */
static void keep_last(dnprof_timeline *timeline, struct dnp_tl_thread *thread,
	const struct dnp_task_clock *clock, uint64_t seen_ns)
{
	struct dnp_task_clock before = thread->checkpoints.p[thread->checkpoints.n - 1];

	if (before.time_ns < seen_ns && before.cpu_ns < clock->cpu_ns) {
		before.time_ns = seen_ns;
		dnp_tl_store_checkpoint(&timeline->store, thread, &before);
	}
}

/*
 * Whether what is counted for it has grown since the last look: a clock that goes by steps need not
 * have moved. What a thread that is not new had before the first look is not known.
 */
static bool has_worked(struct dnp_tl_thread *thread, bool is_new)
{
	uint64_t before = thread->cycles;

	thread->cycles = dnp_task_cycles(thread->pid, thread->tid);
	return thread->cycles != before && (before || is_new);
}

/* Where it ended last; without slices, when its clock moved last. */
static uint64_t ran_until(const struct dnp_tl_thread *thread, const struct dnp_task_clock *last)
{
	size_t n = thread->slices.n;

	return n ? thread->slices.p[n - 1].end_ns : last->time_ns;
}

/*
 * A clock that goes by steps is late by up to one: what it says now may have been used before the
 * last look, that much before it at most, and behind the look at which it moved before.
 */
static uint64_t ran_since(const struct dnp_tl_thread *thread, const struct dnp_task_clock *last,
	uint64_t cpu_ns, uint64_t seen_ns)
{
	uint64_t late_ns = cpu_ns - last->cpu_ns, step_ns = dnp_task_step_ns();
	uint64_t before_ns = ran_until(thread, last);

	if (thread->cycles || !step_ns || before_ns > seen_ns)
		return seen_ns;
	if (late_ns > step_ns)
		late_ns = step_ns;
	return seen_ns - before_ns > late_ns ? seen_ns - late_ns : before_ns;
}

/* Another one, with the id of one that has ended. Its clock was at 0 when the first was seen last.
 */
static struct dnp_tl_thread *replace(
	dnprof_timeline *timeline, const struct dnp_tl_thread *gone, uint64_t seen_ns)
{
	struct dnp_task_clock born = {.time_ns = seen_ns};
	struct dnp_tl_thread *thread =
		dnp_tl_store_add(&timeline->store, gone->pid, gone->tid, dnp_now_ns());

	if (!thread)
		return NULL;
	thread->begin_ns = seen_ns;
	dnp_tl_store_checkpoint(&timeline->store, thread, &born);
	thread->seen_ns = dnp_now_ns();
	return thread;
}

/* Its clock says another time than `last`: what it did since it was seen before. */
static void take_move(dnprof_timeline *timeline, struct dnp_tl_thread *thread, uint64_t seen_ns,
	const struct dnp_task_clock *last)
{
	bool is_new = !seen_ns;
	struct dnp_task_clock clock;
	uint64_t from_ns;

	if (dnp_task_clock(thread->pid, thread->tid, &clock))
		return;
	/* What a thread has read itself may be a part of a step ahead of what others are told. */
	if (last && last->cpu_ns > clock.cpu_ns &&
		last->cpu_ns - clock.cpu_ns <= dnp_task_step_ns())
		return;
	if (last && last->cpu_ns > clock.cpu_ns) {
		thread = replace(timeline, thread, seen_ns);
		if (thread)
			dnp_tl_store_checkpoint(&timeline->store, thread, &clock);
		return;
	}
	if (last) {
		from_ns = is_new ? last->time_ns : ran_since(thread, last, clock.cpu_ns, seen_ns);
		if (!is_new)
			keep_last(timeline, thread, &clock, seen_ns);
		thread->seen_ns = clock.time_ns;
		dnp_tl_store_ran(&timeline->store, thread, from_ns, clock.time_ns);
	}
	dnp_tl_store_checkpoint(&timeline->store, thread, &clock);
}

/* What it got since it was seen last; where the system does not know (Wine), it says less. */
static void take_rest(dnprof_timeline *timeline, struct dnp_tl_thread *thread,
	const struct dnp_task_clock *last, const struct dnp_task_clock *end)
{
	uint64_t seen_ns = thread->seen_ns, from_ns;

	if (end->cpu_ns <= last->cpu_ns || end->time_ns <= last->time_ns || end->time_ns <= seen_ns)
		return;
	from_ns = seen_ns ? ran_since(thread, last, end->cpu_ns, seen_ns) : last->time_ns;
	if (seen_ns)
		keep_last(timeline, thread, end, seen_ns);
	dnp_tl_store_ran(&timeline->store, thread, from_ns, end->time_ns);
	dnp_tl_store_checkpoint(&timeline->store, thread, end);
}

static void take_end(dnprof_timeline *timeline, struct dnp_tl_thread *thread)
{
	size_t n = thread->checkpoints.n;
	uint64_t now_ns = dnp_now_ns();
	struct dnp_task_clock end;

	if (!dnp_task_end(thread->pid, thread->tid, &end) && n) {
		if (end.time_ns > now_ns) /* the clock on the wall was set meanwhile */
			end.time_ns = now_ns;
		take_rest(timeline, thread, &thread->checkpoints.p[n - 1], &end);
	}
	dnp_tl_store_end(&timeline->store, thread, now_ns);
}

/* From the time that it was seen before to that of this look at it, which a busy system can delay.
 */
static void look(dnprof_timeline *timeline, struct dnp_tl_thread *thread)
{
	uint64_t seen_ns = thread->seen_ns, cpu_ns;
	const struct dnp_task_clock *last;
	bool worked;

	if (dnp_task_cpu(thread->pid, thread->tid, &cpu_ns)) {
		take_end(timeline, thread);
		return;
	}
	worked = has_worked(thread, !seen_ns);
	thread->seen_ns = dnp_now_ns();
	last = thread->checkpoints.n ? &thread->checkpoints.p[thread->checkpoints.n - 1] : NULL;
	if (!last || last->cpu_ns != cpu_ns)
		take_move(timeline, thread, seen_ns, last);
	else if (worked)
		dnp_tl_store_ran(&timeline->store, thread, seen_ns ? seen_ns : last->time_ns,
			thread->seen_ns);
}

/* Again and again, the more seldom the older it is: nobody tells that it got one. */
static void ask_name(struct dnp_tl_thread *thread, uint64_t now_ns)
{
	uint64_t age_ns = now_ns - thread->begin_ns;
	char name[16];

	if (thread->named || now_ns < thread->name_ns)
		return;
	dnp_task_name(thread->pid, thread->tid, name);
	if (*name)
		memcpy(thread->name, name, sizeof(name));
	thread->name_ns = now_ns + (age_ns < NAME_NS ? age_ns : NAME_NS);
}

/* After it was looked for the last time, and not before the system says; by its ticks. */
static uint64_t begin_of(const dnprof_timeline *timeline, uint64_t ticks, uint64_t now_ns)
{
	uint64_t begin_ns = dnp_ticks_begin_ns(ticks);

	return begin_ns > timeline->listed_ns && begin_ns <= now_ns ? begin_ns
								    : timeline->listed_ns;
}

/* New ones began since they were looked for the last time, with a clock at 0. */
static int find_new(int tid, void *context)
{
	dnprof_timeline *timeline = context;
	struct dnp_tl_store *store = &timeline->store;
	struct dnp_tl_thread *thread = dnp_tl_store_find(store, tid);
	struct dnp_task_clock born = {0};
	uint64_t now_ns = dnp_now_ns();

	if (thread && thread->state != DNP_TL_ENDED) {
		ask_name(thread, now_ns);
		return 0;
	}
	thread = dnp_tl_store_add(store, store->pid, tid, now_ns);
	if (!thread)
		return 0;
	thread->start_ticks = dnp_task_start_ticks(store->pid, tid);
	thread->begin_ns = born.time_ns = begin_of(timeline, thread->start_ticks, now_ns);
	ask_name(thread, now_ns);
	dnp_tl_store_checkpoint(store, thread, &born);
	return 0;
}

void dnp_tl_poll(dnprof_timeline *timeline)
{
	struct dnp_tl_store *store = &timeline->store;
	uint64_t now = dnp_now_ns();

	if (now <= timeline->told_ns)
		return;
	if (now - timeline->listed_ns >= LIST_NS || timeline->phase == DNP_TL_STOPPING) {
		dnp_tasks_each(store->pid, find_new, timeline);
		timeline->listed_before_ns = timeline->listed_ns;
		timeline->listed_ns = now;
	}
	for (size_t i = 0, n = store->threads.n; i < n; i++)
		if (store->threads.p[i]->state != DNP_TL_ENDED)
			look(timeline, store->threads.p[i]);
	timeline->told_ns = dnp_now_ns();
}

/*
 * What the looks cost: of each one, or of so many that the clock of this thread, where it goes by
 * steps, can tell.
 */
struct cost {
	uint64_t step_ns, begin_ns, cpu_ns;
	unsigned looks; /* since then; 0: it has to begin */
};

/* Of one look; false: it is not known yet. */
static bool count_look(struct cost *cost, uint64_t *look_ns)
{
	uint64_t now_ns = dnp_now_ns(), used_ns = dnp_thread_cpu_ns(0) - cost->cpu_ns;

	cost->looks++;
	if (used_ns < cost->step_ns * STEPS && now_ns - cost->begin_ns < COST_NS)
		return false;
	*look_ns = used_ns / cost->looks;
	cost->looks = 0;
	return true;
}

static void begin_looks(struct cost *cost)
{
	cost->begin_ns = dnp_now_ns();
	cost->cpu_ns = dnp_thread_cpu_ns(0);
}

static void set_pace(dnprof_timeline *timeline, const struct cost *cost, uint64_t look_ns)
{
	uint64_t wanted_ns = timeline->options.interval_us * UINT64_C(1000);
	uint64_t least_ns = look_ns * BUDGET;

	/* Slowly, so that one slow look does not count for many. */
	timeline->interval_ns =
		cost->step_ns ? least_ns : (timeline->interval_ns * 7 + least_ns) / 8;
	if (timeline->interval_ns < wanted_ns)
		timeline->interval_ns = wanted_ns;
	if (timeline->interval_ns > INTERVAL_NS)
		timeline->interval_ns = INTERVAL_NS;
}

void *dnp_tl_run_poller(void *context)
{
	dnprof_timeline *timeline = context;
	struct cost cost = {.step_ns = dnp_task_step_ns()};

	dnp_thread_hurry();
	while (!atomic_load(&timeline->end)) {
		uint64_t begin = dnp_now_ns(), look_ns;

		if (!cost.looks)
			begin_looks(&cost);
		pthread_mutex_lock(&timeline->lock);
		dnp_tl_take_in(timeline);
		if (count_look(&cost, &look_ns))
			set_pace(timeline, &cost, look_ns);
		begin += timeline->interval_ns;
		pthread_mutex_unlock(&timeline->lock);
		dnp_bell_wait(timeline->bell, begin);
	}
	return NULL;
}
