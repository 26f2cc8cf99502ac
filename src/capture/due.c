/* SPDX-License-Identifier: MIT */
#include "capture/due.h"

#include <string.h>

#include "format/rec.h"
#include "os/clock.h"

/* A number in [0, interval), different for each thread. */
static uint64_t random_phase(uint64_t serial, uint64_t interval_ns)
{
	uint64_t x = serial * UINT64_C(0x9E3779B97F4A7C15);

	x ^= x >> 29;
	x *= UINT64_C(0xBF58476D1CE4E5B9);
	x ^= x >> 32;
	return x % interval_ns;
}

static void meet(struct dnp_due *due, const struct dnp_managed *managed, uint64_t interval_ns)
{
	*due = (struct dnp_due){
		.serial = managed->serial,
		.cpu_ns = managed->since_cpu_ns,
		.part_ns = random_phase(managed->serial, interval_ns),
		.until_ns = managed->since_ns,
		.life_ns = random_phase(~managed->serial, interval_ns),
		.split =
			{
				.ran = (int64_t)random_phase(managed->serial, interval_ns),
				.waited = (int64_t)random_phase(managed->serial + 1, interval_ns),
				.slept = (int64_t)random_phase(managed->serial + 2, interval_ns),
				.booked_ns = managed->since_ns,
				.cpu_ns = managed->since_cpu_ns,
				.waits_known = !managed->since_cpu_ns, /* it began then */
			},
		.walked_ns = UINT64_MAX,
	};
}

/*
 * Of the time that has passed until then, as many as are due since the last look: each thread
 * counts by itself, from when it began to when it is looked at, which may be long after its turn.
 */
static uint64_t intervals(struct dnp_due *due, uint64_t now_ns, const struct dnp_due_round *round)
{
	uint64_t n;

	if (now_ns > due->until_ns)
		due->life_ns += now_ns - due->until_ns;
	due->until_ns = now_ns;
	n = due->life_ns / round->interval_ns;
	due->life_ns %= round->interval_ns;
	return n;
}

/* What it has used and lived until then. */
static bool book(
	struct dnp_due *due, uint64_t cpu_ns, uint64_t now_ns, const struct dnp_due_round *round)
{
	uint64_t turn_ns;

	due->owed_ns += cpu_ns - due->cpu_ns;
	due->cpu_ns = cpu_ns;
	turn_ns = due->owed_ns < round->most_ns ? due->owed_ns : round->most_ns;
	due->owed_ns -= turn_ns;
	due->part_ns += turn_ns;
	if (round->events & 1U << DNP_DUE_CPU)
		due->weight[DNP_DUE_CPU] += due->part_ns / round->interval_ns;
	due->part_ns %= round->interval_ns;
	if (round->splits && round->events & 1U << DNP_DUE_WALL)
		return true;
	if (round->events & 1U << DNP_DUE_WALL)
		due->weight[DNP_DUE_WALL] += intervals(due, now_ns, round);
	return due->weight[DNP_DUE_CPU] || due->weight[DNP_DUE_WALL];
}

bool dnp_due_look(
	struct dnp_due *due, const struct dnp_managed *managed, const struct dnp_due_round *round)
{
	uint64_t now_ns = dnp_now_ns(), cpu_ns; /* its clock is there after that */

	if (due->serial != managed->serial)
		meet(due, managed, round->interval_ns);
	if (dnp_thread_cpu_of(managed->thread->tid, &cpu_ns) || cpu_ns < due->cpu_ns)
		return false; /* it has gone */
	if (!round->splits)   /* else it says what the weight is that may still be due */
		due->waiting = cpu_ns == due->cpu_ns;
	return book(due, cpu_ns, now_ns, round);
}

bool dnp_due_gone(
	struct dnp_due *due, const struct dnp_managed *managed, const struct dnp_due_round *round)
{
	return due->serial == managed->serial && book(due, due->cpu_ns, due->until_ns, round);
}

SIGSAFE void dnp_due_store(struct dnp_due *due, struct dnp_feed *feed,
	const unsigned index[DNP_DUE_EVENTS], uint32_t n, uint64_t walk_ns)
{
	for (enum dnp_due_event event = 0; event < DNP_DUE_EVENTS; event++) {
		struct dnp_sample sample = {
			.time_ns = dnp_now_ns(),
			.weight = due->weight[event],
			.flags = due->flags,
			.event = (uint8_t)index[event],
		};

		if (!sample.weight)
			continue;
		if (event == DNP_DUE_WALL && due->waiting)
			sample.flags |= DNP_SAMPLE_WAITING;
		due->weight[event] = 0;
		if (dnp_feed_put(feed, &sample, n, due->stop, walk_ns))
			memcpy(feed->frames, feed->before, n * sizeof(feed->frames[0]));
		else
			due->walked_ns = UINT64_MAX; /* nobody keeps it */
		walk_ns = 0;
	}
}
