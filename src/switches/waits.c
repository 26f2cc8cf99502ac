/* SPDX-License-Identifier: MIT */
#include "switches/waits.h"

#include "os/clock.h"
#include "timeline/timeline.h"

/* ---- Whose clock stands */

static bool is_looked_at(const struct dnp_taker *taker, const struct dnp_tl_thread *thread)
{
	return thread->state != DNP_TL_ENDED && thread->pid == taker->timeline->store.pid &&
		!dnp_taker_is_ours(taker, thread);
}

/* Whether it is to be told of now. */
static bool stands(struct dnp_tl_thread *thread, uint64_t now_ns, uint64_t least_ns)
{
	uint64_t cpu_ns;

	if (dnp_task_cpu(thread->pid, thread->tid, &cpu_ns))
		return false;
	if (!thread->stood_since_ns || thread->stood_cpu_ns != cpu_ns) {
		thread->stood_cpu_ns = cpu_ns;
		thread->stood_since_ns = now_ns;
		thread->stood_told = false;
	}
	return !thread->stood_told && now_ns - thread->stood_since_ns >= least_ns;
}

size_t dnp_waits_look(struct dnp_taker *taker, uint64_t least_ns, int *tids, size_t max)
{
	dnprof_timeline *timeline = taker->timeline;
	size_t n = 0;

	pthread_mutex_lock(&timeline->lock);
	for (size_t i = 0; i < timeline->store.threads.n; i++) {
		struct dnp_tl_thread *thread = timeline->store.threads.p[i];

		if (!is_looked_at(taker, thread) || !stands(thread, dnp_now_ns(), least_ns) ||
			n == max)
			continue;
		thread->stood_told = true;
		tids[n++] = thread->tid;
	}
	pthread_mutex_unlock(&timeline->lock);
	return n;
}

void dnp_waits_seen(struct dnp_taker *taker, int tid, uint64_t cpu_ns)
{
	struct dnp_tl_thread *thread;

	pthread_mutex_lock(&taker->timeline->lock);
	thread = dnp_tl_store_find(&taker->timeline->store, tid);
	if (thread)
		thread->stood_cpu_ns = cpu_ns;
	pthread_mutex_unlock(&taker->timeline->lock);
}

void dnp_waits_again(struct dnp_taker *taker, int tid)
{
	struct dnp_tl_thread *thread;

	pthread_mutex_lock(&taker->timeline->lock);
	thread = dnp_tl_store_find(&taker->timeline->store, tid);
	if (thread)
		thread->stood_since_ns = 0;
	pthread_mutex_unlock(&taker->timeline->lock);
}

/* ---- Since when, until when */

static enum dnp_wait_news gap_around(const struct dnp_taker *taker,
	const struct dnp_tl_thread *thread, uint64_t time_ns, struct dnp_wait_time *found)
{
	uint64_t told_ns = taker->timeline->told_ns;
	size_t behind = dnp_tl_slice_behind(thread, time_ns);

	found->since_ns = behind ? thread->slices.p[behind - 1].end_ns : thread->taken_ns;
	if (behind < dnp_tl_slices(thread, told_ns)) {
		found->until_ns = dnp_tl_slice(thread, behind, told_ns).start_ns;
		return found->until_ns > time_ns && found->since_ns <= time_ns ? DNP_WAIT_OVER
									       : DNP_WAIT_NONE;
	}
	if (found->since_ns > time_ns)
		return DNP_WAIT_NONE;
	if (thread->state == DNP_TL_ENDED) {
		found->until_ns = thread->end_ns;
		return thread->end_ns > time_ns ? DNP_WAIT_OVER : DNP_WAIT_NONE;
	}
	found->until_ns = told_ns;
	return DNP_WAIT_GOES_ON;
}

enum dnp_wait_news dnp_waits_find(struct dnp_taker *taker, struct dnp_writer *writer, int tid,
	uint64_t time_ns, struct dnp_wait_time *found)
{
	dnprof_timeline *timeline = taker->timeline;
	enum dnp_wait_news news = DNP_WAIT_NONE;
	struct dnp_tl_thread *thread;

	pthread_mutex_lock(&timeline->lock);
	thread = dnp_tl_store_find(&timeline->store, tid);
	if (timeline->told_ns <= time_ns) {
		news = DNP_WAIT_NOT_YET;
	} else if (thread && thread->begin_ns <= time_ns && !thread->taken_all) {
		dnp_taker_meet(taker, thread, writer);
		found->thread = thread->index;
		news = gap_around(taker, thread, time_ns, found);
	}
	pthread_mutex_unlock(&timeline->lock);
	return news;
}
