/* SPDX-License-Identifier: MIT */
#include "timeline/store.h"

#include <stdlib.h>
#include <string.h>

#include "base/clean.h"

#define MS       UINT64_C(1000000)
#define REUSE_NS (100 * MS) /* within it no tid comes again */

static void thread_free(struct dnp_tl_thread *thread)
{
	dnp_vec_done(&thread->slices);
	dnp_vec_done(&thread->checkpoints);
	free(thread);
}

void dnp_tl_store_done(struct dnp_tl_store *store)
{
	for (size_t i = 0; i < store->threads.n; i++)
		thread_free(store->threads.p[i]);
	dnp_vec_done(&store->threads);
	dnp_vec_done(&store->losses);
	dnp_vec_done(&store->marks);
	dnp_u64map_done(&store->by_tid);
	memset(store, 0, sizeof(*store));
}

/* ---- Threads */

struct dnp_tl_thread *dnp_tl_store_find(const struct dnp_tl_store *store, int tid)
{
	const uint32_t *place = dnp_u64map_get(&store->by_tid, (uint64_t)tid);

	return place ? store->threads.p[*place] : NULL;
}

struct dnp_tl_thread *dnp_tl_store_add(
	struct dnp_tl_store *store, int pid, int tid, uint64_t now_ns)
{
	struct dnp_tl_thread *before = dnp_tl_store_find(store, tid);
	struct dnp_tl_thread *thread = calloc(1, sizeof(*thread));

	if (!thread || dnp_vec_push(&store->threads, thread)) {
		free(thread);
		store->failed = -ENOMEM;
		return NULL;
	}
	if (dnp_u64map_put(&store->by_tid, (uint64_t)tid, (uint32_t)(store->threads.n - 1))) {
		store->threads.n--;
		free(thread);
		store->failed = -ENOMEM;
		return NULL;
	}
	if (before)
		dnp_tl_store_end(store, before, now_ns);
	thread->id = ++store->last_thread;
	thread->met_ns = now_ns;
	thread->pid = pid;
	thread->tid = tid;
	thread->before = DNPROF_SLICE_UNKNOWN;
	return thread;
}

