/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "os/clock.h"
#include "timeline/timeline.h"

int dnp_tl_give(void *to, const void *from, size_t size)
{
	size_t room, head = sizeof(room);

	if (!to)
		return -EINVAL;
	memcpy(&room, to, head);
	if (room < head)
		return -EINVAL;
	room = room < size ? room : size;
	memcpy((char *)to + head, (const char *)from + head, room - head);
	return 0;
}

/* ---- What was chosen */

int dnprof_timeline_info(dnprof_timeline *timeline, struct dnprof_timeline_info *out)
{
	struct dnprof_timeline_info info = {0};

	if (!timeline)
		return -EINVAL;
	pthread_mutex_lock(&timeline->lock);
	info.pid = timeline->store.pid;
	info.mode = timeline->options.mode;
	info.backend = timeline->backend;
	info.sampled = !timeline->switches;
	if (timeline->switches)
		info.ring_bytes = dnp_switches_ring_bytes(timeline->switches);
	else
		info.interval_ns = timeline->interval_ns;
	snprintf(info.reason, sizeof(info.reason), "%.499s", timeline->reason);
	pthread_mutex_unlock(&timeline->lock);
	return dnp_tl_give(out, &info, sizeof(info));
}

/* ---- Lists: each `find` fills what comes behind `after`. 0 or -ENOENT */

static int find_thread(const dnprof_timeline *timeline, uint64_t after, struct dnprof_thread *out)
{
	const struct dnp_tl_store *store = &timeline->store;
	size_t place =
		after == UINT64_MAX ? store->threads.n : dnp_tl_store_place(store, after + 1);
	const struct dnp_tl_thread *thread;

	if (place >= store->threads.n)
		return -ENOENT;
	thread = store->threads.p[place];
	out->id = thread->id;
	out->pid = thread->pid;
	out->tid = thread->tid;
	out->flags = thread->own ? DNPROF_THREAD_OWN : 0;
	out->begin_ns = thread->begin_ns;
	out->end_ns = thread->state == DNP_TL_ENDED ? thread->end_ns : 0;
	if (thread->checkpoints.n) {
		const struct dnp_task_clock *last =
			&thread->checkpoints.p[thread->checkpoints.n - 1];

		out->cpu_ns = last->cpu_ns;
		out->checkpoint_ns = last->time_ns;
	}
	memcpy(out->name, thread->name, sizeof(out->name));
	return 0;
}

int dnprof_timeline_next_thread(
	dnprof_timeline *timeline, uint64_t after, struct dnprof_thread *out)
{
	struct dnprof_thread thread = {0};
	int failed = -ENODATA;

	if (!timeline)
		return -EINVAL;
	pthread_mutex_lock(&timeline->lock);
	if (timeline->has_picture)
		failed = find_thread(timeline, after, &thread);
	pthread_mutex_unlock(&timeline->lock);
	return failed ? failed : dnp_tl_give(out, &thread, sizeof(thread));
}

static int find_process(const dnprof_timeline *timeline, int32_t after, struct dnprof_process *out)
{
	const struct dnp_tl_store *store = &timeline->store;

	for (size_t i = 0; i < store->threads.n; i++) {
		int pid = store->threads.p[i]->pid;

		if (pid > after && (!out->pid || pid < out->pid)) {
			out->pid = pid;
			out->threads = 0;
		}
		out->threads += pid == out->pid;
	}
	if (!out->pid)
		return -ENOENT;
	dnp_process_name(out->pid, out->name);
	return 0;
}

int dnprof_timeline_next_process(
	dnprof_timeline *timeline, int32_t after, struct dnprof_process *out)
{
	struct dnprof_process process = {0};
	int failed = -ENODATA;

	if (!timeline)
		return -EINVAL;
	pthread_mutex_lock(&timeline->lock);
	if (timeline->has_picture)
		failed = find_process(timeline, after, &process);
	pthread_mutex_unlock(&timeline->lock);
	return failed ? failed : dnp_tl_give(out, &process, sizeof(process));
}

static int find_loss(const dnprof_timeline *timeline, uint64_t after, struct dnprof_loss *out)
{
	const struct dnp_tl_store *store = &timeline->store;

	for (size_t i = 0; i < store->losses.n; i++) {
		const struct dnp_tl_loss *loss = &store->losses.p[i];

		if (loss->id <= after)
			continue;
		out->id = loss->id;
		out->from_ns = loss->from_ns;
		out->until_ns = loss->until_ns;
		out->records = loss->records;
		out->cpu = loss->cpu;
		return 0;
	}
	return -ENOENT;
}

int dnprof_timeline_next_loss(dnprof_timeline *timeline, uint64_t after, struct dnprof_loss *out)
{
	struct dnprof_loss loss = {0};
	int failed = -ENODATA;

	if (!timeline)
		return -EINVAL;
	pthread_mutex_lock(&timeline->lock);
	if (timeline->has_picture)
		failed = find_loss(timeline, after, &loss);
	pthread_mutex_unlock(&timeline->lock);
	return failed ? failed : dnp_tl_give(out, &loss, sizeof(loss));
}

