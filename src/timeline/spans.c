/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clean.h"
#include "timeline/timeline.h"

#define WIDTH_MAX 65536u

struct range {
	uint64_t from_ns, until_ns;
};

/* The threads that a question is about: one, or all of other processes. */
struct subject {
	const struct dnp_tl_store *store;
	const struct dnp_tl_thread *one; /* NULL: the others */
};

static int find_subject(dnprof_timeline *timeline, uint64_t id, struct subject *subject)
{
	const struct dnp_tl_store *store = &timeline->store;
	size_t place = dnp_tl_store_place(store, id);

	*subject = (struct subject){.store = store};
	if (!timeline->has_picture)
		return -ENODATA;
	if (id == DNPROF_OTHERS)
		return timeline->backend == DNPROF_TIMELINE_CPUS ? 0 : -ENOENT;
	if (place >= store->threads.n || store->threads.p[place]->id != id)
		return -ENOENT;
	subject->one = store->threads.p[place];
	return 0;
}

/* The next thread of the subject at place i or behind it; NULL: none. */
static const struct dnp_tl_thread *next_of(const struct subject *subject, size_t *i)
{
	const struct dnp_tl_store *store = subject->store;

	if (subject->one)
		return (*i)++ ? NULL : subject->one;
	while (*i < store->threads.n) {
		const struct dnp_tl_thread *thread = store->threads.p[(*i)++];

		if (thread->pid != store->pid)
			return thread;
	}
	return NULL;
}

/* What of a range is in the picture, and has not been forgotten since. False: nothing. */
static bool cut(const dnprof_timeline *timeline, struct range *range)
{
	if (range->from_ns < timeline->from_ns)
		range->from_ns = timeline->from_ns;
	if (range->from_ns < timeline->store.from_ns)
		range->from_ns = timeline->store.from_ns;
	if (range->until_ns > timeline->until_ns)
		range->until_ns = timeline->until_ns;
	return range->from_ns < range->until_ns;
}

/* ---- Spans */

static void paint(const struct dnp_tl_thread *thread, uint64_t until_ns, const struct range *cut_to,
	const struct range *graph, uint32_t width, unsigned char *pixels)
{
	uint64_t length = graph->until_ns - graph->from_ns;
	size_t n = dnp_tl_slices(thread, until_ns);

	for (size_t i = dnp_tl_slice_behind(thread, cut_to->from_ns); i < n; i++) {
		struct dnprof_slice slice = dnp_tl_slice(thread, i, until_ns);
		double first, last;
		uint32_t begin, end;

		if (slice.start_ns >= cut_to->until_ns)
			break;
		if (slice.start_ns < cut_to->from_ns)
			slice.start_ns = cut_to->from_ns;
		if (slice.end_ns > cut_to->until_ns)
			slice.end_ns = cut_to->until_ns;
		first = (double)(slice.start_ns - graph->from_ns) * width / (double)length;
		last = (double)(slice.end_ns - graph->from_ns) * width / (double)length;
		begin = (uint32_t)first;
		end = (uint32_t)last + (last > (uint32_t)last);
		if (begin >= width)
			begin = width - 1;
		if (end <= begin)
			end = begin + 1;
		if (end > width)
			end = width;
		memset(pixels + begin, 1, end - begin);
	}
}

static int collect(const unsigned char *pixels, uint32_t width, struct dnprof_span *spans)
{
	int n = 0;

	for (uint32_t x = 0; x < width; x++) {
		uint32_t start = x;

		while (x < width && pixels[x])
			x++;
		if (x > start)
			spans[n++] = (struct dnprof_span){start, x};
	}
	return n;
}

static int draw(dnprof_timeline *timeline, uint64_t id, const struct range *graph, uint32_t width,
	struct dnprof_span *spans)
{
	auto_free unsigned char *pixels = calloc(width, 1);
	const struct dnp_tl_thread *thread;
	struct range part = *graph;
	struct subject subject;
	size_t at = 0;
	int failed = find_subject(timeline, id, &subject);

