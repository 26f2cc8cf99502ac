/* SPDX-License-Identifier: MIT */
#include <unistd.h>

#include "capture/due.h"
#include "format/rec.h"
#include "os/clock.h"
#include "os/tasks.h"

#define CREDIT_NS INT64_C(1000000000) /* sleep that may be told of where a thread sleeps next */

/*
 * One that was woken and waits for a processor looks as if it slept on: what was told so and is not
 * made up for by sleep that came later is not told again.
 */
static void settle(struct dnp_due_split *split)
{
	if (split->slept >= 0)
		return;
	split->waited += split->slept;
	split->slept = 0;
}

static void book(struct dnp_due_split *split, const struct dnp_managed *managed, uint64_t cpu_ns)
{
	uint64_t now_ns = dnp_now_ns();
	struct dnp_task_clock clock;
	int64_t ran, waited;

	if (split->cpu_ns == cpu_ns || dnp_task_clock(getpid(), managed->thread->tid, &clock)) {
		split->slept += (int64_t)(now_ns - split->booked_ns);
		split->booked_ns = now_ns;
		return;
	}
	ran = (int64_t)(clock.cpu_ns - split->cpu_ns);
	waited = dnp_task_waited_since(&clock, &split->waited_ns, &split->waits_known);
	split->ran += ran;
	split->waited += waited;
	split->slept += (int64_t)(clock.time_ns - split->booked_ns) - ran - waited;
	split->booked_ns = clock.time_ns;
	split->cpu_ns = clock.cpu_ns;
	settle(split);
}

static uint64_t take(int64_t *left_ns, uint64_t interval_ns)
{
	int64_t n = *left_ns / (int64_t)interval_ns;

	if (n <= 0)
		return 0;
	*left_ns -= n * (int64_t)interval_ns;
	return (uint64_t)n;
}

/* A sample of one frame, which says why there is no other. */
static void put_one(struct dnp_due *due, struct dnp_feed *feed, unsigned index, uint64_t weight,
	enum dnp_walk_kind frame)
{
	struct dnp_sample sample = {
		.time_ns = dnp_now_ns(),
		.weight = weight,
		.flags = DNP_SAMPLE_WAITING,
		.event = (uint8_t)index,
	};

	if (!weight)
		return;
	feed->frames[0] = (dnp_frame_word)frame << DNP_FRAME_SHIFT;
	dnp_feed_put(feed, &sample, 1, DNP_STOP_END, 0);
	due->walked_ns = UINT64_MAX; /* its last stack is another now */
}

/* What was to be told of with a walk that the runtime refused is told as what it is. */
static void take_back(struct dnp_due *due, uint64_t interval_ns)
{
	int64_t ns = (int64_t)(due->weight[DNP_DUE_WALL] * interval_ns);

	*(due->waiting ? &due->split.slept : &due->split.ran) += ns;
	due->weight[DNP_DUE_WALL] = 0;
}

/* Of sleep that no look has seen there may be so much, and no more. */
static uint64_t take_unseen(struct dnp_due_split *split, uint64_t interval_ns)
{
	int64_t unseen = split->slept - CREDIT_NS;
	uint64_t weight = take(&unseen, interval_ns);

	split->slept -= (int64_t)(weight * interval_ns);
	return weight;
}

void dnp_due_split(struct dnp_due *due, const struct dnp_managed *managed, uint64_t interval_ns,
	const unsigned index[DNP_DUE_EVENTS])
{
	struct dnp_feed *feed = &managed->thread->outside;
	struct dnp_due_split *split = &due->split;
	bool has_moved = dnp_due_has_moved(due);

	take_back(due, interval_ns);
	book(split, managed, due->cpu_ns);
	due->waiting = due->asleep;
	/* One that is ready and has not run since: its clocks tell once it has. */
	if (due->asleep)
		due->weight[DNP_DUE_WALL] = take(&split->slept, interval_ns);
	else if (has_moved)
		due->weight[DNP_DUE_WALL] = take(&split->ran, interval_ns);
	if (!has_moved)
		return;
	put_one(due, feed, index[DNP_DUE_WALL], take(&split->waited, interval_ns), DNP_WALK_READY);
	put_one(due, feed, index[DNP_DUE_WALL], take_unseen(split, interval_ns), DNP_WALK_NOT_YET);
}

void dnp_due_split_end(struct dnp_due *due, const struct dnp_managed *managed, uint64_t interval_ns,
	const unsigned index[DNP_DUE_EVENTS], bool there)
{
	struct dnp_due_split *split = &due->split;

	take_back(due, interval_ns);
	if (there)
		book(split, managed, due->cpu_ns);
	put_one(due, &managed->thread->outside, index[DNP_DUE_WALL],
		take(&split->waited, interval_ns), DNP_WALK_READY);
	due->waiting = false;
	due->weight[DNP_DUE_WALL] = take(&split->ran, interval_ns);
}

void dnp_due_split_slept(struct dnp_due *due, uint64_t interval_ns)
{
	due->waiting = true;
	due->weight[DNP_DUE_WALL] = take(&due->split.slept, interval_ns);
}
