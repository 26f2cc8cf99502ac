/* SPDX-License-Identifier: MIT */
#include "os/ticks.h"

#include <cpuid.h>

#include "os/clock.h"

#define TRIES    8
#define BEGIN_NS UINT64_C(2000000)

bool dnp_ticks_steady(void)
{
	unsigned a, b, c, d;

	/* Invariant TSC: Intel SDM volume 3, 18.17.1; AMD APM volume 3, appendix E.4.7. */
	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}

/* A moment on both clocks; of several looks the one that was disturbed least. */
static void look(uint64_t *ticks, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = dnp_ticks(), now = dnp_now_ns(), took = dnp_ticks() - before;

		if (took >= best)
			continue;
		best = took;
		*ticks = before + took / 2;
		*ns = now;
	}
}

void dnp_ticks_begin(struct dnp_ticks_clock *clock)
{
	look(&clock->first_ticks, &clock->first_ns);
	clock->ticks = clock->first_ticks;
	clock->ns = clock->first_ns;
	clock->scale = 0;
	do
		dnp_ticks_refine(clock);
	while (clock->ns - clock->first_ns < BEGIN_NS);
}

void dnp_ticks_refine(struct dnp_ticks_clock *clock)
{
	uint64_t ticks = clock->ticks, ns = clock->ns;

	look(&ticks, &ns);
	/* Never back, should the counters of two processors differ. */
	if (ticks <= clock->ticks || ns <= clock->ns)
		return;
	clock->ticks = ticks;
	clock->ns = ns;
	clock->scale = (uint64_t)(((unsigned __int128)(ns - clock->first_ns) << 32) /
		(ticks - clock->first_ticks));
}