	if (failed)
		return failed;
	if (!pixels)
		return -ENOMEM;
	if (!cut(timeline, &part))
		return 0;
	while ((thread = next_of(&subject, &at)))
		paint(thread, timeline->until_ns, &part, graph, width, pixels);
	return collect(pixels, width, spans);
}

int dnprof_timeline_spans(dnprof_timeline *timeline, uint64_t thread, uint64_t from_ns,
	uint64_t until_ns, uint32_t width, struct dnprof_span *spans)
{
	struct range graph = {from_ns, until_ns};
	int result;

	if (!timeline || !spans || !width || width > WIDTH_MAX || from_ns >= until_ns)
		return -EINVAL;
	pthread_mutex_lock(&timeline->lock);
	result = draw(timeline, thread, &graph, width, spans);
	pthread_mutex_unlock(&timeline->lock);
	return result;
}

/* ---- Slices */

static int64_t list(dnprof_timeline *timeline, uint64_t id, struct range part,
	struct dnprof_slice *slices, size_t max)
{
	struct subject subject;
	int failed = find_subject(timeline, id, &subject);
	uint64_t until_ns = timeline->until_ns;
	int64_t n = 0;

	if (failed)
		return failed;
	if (!subject.one)
		return -EINVAL;
	if (!cut(timeline, &part))
		return 0;
	for (size_t i = dnp_tl_slice_behind(subject.one, part.from_ns),
		    end = dnp_tl_slices(subject.one, until_ns);
		i < end; i++) {
		struct dnprof_slice slice = dnp_tl_slice(subject.one, i, until_ns);

		if (slice.start_ns >= part.until_ns)
			break;
		if ((size_t)n < max)
			slices[n] = slice;
		n++;
	}
	return n;
}

int64_t dnprof_timeline_slices(dnprof_timeline *timeline, uint64_t thread, uint64_t from_ns,
	uint64_t until_ns, struct dnprof_slice *slices, size_t max)
{
	int64_t result;

	if (!timeline || (!slices && max) || from_ns >= until_ns)
		return -EINVAL;
	pthread_mutex_lock(&timeline->lock);
	result = list(timeline, thread, (struct range){from_ns, until_ns}, slices, max);
	pthread_mutex_unlock(&timeline->lock);
	return result;
}

/* ---- Times */

static uint64_t overlap(const struct range *range, uint64_t from_ns, uint64_t until_ns)
{
	uint64_t from = from_ns > range->from_ns ? from_ns : range->from_ns;
	uint64_t until = until_ns < range->until_ns ? until_ns : range->until_ns;

	return until > from ? until - from : 0;
}

/* Time without a processor, by what ended the slice before it. */
static void add_gap(struct dnprof_thread_time *time, uint16_t how, uint64_t length_ns)
{
	if (how == DNPROF_SLICE_PREEMPTED)
		time->preempted_ns += length_ns;
	else if (how == DNPROF_SLICE_WAITS)
		time->blocked_ns += length_ns;
}

static void add_slices(const struct dnp_tl_thread *thread, const struct range *part,
	uint64_t until_ns, struct dnprof_thread_time *time)
{
	size_t i = dnp_tl_slice_behind(thread, part->from_ns), n = dnp_tl_slices(thread, until_ns);
	uint64_t gap_ns = i ? thread->slices.p[i - 1].end_ns : thread->begin_ns;
	uint16_t how = i ? thread->slices.p[i - 1].how : thread->before;

	for (; i < n; i++) {
		struct dnprof_slice slice = dnp_tl_slice(thread, i, until_ns);

		add_gap(time, how, overlap(part, gap_ns, slice.start_ns));
		time->on_cpu_ns += overlap(part, slice.start_ns, slice.end_ns);
		gap_ns = slice.end_ns;
		how = slice.how;
		if (gap_ns >= part->until_ns)
			break;
		time->voluntary += how == DNPROF_SLICE_WAITS;
		time->involuntary += how == DNPROF_SLICE_PREEMPTED;
	}
	if (thread->state == DNP_TL_ENDED && thread->end_ns < until_ns)
		until_ns = thread->end_ns;
	add_gap(time, how, overlap(part, gap_ns, until_ns));
}

