/* SPDX-License-Identifier: MIT */
#include "timeline/timeline.h"

#include <string.h>

#include "os/bell.h"
#include "os/clock.h"
#include "os/process.h"

#define MS            UINT64_C(1000000)
#define TURN_NS       (100 * MS)  /* between rounds of the recorder */
#define CHECKPOINT_NS (1000 * MS) /* between its readings of all clocks */
#define END_NS        (20 * MS)   /* between looks for the process's end */

static void take_switch(const struct dnp_switch *it, void *context)
{
	dnprof_timeline *timeline = context;

	dnp_tl_store_switch(&timeline->store, it);
}

static void ask_name(struct dnp_tl_thread *thread)
{
	char name[16];

	if (*thread->name)
		return;
	dnp_task_name(thread->pid, thread->tid, name);
	memcpy(thread->name, name, sizeof(name));
}

/* A time before a thread began that was not listed and has read its clock then. */
static uint64_t before_birth(const dnprof_timeline *timeline, uint64_t read_ns)
{
	return read_ns > timeline->listed_ns ? timeline->listed_ns : timeline->listed_before_ns;
}

struct dnp_tl_thread *dnp_tl_add_unlisted(dnprof_timeline *timeline, int tid, uint64_t now_ns)
{
	struct dnp_tl_store *store = &timeline->store;
	struct dnp_tl_thread *thread = dnp_tl_store_add(store, store->pid, tid, now_ns);
	struct dnp_task_clock born = {.time_ns = before_birth(timeline, now_ns)};

	if (!thread)
		return NULL;
	ask_name(thread);
	if (timeline->switches) {
		thread->seen_ns = now_ns;
	} else { /* nobody will tell: it is not among those that were listed */
		thread->begin_ns = born.time_ns;
		dnp_tl_store_checkpoint(store, thread, &born);
	}
	return thread;
}

/* It may be so new that its beginning has not been told yet. */
static struct dnp_tl_thread *meet_reader(dnprof_timeline *timeline, const struct dnp_tl_note *note)
{
	struct dnp_tl_thread *thread = dnp_tl_store_find(&timeline->store, (int)note->tid);

	if (thread && (thread->state != DNP_TL_ENDED || thread->end_ns >= note->time_ns))
		return thread;
	return dnp_tl_add_unlisted(timeline, (int)note->tid, note->time_ns);
}

static void take_note(const struct dnp_tl_note *note, void *context)
{
	dnprof_timeline *timeline = context;
	struct dnp_tl_thread *thread;

	if (!note->is_reading) {
		dnp_tl_store_mark(&timeline->store, note->time_ns, (int)note->tid, note->text);
		return;
	}
	thread = meet_reader(timeline, note);
	if (thread)
		dnp_tl_store_reading(&timeline->store, thread, note->time_ns, note->cpu_ns);
}

/* ---- All threads that there are */

static struct dnp_tl_thread *meet(dnprof_timeline *timeline, int tid, uint64_t now_ns)
{
	struct dnp_tl_store *store = &timeline->store;
	struct dnp_tl_thread *thread = dnp_tl_store_find(store, tid);

	if (!thread)
		return dnp_tl_store_add(store, store->pid, tid, now_ns);
	if (thread->state == DNP_TL_ENDED) /* it can be listed still */
		return NULL;
	if (thread->unsure && thread->start_ticks &&
		thread->start_ticks != dnp_task_start_ticks(thread->pid, tid))
		thread = dnp_tl_store_part(store, thread);
	if (thread)
		thread->unsure = false;
	return thread;
}

/* What the system knows of it: once, and as long as no switch is known. */
static void ask(struct dnp_tl_thread *thread)
{
	struct dnp_task task;

	if (dnp_task_ask(thread->pid, thread->tid, &task))
		return;
	thread->ready = task.ready;
	thread->start_ticks = task.start_ticks;
	if (!*thread->name)
		memcpy(thread->name, task.name, sizeof(task.name));
}

/* Not one switch so far: it had a processor all the time, or never; its clock knows. */
static void guess_state(const dnprof_timeline *timeline, struct dnp_tl_thread *thread)
{
	const struct dnp_task_clock *last = &thread->checkpoints.p[thread->checkpoints.n - 1];
	const struct dnp_task_clock *first = thread->checkpoints.p;

	while (first < last && first->time_ns < timeline->store.from_ns)
		first++;
	thread->before = thread->ready ? DNPROF_SLICE_UNKNOWN : DNPROF_SLICE_WAITS;
	if (last->time_ns - first->time_ns < 4 * MS ||
		(last->cpu_ns - first->cpu_ns) * 2 < last->time_ns - first->time_ns)
		return;
	thread->state = DNP_TL_ON;
	thread->cpu = DNPROF_NO_CPU;
	thread->since_ns = timeline->store.from_ns;
}

