/* SPDX-License-Identifier: MIT */
#include "capture/pace.h"

#include "base/random.h"
#include "os/clock.h"
#include "os/thread.h"

#define SECOND_NS     UINT64_C(1000000000)
#define LOOKS_PER_S   5000 /* at all threads together */
#define CPU_SHARE     100  /* the sampler uses one part in so many of a processor's time */
#define PACE_LOOKS    512  /* that its time for a look is an average of */
#define FIRST_LOOK_NS 5000
#define TICK_MAX_NS   UINT64_C(5000000) /* sleeps no longer than that while looks are due */

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void dnp_pace_begin(struct dnp_pace *pace, uint64_t interval_ns)
{
	*pace = (struct dnp_pace){
		.interval_ns = interval_ns, .look_ns = FIRST_LOOK_NS, .random = dnp_now_ns() | 1};
}

uint64_t dnp_pace_slot(const struct dnp_pace *pace, uint32_t n_threads)
{
	uint64_t even = pace->interval_ns / (n_threads ? n_threads : 1);

	return larger(larger(even, SECOND_NS / LOOKS_PER_S), pace->look_ns * CPU_SHARE);
}

uint64_t dnp_pace_rest(struct dnp_pace *pace, uint64_t slot_ns)
{
	uint64_t tick = pace->interval_ns < TICK_MAX_NS ? pace->interval_ns : TICK_MAX_NS;

	tick = larger(tick, slot_ns);
	return tick / 2 + dnp_random_below(&pace->random, tick + 1);
}

uint32_t dnp_pace_due(
	struct dnp_pace *pace, uint64_t passed_ns, uint64_t slot_ns, uint32_t n_threads)
{
	uint64_t due = passed_ns / slot_ns +
		(dnp_random_below(&pace->random, slot_ns) < passed_ns % slot_ns);

	if (due < 1)
		due = 1;
	return due < n_threads ? (uint32_t)due : n_threads;
}

void dnp_pace_looked(struct dnp_pace *pace, uint32_t looks)
{
	uint64_t cpu_ns = dnp_thread_cpu_ns(0), spent_ns = cpu_ns - pace->cpu_ns;

	pace->look_ns = (pace->look_ns * PACE_LOOKS + spent_ns) / (PACE_LOOKS + looks);
	pace->cpu_ns = cpu_ns;
}