static int find_mark(const dnprof_timeline *timeline, uint64_t after, struct dnprof_mark *out)
{
	const struct dnp_tl_store *store = &timeline->store;

	for (size_t i = 0; i < store->marks.n; i++) {
		const struct dnp_tl_mark *mark = &store->marks.p[i];

		if (mark->id <= after)
			continue;
		out->id = mark->id;
		out->time_ns = mark->time_ns;
		out->tid = mark->tid;
		memcpy(out->text, mark->text, sizeof(out->text));
		return 0;
	}
	return -ENOENT;
}

int dnprof_timeline_next_mark(dnprof_timeline *timeline, uint64_t after, struct dnprof_mark *out)
{
	struct dnprof_mark mark = {0};
	int failed = -ENODATA;

	if (!timeline)
		return -EINVAL;
	pthread_mutex_lock(&timeline->lock);
	if (timeline->has_picture)
		failed = find_mark(timeline, after, &mark);
	pthread_mutex_unlock(&timeline->lock);
	return failed ? failed : dnp_tl_give(out, &mark, sizeof(mark));
}

/* ---- Names */

/* A thread of the process: the caller where tid is 0. 0: there is none. */
static int living_tid(const dnprof_timeline *timeline, int32_t tid)
{
	if (!tid && timeline->store.pid == dnp_process_id())
		tid = dnp_thread_id();
	return tid > 0 && dnp_task_start_ticks(timeline->store.pid, tid) ? tid : 0;
}

static int set_name(dnprof_timeline *timeline, int32_t tid, const char *name)
{
	struct dnp_tl_store *store = &timeline->store;
	struct dnp_tl_thread *thread;

	tid = living_tid(timeline, tid);
	if (!tid)
		return -ESRCH;
	if (store->pid == dnp_process_id() && dnp_task_set_name(tid, name))
		return -ESRCH;
	thread = dnp_tl_store_find(store, tid);
	if (!thread || thread->state == DNP_TL_ENDED)
		thread = atomic_load(&timeline->recording)
			? dnp_tl_add_unlisted(timeline, tid, dnp_now_ns())
			: dnp_tl_store_add(store, store->pid, tid, dnp_now_ns());
	if (!thread)
		return -ENOMEM;
	thread->named = true;
	thread->named_ticks = dnp_task_start_ticks(store->pid, tid);
	snprintf(thread->name, sizeof(thread->name), "%s", name);
	return 0;
}

int dnprof_timeline_set_thread_name(dnprof_timeline *timeline, int32_t tid, const char *name)
{
	int result;

	if (!timeline || !name)
		return -EINVAL;
	pthread_mutex_lock(&timeline->lock);
	result = set_name(timeline, tid, name);
	pthread_mutex_unlock(&timeline->lock);
	return result;
}

static int get_name(const dnprof_timeline *timeline, int32_t tid, char *name, size_t size)
{
	const struct dnp_tl_thread *thread;
	char system[16];

	tid = living_tid(timeline, tid);
	if (!tid)
		return -ESRCH;
	thread = dnp_tl_store_find(&timeline->store, tid);
	dnp_task_name(timeline->store.pid, tid, system);
	snprintf(name, size, "%s", thread && thread->named ? thread->name : system);
	return 0;
}

int dnprof_timeline_thread_name(dnprof_timeline *timeline, int32_t tid, char *name, size_t size)
{
	int result;

	if (!timeline || !name || !size)
		return -EINVAL;
	pthread_mutex_lock(&timeline->lock);
	result = get_name(timeline, tid, name, size);
	pthread_mutex_unlock(&timeline->lock);
	return result;
}

/* ---- Notes: no lock */

SIGSAFE int dnprof_timeline_mark(dnprof_timeline *timeline, const char *text)
{
	struct dnp_tl_note note = {0};

	if (!timeline || !text)
		return -EINVAL;
	if (!atomic_load_explicit(&timeline->recording, memory_order_relaxed))
		return -ENODATA;
	note.time_ns = dnp_now_ns();
	note.tid = (uint32_t)dnp_thread_id();
	memcpy(note.text, text, strnlen(text, sizeof(note.text) - 1));
	return dnp_tl_note(&timeline->notes, &note);
}

SIGSAFE int dnprof_timeline_checkpoint(dnprof_timeline *timeline)
{
	struct dnp_tl_note note = {.is_reading = 1};

	if (!timeline)
		return -EINVAL;
	if (!atomic_load_explicit(&timeline->recording, memory_order_relaxed))
		return -ENODATA;
	note.cpu_ns = dnp_thread_cpu_ns(0);
	note.time_ns = dnp_now_ns();
	note.tid = (uint32_t)dnp_thread_id();
	return dnp_tl_note(&timeline->notes, &note);
}