/* The clock; of one that stands only that it does, which is cheap to learn in this process. */
static int read_clock(const struct dnp_tl_thread *thread, struct dnp_task_clock *clock)
{
	size_t n = thread->checkpoints.n;
	uint64_t cpu_ns;

	if (n && thread->pid == dnp_process_id()) {
		if (dnp_task_cpu(thread->pid, thread->tid, &cpu_ns))
			return -ESRCH;
		*clock = thread->checkpoints.p[n - 1];
		clock->time_ns = dnp_now_ns();
		if (clock->cpu_ns == cpu_ns)
			return 0;
	}
	return dnp_task_clock(thread->pid, thread->tid, clock);
}

static int look_at(int tid, void *context)
{
	dnprof_timeline *timeline = context;
	struct dnp_tl_thread *thread = meet(timeline, tid, dnp_now_ns());
	struct dnp_task_clock clock;
	bool moved;

	if (!thread || read_clock(thread, &clock))
		return 0;
	moved = !thread->checkpoints.n ||
		thread->checkpoints.p[thread->checkpoints.n - 1].cpu_ns != clock.cpu_ns;
	dnp_tl_store_checkpoint(&timeline->store, thread, &clock);
	if (!thread->start_ticks || !*thread->name ||
		(thread->state == DNP_TL_UNKNOWN && (moved || thread->ready || !thread->seen_ns)))
		ask(thread);
	if (thread->state == DNP_TL_UNKNOWN && timeline->switches && thread->checkpoints.n)
		guess_state(timeline, thread);
	thread->seen_ns = dnp_now_ns();
	thread->gone_ns = 0;
	return 0;
}

/*
 * Those of the process that a whole list does not have. What they told when they ended may not have
 * been read yet: when it has, and there is nothing of the kind, it is lost.
 */
static void miss(dnprof_timeline *timeline, struct dnp_tl_thread *thread, uint64_t now_ns)
{
	if (!thread->gone_ns)
		thread->gone_ns = now_ns;
	else if (thread->gone_ns < timeline->told_ns)
		dnp_tl_store_end(&timeline->store, thread, thread->gone_ns);
}

static void look_at_the_rest(dnprof_timeline *timeline, uint64_t since_ns, bool all_listed)
{
	uint64_t now = dnp_now_ns();

	for (size_t i = 0; i < timeline->store.threads.n; i++) {
		struct dnp_tl_thread *thread = timeline->store.threads.p[i];

		if (thread->state == DNP_TL_ENDED)
			continue;
		if (thread->pid != timeline->store.pid)
			ask_name(thread);
		else if (all_listed && thread->seen_ns < since_ns)
			miss(timeline, thread, now);
	}
}

void dnp_tl_look_at_threads(dnprof_timeline *timeline)
{
	uint64_t now = dnp_now_ns();
	int result = dnp_tasks_each(timeline->store.pid, look_at, timeline);

	if (timeline->switches)
		look_at_the_rest(timeline, now, result == 0);
	timeline->checkpoint_ns = now;
}

/* ---- Rounds */

static void look_for_end(dnprof_timeline *timeline)
{
	int pid = timeline->store.pid;
	uint64_t now = dnp_now_ns();

	if (pid == dnp_process_id() || timeline->ended_ns || now - timeline->looked_ns < END_NS)
		return;
	timeline->looked_ns = now;
	if (!dnp_process_is_alive(pid) || dnp_process_start_ticks(pid) != timeline->process_ticks)
		timeline->ended_ns = now;
}

/* Once all has been heard that it had to tell. */
static void end_process(dnprof_timeline *timeline)
{
	struct dnp_tl_store *store = &timeline->store;

	timeline->told_ns = timeline->ended_ns;
	for (size_t i = 0; i < store->threads.n; i++)
		if (store->threads.p[i]->pid == store->pid)
			dnp_tl_store_end(store, store->threads.p[i], timeline->ended_ns);
}

void dnp_tl_take_in(dnprof_timeline *timeline)
{
	uint64_t cpu_ns;

	look_for_end(timeline);
	if (timeline->switches)
		timeline->told_ns = dnp_switches_read(timeline->switches, take_switch, timeline);
	else
		dnp_tl_poll(timeline);
	dnp_tl_notes_read(
		&timeline->notes, !atomic_load(&timeline->recording), take_note, timeline);
	if (timeline->ended_ns && timeline->told_ns >= timeline->ended_ns)
		end_process(timeline);
	cpu_ns = dnp_process_cpu_ns(timeline->store.pid);
	if (cpu_ns > timeline->last_cpu_ns && !timeline->ended_ns)
		timeline->last_cpu_ns = cpu_ns;
	dnp_tl_store_fit(&timeline->store, timeline->told_ns);
}

void *dnp_tl_run_recorder(void *context)
{
	dnprof_timeline *timeline = context;

	dnp_thread_hurry();
	while (!atomic_load(&timeline->end)) {
		dnp_switches_wait(timeline->switches, timeline->bell, dnp_now_ns() + TURN_NS);
		pthread_mutex_lock(&timeline->lock);
		dnp_tl_take_in(timeline);
		if (dnp_now_ns() - timeline->checkpoint_ns > CHECKPOINT_NS && !timeline->ended_ns)
			dnp_tl_look_at_threads(timeline);
		pthread_mutex_unlock(&timeline->lock);
	}
	return NULL;
}
