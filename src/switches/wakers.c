/* SPDX-License-Identifier: MIT */
#include "switches/wakers.h"

#include "os/tasks.h"
#include "switches/waits.h"
#include "timeline/timeline.h"

int dnp_wakers_open(struct dnp_wakers *wakers, struct dnp_err *err)
{
	*wakers = (struct dnp_wakers){0};
	return dnp_wakeups_open(&wakers->wakeups, err);
}

void dnp_wakers_close(struct dnp_wakers *wakers)
{
	dnp_wakeups_close(wakers->wakeups);
	wakers->wakeups = NULL;
	dnp_vec_done(&wakers->pending);
}

struct taking {
	struct dnp_wakers *wakers;
	struct dnp_taker *taker;
};

/* The process's thread with that tid, NULL: it is another's. Under the time line's lock. */
static struct dnp_tl_thread *find(const struct dnp_taker *taker, int tid)
{
	const struct dnp_tl_store *store = &taker->timeline->store;
	struct dnp_tl_thread *thread = dnp_tl_store_find(store, tid);

	return thread && thread->pid == store->pid ? thread : NULL;
}

/* A thread that is not known may be a new one, as long as not all is told up to then. */
static bool may_be_ours(const struct dnp_taker *taker, const struct dnp_wakeup *wakeup)
{
	return find(taker, wakeup->tid) || taker->timeline->told_ns <= wakeup->time_ns;
}

static void take(const struct dnp_wakeup *wakeup, void *context)
{
	const struct taking *taking = context;

	/* Without memory for it, one more is missing. */
	if (may_be_ours(taking->taker, wakeup))
		(void)dnp_vec_push(&taking->wakers->pending, *wakeup);
}

static enum dnp_wait_news what_came_of(struct dnp_taker *taker, struct dnp_writer *writer,
	const struct dnp_wakeup *wakeup, struct dnp_wait_time *found)
{
	bool ours;

	pthread_mutex_lock(&taker->timeline->lock);
	ours = may_be_ours(taker, wakeup);
	pthread_mutex_unlock(&taker->timeline->lock);
	return ours ? dnp_waits_find(taker, writer, wakeup->tid, wakeup->time_ns, found)
		    : DNP_WAIT_NONE;
}

/* Its index plus 1; 0: it is no thread of the process's. */
static uint64_t index_of(struct dnp_taker *taker, struct dnp_writer *writer, int tid)
{
	struct dnp_tl_thread *thread;
	uint64_t index = 0;

	pthread_mutex_lock(&taker->timeline->lock);
	thread = find(taker, tid);
	if (thread && !thread->taken_all) {
		dnp_taker_meet(taker, thread, writer);
		index = thread->index + 1;
	}
	pthread_mutex_unlock(&taker->timeline->lock);
	return index;
}

static void write_one(struct dnp_taker *taker, struct dnp_writer *writer,
	const struct dnp_wakeup *wakeup, const struct dnp_wait_time *found, bool over)
{
	struct dnp_rec_wakeup rec = {
		.time_ns = wakeup->time_ns,
		.thread = found->thread,
		.by = index_of(taker, writer, wakeup->by_tid),
		.by_pid = (uint64_t)wakeup->by_pid,
		.by_tid = (uint64_t)wakeup->by_tid,
		.run_ns = over ? found->until_ns : 0,
	};
	char name[16] = "";

	if (!rec.by && wakeup->by_tid)
		dnp_task_name(wakeup->by_pid, wakeup->by_tid, name);
	rec.by_name = dnp_str(name);
	dnp_write_wakeup(writer, &rec);
}

void dnp_wakers_write(
	struct dnp_wakers *wakers, struct dnp_taker *taker, struct dnp_writer *writer, bool last)
{
	struct taking taking = {wakers, taker};
	size_t kept = 0;

	pthread_mutex_lock(&taker->timeline->lock);
	if (last)
		wakers->missing = dnp_wakeups_end(wakers->wakeups, take, &taking);
	else
		dnp_wakeups_read(wakers->wakeups, take, &taking);
	pthread_mutex_unlock(&taker->timeline->lock);
	for (size_t i = 0; i < wakers->pending.n; i++) {
		struct dnp_wakeup wakeup = wakers->pending.p[i];
		struct dnp_wait_time found;
		enum dnp_wait_news news = what_came_of(taker, writer, &wakeup, &found);
		bool open = news == DNP_WAIT_NOT_YET || news == DNP_WAIT_GOES_ON;

		if (open && !last) {
			wakers->pending.p[kept++] = wakeup;
		} else if (news == DNP_WAIT_OVER || news == DNP_WAIT_GOES_ON) {
			wakers->written++;
			write_one(taker, writer, &wakeup, &found, news == DNP_WAIT_OVER);
		}
	}
	wakers->pending.n = kept;
}