/*
 * Until when the clock stood as it had been read at place i: up to a reading that says the same,
 * and where it is looked at again and again, up to the last look.
 */
static uint64_t stood_until(const struct dnp_tl_thread *thread, bool looked_at, size_t i)
{
	const struct dnp_task_clock *clock = &thread->checkpoints.p[i];

	if (i + 1 < thread->checkpoints.n)
		return clock[1].cpu_ns == clock->cpu_ns && clock[1].wait_ns == clock->wait_ns
			? clock[1].time_ns
			: clock->time_ns;
	return looked_at && thread->seen_ns > clock->time_ns ? thread->seen_ns : clock->time_ns;
}

/* From the first moment in the range at which it is known what the clock said to the last. */
static void add_clock(const struct dnp_tl_thread *thread, bool looked_at, const struct range *part,
	struct dnprof_thread_time *time)
{
	const struct dnp_task_clock *p = thread->checkpoints.p, *first, *last;
	size_t i = dnp_tl_checkpoint_from(thread, part->from_ns), n = thread->checkpoints.n;
	uint64_t from_ns = part->from_ns, until_ns;

	if (i && stood_until(thread, looked_at, i - 1) >= from_ns)
		i--;
	else if (i < n)
		from_ns = p[i].time_ns;
	if (i == n)
		return;
	first = last = &p[i];
	while (last + 1 < p + n && last[1].time_ns <= part->until_ns)
		last++;
	until_ns = stood_until(thread, looked_at, (size_t)(last - p));
	if (until_ns > part->until_ns)
		until_ns = part->until_ns;
	if (until_ns <= from_ns)
		return;
	time->checkpoint_from_ns = from_ns;
	time->checkpoint_until_ns = until_ns;
	time->cpu_ns = last->cpu_ns - first->cpu_ns;
	time->ready_ns = last->wait_ns > first->wait_ns ? last->wait_ns - first->wait_ns : 0;
}

static int add_up(
	dnprof_timeline *timeline, uint64_t id, struct range part, struct dnprof_thread_time *time)
{
	const struct dnp_tl_thread *thread;
	struct range clocks = part;
	struct subject subject;
	size_t at = 0;
	int failed = find_subject(timeline, id, &subject);

	if (failed)
		return failed;
	/* Clocks are read a moment after the last switch that is told. */
	if (clocks.until_ns >= timeline->until_ns)
		clocks.until_ns = timeline->clocks_until_ns;
	if (subject.one)
		add_clock(subject.one, !timeline->switches, &clocks, time);
	if (!cut(timeline, &part) || !timeline->switches)
		return 0;
	while ((thread = next_of(&subject, &at)))
		add_slices(thread, &part, timeline->until_ns, time);
	if (!subject.one)
		time->preempted_ns = time->blocked_ns = 0;
	return 0;
}

int dnprof_timeline_thread_time(dnprof_timeline *timeline, uint64_t thread, uint64_t from_ns,
	uint64_t until_ns, struct dnprof_thread_time *out)
{
	struct dnprof_thread_time time = {0};
	int failed;

	if (!timeline || !out || from_ns >= until_ns)
		return -EINVAL;
	pthread_mutex_lock(&timeline->lock);
	failed = add_up(timeline, thread, (struct range){from_ns, until_ns}, &time);
	pthread_mutex_unlock(&timeline->lock);
	return failed ? failed : dnp_tl_give(out, &time, sizeof(time));
}
