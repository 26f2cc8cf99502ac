/* SPDX-License-Identifier: MIT */
#include <unistd.h>

#include "capture/due.h"
#include "format/rec.h"
#include "os/clock.h"
#include "os/tasks.h"

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
	bool begun = !split->waited_ns;
	int64_t ran, waited;

	if (split->cpu_ns == cpu_ns || dnp_task_clock(getpid(), managed->thread->tid, &clock)) {
		split->slept += (int64_t)(now_ns - split->booked_ns);
		split->booked_ns = now_ns;
		return;
	}
	/* What it had waited before is not known, and not of this recording. */
	ran = (int64_t)(clock.cpu_ns - split->cpu_ns);
	waited = begun ? 0 : (int64_t)(clock.wait_ns - split->waited_ns);
	split->ran += ran;
	split->waited += waited;
	split->slept += (int64_t)(clock.time_ns - split->booked_ns) - ran - waited;
	split->booked_ns = clock.time_ns;
	split->cpu_ns = clock.cpu_ns;
	split->waited_ns = clock.wait_ns;
	settle(split);
}

static uint32_t take(int64_t *left_ns, uint64_t interval_ns)
{
	int64_t n = *left_ns / (int64_t)interval_ns;

	if (n <= 0)
		return 0;
	n = n < UINT16_MAX ? n : UINT16_MAX;
	*left_ns -= n * (int64_t)interval_ns;
	return (uint32_t)n;
}

static void put_waited(struct dnp_due *due, struct dnp_feed *feed, unsigned index, uint32_t weight)
{
	struct dnp_sample sample = {
		.time_ns = dnp_now_ns(),
		.weight = (uint16_t)weight,
		.flags = DNP_SAMPLE_WAITING,
		.event = (uint8_t)index,
	};

	feed->frames[0] = (dnp_frame_word)DNP_WALK_READY << DNP_FRAME_SHIFT;
	dnp_feed_put(feed, &sample, 1, DNP_STOP_END, 0);
	due->walked_ns = UINT64_MAX; /* its last stack is another now */
}

void dnp_due_split(struct dnp_due *due, const struct dnp_managed *managed, uint64_t interval_ns,
	const unsigned index[DNP_DUE_EVENTS])
{
	struct dnp_due_split *split = &due->split;
	bool has_moved = dnp_due_has_moved(due);
	uint32_t waited;

	book(split, managed, due->cpu_ns);
	due->waiting = due->asleep;
	/* One that is ready and has not run since: its clocks tell once it has. */
	if (due->asleep)
		due->weight[DNP_DUE_WALL] += take(&split->slept, interval_ns);
	else if (has_moved)
		due->weight[DNP_DUE_WALL] += take(&split->ran, interval_ns);
	waited = has_moved ? take(&split->waited, interval_ns) : 0;
	if (waited)
		put_waited(due, &managed->thread->outside, index[DNP_DUE_WALL], waited);
}

void dnp_due_split_end(struct dnp_due *due, const struct dnp_managed *managed, uint64_t interval_ns,
	const unsigned index[DNP_DUE_EVENTS])
{
	due->asleep = false;
	due->walked_ns = UINT64_MAX;
	dnp_due_split(due, managed, interval_ns, index);
}

void dnp_due_split_slept(struct dnp_due *due, uint64_t interval_ns)
{
	due->waiting = true;
	due->weight[DNP_DUE_WALL] += take(&due->split.slept, interval_ns);
}
