/* SPDX-License-Identifier: MIT */
#include "capture/due.h"

#include "format/rec.h"
#include "os/clock.h"
#include "unwind/target.h"

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
	bool before = atomic_load(&managed->thread->flags) & DNP_THREAD_LATE;

	*due = (struct dnp_due){
		.serial = managed->serial,
		.cpu_ns = before ? managed->thread->start_cpu_ns : 0,
		.owed_ns = random_phase(managed->serial, interval_ns),
		.walked_ns = UINT64_MAX,
	};
}

bool dnp_due_look(struct dnp_due *due, const struct dnp_managed *managed, uint32_t events,
	uint64_t interval_ns, uint32_t intervals)
{
	uint64_t cpu_ns = dnp_thread_cpu_ns(managed->thread->tid);

	if (due->serial != managed->serial)
		meet(due, managed, interval_ns);
	if (cpu_ns < due->cpu_ns)
		return false; /* it has gone */
	due->waiting = cpu_ns == due->cpu_ns;
	due->owed_ns += cpu_ns - due->cpu_ns;
	due->cpu_ns = cpu_ns;
	if (events & 1U << DNP_DUE_CPU)
		due->weight[DNP_DUE_CPU] += (uint32_t)(due->owed_ns / interval_ns);
	due->owed_ns %= interval_ns;
	if (events & 1U << DNP_DUE_WALL)
		due->weight[DNP_DUE_WALL] += intervals;
	return due->weight[DNP_DUE_CPU] || due->weight[DNP_DUE_WALL];
}

void dnp_due_look_at_leaf(struct dnp_due *due, const struct dnp_managed *managed,
	dnp_frame_word frames[DNP_DUE_LEAF_MAX])
{
	struct dnp_target_stack stack = {
		.frames = frames, .max = DNP_DUE_LEAF_MAX, .stack = managed->thread->stack};

	due->n_leaf = 0;
	due->asleep = !dnp_target_walk(managed->thread->tid, NULL, DNP_TARGET_ASLEEP, &stack) &&
		dnp_thread_cpu_ns(managed->thread->tid) == due->cpu_ns;
	if (!due->asleep)
		return;
	for (size_t i = 0; i < stack.n; i++)
		if (dnp_frame_is_managed(frames[i]) ||
			(i + 1 == stack.n && stack.stop == DNP_STOP_END)) {
			due->n_leaf = (uint8_t)(dnp_frame_is_managed(frames[i]) ? i : i + 1);
			return;
		}
}