size_t dnp_tl_store_place(const struct dnp_tl_store *store, uint64_t id)
{
	size_t low = 0, high = store->threads.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (store->threads.p[middle]->id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct dnp_tl_thread *dnp_tl_store_part(struct dnp_tl_store *store, struct dnp_tl_thread *thread)
{
	enum dnp_tl_state state = thread->state;
	struct dnp_tl_thread *other =
		dnp_tl_store_add(store, thread->pid, thread->tid, store->from_ns);

	if (!other)
		return NULL;
	other->state = state;
	other->cpu = thread->cpu;
	other->since_ns = thread->since_ns;
	other->before = thread->before;
	other->slices.p = thread->slices.p;
	other->slices.n = thread->slices.n;
	other->slices.cap = thread->slices.cap;
	thread->slices.p = NULL;
	thread->slices.n = thread->slices.cap = 0;
	return other;
}

/* ---- Slices */

static void miss_slices(struct dnp_tl_store *store, uint64_t start_ns, uint64_t end_ns)
{
	if (!store->missing_from_ns || start_ns < store->missing_from_ns)
		store->missing_from_ns = start_ns;
	if (end_ns > store->missing_until_ns)
		store->missing_until_ns = end_ns;
}

static void push_slice(struct dnp_tl_store *store, struct dnp_tl_thread *thread, uint64_t start_ns,
	uint64_t end_ns, uint16_t cpu, uint16_t how)
{
	struct dnprof_slice slice = {start_ns, end_ns, cpu, how, 0};

	if (dnp_vec_push(&thread->slices, slice)) {
		store->failed = -ENOMEM;
		miss_slices(store, start_ns, end_ns);
	}
}

/* Where the last slice ended, or the thread began, or all began. */
static uint64_t last_end(const struct dnp_tl_store *store, const struct dnp_tl_thread *thread)
{
	uint64_t end_ns = thread->begin_ns;

	if (thread->slices.n)
		end_ns = thread->slices.p[thread->slices.n - 1].end_ns;
	return end_ns > store->from_ns ? end_ns : store->from_ns;
}

/* It was on a processor, and gets one: when it lost the first one is as lost as the record. */
static void close_lost(struct dnp_tl_store *store, struct dnp_tl_thread *thread)
{
	uint64_t end_ns = thread->since_ns;

	/* The first loss since then. */
	for (size_t i = store->losses.n; i-- && store->losses.p[i].until_ns > end_ns;)
		if (store->losses.p[i].from_ns > thread->since_ns)
			end_ns = store->losses.p[i].from_ns;
	if (end_ns == thread->since_ns)
		store->disordered++;
	push_slice(store, thread, thread->since_ns, end_ns, thread->cpu, DNPROF_SLICE_UNKNOWN);
}

static void get_cpu(
	struct dnp_tl_store *store, struct dnp_tl_thread *thread, const struct dnp_switch *it)
{
	if (thread->state == DNP_TL_ON)
		close_lost(store, thread);
	if (thread->state == DNP_TL_UNKNOWN && thread->seen_ns && thread->seen_ns < it->time_ns)
		thread->before = thread->ready ? DNPROF_SLICE_PREEMPTED : DNPROF_SLICE_WAITS;
	thread->state = DNP_TL_ON;
	thread->since_ns = it->time_ns;
	thread->cpu = it->cpu;
}

/* It loses a processor that it was never seen to get: false, and when that was, if anybody knows.
 */
static bool find_start(struct dnp_tl_store *store, const struct dnp_tl_thread *thread,
	const struct dnp_switch *it, uint64_t *start_ns)
{
	uint64_t after_ns = last_end(store, thread);

	if (thread->state == DNP_TL_UNKNOWN) {
		*start_ns = after_ns < it->time_ns ? after_ns : it->time_ns;
		return true;
	}
	for (size_t i = store->losses.n; i--;)
		if (store->losses.p[i].until_ns > after_ns &&
			store->losses.p[i].until_ns <= it->time_ns) {
			*start_ns = store->losses.p[i].until_ns;
			return true;
		}
	store->disordered++;
	return false;
}

static void lose_cpu(struct dnp_tl_store *store, struct dnp_tl_thread *thread,
	const struct dnp_switch *it, uint16_t how)
{
	uint64_t start_ns = thread->since_ns;

	if (thread->state == DNP_TL_ON || find_start(store, thread, it, &start_ns))
		push_slice(store, thread, start_ns, it->time_ns, it->cpu, how);
	thread->state = DNP_TL_OFF;
}

void dnp_tl_store_end(struct dnp_tl_store *store, struct dnp_tl_thread *thread, uint64_t time_ns)
{
	if (thread->state == DNP_TL_ENDED)
		return;
	if (thread->state == DNP_TL_ON)
		close_lost(store, thread);
	thread->state = DNP_TL_ENDED;
	thread->end_ns = time_ns;
}

/* ---- What the system tells */

static void name_thread(struct dnp_tl_thread *thread, const char *name)
{
	if (!thread->named && *name)
		snprintf(thread->name, sizeof(thread->name), "%s", name);
}

/*
 * Somebody asked about it before we heard that it has begun. The system lists a thread a moment
 * before it tells of that; its clock stands at 0 then. One that moved was an older thread's.
 */
static bool was_listed_before(const struct dnp_tl_thread *thread, uint64_t begin_ns)
{
	const struct dnp_task_clock *first = thread->checkpoints.p;

	if (thread->state == DNP_TL_ENDED || thread->begin_ns)
		return false;
	if (!thread->checkpoints.n) /* it may have ended before its clock could be read */
		return thread->seen_ns >= begin_ns || thread->met_ns >= begin_ns;
	return first->time_ns >= begin_ns || !first->cpu_ns;
}

static void insert_checkpoint(struct dnp_tl_store *store, struct dnp_tl_thread *thread, size_t i,
	const struct dnp_task_clock *clock)
{
	size_t n = thread->checkpoints.n;
	struct dnp_task_clock *p;

	if (dnp_vec_push(&thread->checkpoints, *clock)) {
		store->failed = -ENOMEM;
		return;
	}
	p = thread->checkpoints.p;
	memmove(p + i + 1, p + i, (n - i) * sizeof(*p));
	p[i] = *clock;
}

/* Its clock was at 0 then, whoever has read it since. */
static void begin_clock(struct dnp_tl_store *store, struct dnp_tl_thread *thread, uint64_t time_ns)
{
	struct dnp_task_clock clock = {.time_ns = time_ns};

	if (!thread->checkpoints.n || thread->checkpoints.p[0].time_ns > time_ns)
		insert_checkpoint(store, thread, 0, &clock);
}

static void begin(struct dnp_tl_store *store, const struct dnp_switch *it)
{
	struct dnp_tl_thread *thread = dnp_tl_store_find(store, it->tid);
	const struct dnp_tl_thread *parent;

	if (!thread || !was_listed_before(thread, it->time_ns))
		thread = dnp_tl_store_add(store, it->pid, it->tid, it->time_ns);
	if (!thread)
		return;
	thread->begin_ns = it->time_ns;
	if (thread->state == DNP_TL_UNKNOWN)
		thread->state = DNP_TL_OFF;
	thread->before = DNPROF_SLICE_PREEMPTED;
	begin_clock(store, thread, it->time_ns);
	parent = dnp_tl_store_find(store, it->parent_tid);
	if (parent && !*thread->name && !parent->named)
		name_thread(thread, parent->name);
}

static bool lost_since(const struct dnp_tl_store *store, uint64_t time_ns)
{
	size_t n = store->losses.n;

	return n && store->losses.p[n - 1].until_ns > time_ns;
}

/*
 * The thread that a record is of; NULL: it has ended already, or there is no memory. One that ends
 * on a busy machine may be long in giving its processor back: had that been of a new one with its
 * tid, it would have been told before that this one got it.
 */
static struct dnp_tl_thread *thread_of(struct dnp_tl_store *store, const struct dnp_switch *it)
{
	struct dnp_tl_thread *thread = dnp_tl_store_find(store, it->tid);

	if (thread && thread->state != DNP_TL_ENDED)
		return thread;
	if (thread && it->time_ns < thread->end_ns + REUSE_NS)
		return NULL;
	if (thread && it->kind != DNP_SWITCH_IN && !lost_since(store, thread->end_ns))
		return NULL;
	return dnp_tl_store_add(store, it->pid, it->tid, it->time_ns);
}

static void lose(struct dnp_tl_store *store, const struct dnp_switch *it)
{
	struct dnp_tl_loss loss = {
		++store->last_loss, it->since_ns, it->time_ns, it->count, it->cpu};

	if (!loss.from_ns)
		loss.from_ns = store->from_ns;
	store->lost += it->count;
	if (dnp_vec_push(&store->losses, loss))
		store->failed = -ENOMEM;
}

void dnp_tl_store_switch(struct dnp_tl_store *store, const struct dnp_switch *it)
{
	struct dnp_tl_thread *thread;

	if (it->kind == DNP_SWITCH_LOST) {
		lose(store, it);
		return;
	}
	if (it->kind == DNP_SWITCH_GAP) {
		dnp_tl_store_gap(store, it->time_ns);
		return;
	}
	if (it->tid <= 0) /* a processor that has nothing to do; one that is dead already */
		return;
	if (it->kind == DNP_SWITCH_BEGIN) {
		begin(store, it);
		return;
	}
	thread = thread_of(store, it);
	if (!thread)
		return;
	switch (it->kind) {
	case DNP_SWITCH_IN: get_cpu(store, thread, it); break;
	case DNP_SWITCH_WAITS: lose_cpu(store, thread, it, DNPROF_SLICE_WAITS); break;
	case DNP_SWITCH_PREEMPTED: lose_cpu(store, thread, it, DNPROF_SLICE_PREEMPTED); break;
	case DNP_SWITCH_NAME: name_thread(thread, it->name); break;
	case DNP_SWITCH_END:
		if (thread->state != DNP_TL_OFF)
			lose_cpu(store, thread, it, DNPROF_SLICE_ENDED);
		dnp_tl_store_end(store, thread, it->time_ns);
		break;
	default: break;
	}
}

/* ---- What the library finds out */

void dnp_tl_store_ran(struct dnp_tl_store *store, struct dnp_tl_thread *thread, uint64_t from_ns,
	uint64_t until_ns)
{
	struct dnprof_slice *last =
		thread->slices.n ? &thread->slices.p[thread->slices.n - 1] : NULL;

	if (last && last->end_ns == from_ns)
		last->end_ns = until_ns;
	else
		push_slice(store, thread, from_ns, until_ns, DNPROF_NO_CPU, DNPROF_SLICE_SAMPLED);
}

/* A clock that stands needs its first and its last reading only. */
void dnp_tl_store_checkpoint(struct dnp_tl_store *store, struct dnp_tl_thread *thread,
	const struct dnp_task_clock *clock)
{
	size_t n = thread->checkpoints.n;
	struct dnp_task_clock *last = n ? &thread->checkpoints.p[n - 1] : NULL;

	if (last && last->time_ns >= clock->time_ns)
		return;
	if (n > 1 && last->cpu_ns == clock->cpu_ns && last[-1].cpu_ns == clock->cpu_ns)
		*last = *clock;
	else if (dnp_vec_push(&thread->checkpoints, *clock))
		store->failed = -ENOMEM;
}

size_t dnp_tl_checkpoint_from(const struct dnp_tl_thread *thread, uint64_t time_ns)
{
	size_t i = thread->checkpoints.n;

	while (i && thread->checkpoints.p[i - 1].time_ns >= time_ns)
		i--;
	return i;
}

void dnp_tl_store_reading(
	struct dnp_tl_store *store, struct dnp_tl_thread *thread, uint64_t time_ns, uint64_t cpu_ns)
{
	size_t n = thread->checkpoints.n, i = dnp_tl_checkpoint_from(thread, time_ns);
	const struct dnp_task_clock *p = thread->checkpoints.p;
	struct dnp_task_clock clock = {.time_ns = time_ns, .cpu_ns = cpu_ns};

	if (i) {
		clock.wait_ns = p[i - 1].wait_ns;
		clock.runs = p[i - 1].runs;
	}
	if (i == n)
		dnp_tl_store_checkpoint(store, thread, &clock);
	else if (p[i].time_ns > time_ns && p[i].cpu_ns > cpu_ns && (!i || p[i - 1].cpu_ns < cpu_ns))
		insert_checkpoint(store, thread, i, &clock);
}

void dnp_tl_store_mark(struct dnp_tl_store *store, uint64_t time_ns, int tid, const char *text)
{
	struct dnp_tl_mark mark = {.id = ++store->last_mark, .time_ns = time_ns, .tid = tid};

	snprintf(mark.text, sizeof(mark.text), "%s", text);
	if (dnp_vec_push(&store->marks, mark))
		store->failed = -ENOMEM;
}

/* ---- Forgetting */

#define drop_first(v, count)                                                                       \
	do {                                                                                       \
		size_t dropped_ = (count);                                                         \
                                                                                                   \
		if (dropped_) {                                                                    \
			(v)->n -= dropped_;                                                        \
			memmove((v)->p, (v)->p + dropped_, (v)->n * sizeof(*(v)->p));              \
		}                                                                                  \
	} while (0)

static uint64_t count_bytes(const struct dnp_tl_store *store)
{
	uint64_t bytes = store->marks.n * sizeof(*store->marks.p) +
		store->losses.n * sizeof(*store->losses.p);

	for (size_t i = 0; i < store->threads.n; i++) {
		const struct dnp_tl_thread *thread = store->threads.p[i];

		bytes += sizeof(*thread) + sizeof(struct dnp_tl_thread *) +
			thread->slices.cap * sizeof(*thread->slices.p) +
			thread->checkpoints.cap * sizeof(*thread->checkpoints.p);
	}
	return bytes;
}

/* Gives back what is not used any more; a failure leaves it as it is. */
#define shrink(v)                                                                                  \
	do {                                                                                       \
		void *smaller_ = (v)->n && (v)->cap > 16 && (v)->cap / 2 > (v)->n                  \
			? reallocarray((v)->p, (v)->n, sizeof(*(v)->p))                            \
			: NULL;                                                                    \
                                                                                                   \
		if (smaller_) {                                                                    \
			(v)->p = smaller_;                                                         \
			(v)->cap = (v)->n;                                                         \
		}                                                                                  \
	} while (0)

/* The last reading before that time stays: it is where the time behind it begins. */
static size_t old_checkpoints(const struct dnp_tl_thread *thread, uint64_t time_ns)
{
	size_t n = 0;

	while (n + 1 < thread->checkpoints.n && thread->checkpoints.p[n + 1].time_ns <= time_ns)
		n++;
	return n;
}

static void miss_first(struct dnp_tl_store *store, const struct dnp_tl_thread *thread, size_t n)
{
	if (n)
		miss_slices(store, thread->slices.p[0].start_ns, thread->slices.p[n - 1].end_ns);
}

static void forget_of(struct dnp_tl_store *store, struct dnp_tl_thread *thread, uint64_t before_ns)
{
	size_t old = dnp_tl_slice_behind(thread, before_ns);

	if (old)
		thread->before = thread->slices.p[old - 1].how;
	miss_first(store, thread, old);
	drop_first(&thread->slices, old);
	shrink(&thread->slices);
	drop_first(&thread->checkpoints, old_checkpoints(thread, before_ns));
	shrink(&thread->checkpoints);
}

void dnp_tl_store_drop_slices(struct dnp_tl_thread *thread, size_t n)
{
	if (n)
		thread->before = thread->slices.p[n - 1].how;
	drop_first(&thread->slices, n);
	shrink(&thread->slices);
}

void dnp_tl_store_drop_checkpoints(struct dnp_tl_thread *thread, size_t n)
{
	drop_first(&thread->checkpoints, n);
	shrink(&thread->checkpoints);
}

void dnp_tl_store_drop_ended(struct dnp_tl_store *store, uint64_t before_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < store->threads.n; i++) {
		struct dnp_tl_thread *thread = store->threads.p[i];
		bool is_newest = dnp_tl_store_find(store, thread->tid) == thread;

		if (thread->state == DNP_TL_ENDED && thread->end_ns < before_ns) {
			if (is_newest)
				dnp_u64map_remove(&store->by_tid, (uint64_t)thread->tid);
			miss_first(store, thread, thread->slices.n);
			thread_free(thread);
			continue;
		}
		/* It cannot fail: the key is there. */
		if (is_newest && kept != i)
			*dnp_u64map_get(&store->by_tid, (uint64_t)thread->tid) = (uint32_t)kept;
		store->threads.p[kept++] = thread;
	}
	store->threads.n = kept;
}

/* Threads that ended before, and all of the others that happened before. */
static void forget(struct dnp_tl_store *store, uint64_t before_ns)
{
	dnp_tl_store_drop_ended(store, before_ns);
	for (size_t i = 0; i < store->threads.n; i++)
		forget_of(store, store->threads.p[i], before_ns);
}

static void forget_events(struct dnp_tl_store *store, uint64_t before_ns)
{
	size_t losses = 0, marks = 0;

	while (losses < store->losses.n && store->losses.p[losses].until_ns < before_ns)
		losses++;
	while (marks < store->marks.n && store->marks.p[marks].time_ns < before_ns)
		marks++;
	drop_first(&store->losses, losses);
	drop_first(&store->marks, marks);
}

void dnp_tl_store_fit(struct dnp_tl_store *store, uint64_t now_ns)
{
	if (count_bytes(store) <= store->bytes_max)
		return;
	/* Half of what time there is goes, then half of the rest, until a quarter is free. */
	while (count_bytes(store) > store->bytes_max / 4 * 3 && store->from_ns < now_ns) {
		store->from_ns += (now_ns - store->from_ns + 1) / 2;
		forget(store, store->from_ns);
		forget_events(store, store->from_ns);
	}
}

void dnp_tl_store_gap(struct dnp_tl_store *store, uint64_t from_ns)
{
	store->from_ns = from_ns;
	forget(store, from_ns);
	forget_events(store, from_ns);
	for (size_t i = 0; i < store->threads.n; i++) {
		struct dnp_tl_thread *thread = store->threads.p[i];

		thread->before = DNPROF_SLICE_UNKNOWN;
		thread->seen_ns = 0;
		thread->unsure = true;
		if (thread->state != DNP_TL_ENDED)
			thread->state = DNP_TL_UNKNOWN;
	}
}

/* ---- Looking at slices */

size_t dnp_tl_slices(const struct dnp_tl_thread *thread, uint64_t until_ns)
{
	bool goes_on = thread->state == DNP_TL_ON && thread->since_ns < until_ns;

	return thread->slices.n + goes_on;
}

struct dnprof_slice dnp_tl_slice(const struct dnp_tl_thread *thread, size_t i, uint64_t until_ns)
{
	if (i < thread->slices.n)
		return thread->slices.p[i];
	return (struct dnprof_slice){thread->since_ns, until_ns, thread->cpu, DNPROF_SLICE_RUNS, 0};
}

size_t dnp_tl_slice_behind(const struct dnp_tl_thread *thread, uint64_t time_ns)
{
	size_t low = 0, high = thread->slices.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (thread->slices.p[middle].end_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
