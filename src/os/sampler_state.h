/* SPDX-License-Identifier: MIT */
/* What is kept of a thread that a clock interrupts; what it does is in os/sampler.h. */
#ifndef DNP_OS_SAMPLER_STATE_H
#define DNP_OS_SAMPLER_STATE_H

#include <stdint.h>

enum dnp_sampler_source {
	DNP_SAMPLER_AUTO = 0,
	DNP_SAMPLER_TRAPS, /* os/traps.h: of all threads together */
	DNP_SAMPLER_PERF,
	DNP_SAMPLER_TIMER,
};

/* The sampler of one thread. Zeroed memory is a stopped one. */
struct dnp_sampler {
	enum dnp_sampler_source source;
	int fd;                    /* owned, perf */
	int timer;                 /* owned, timer: kernel id */
	void *ring;                /* owned, perf: mapped, NULL: no kernel frames */
	const void *trap;          /* traps: of the last one, for its kernel frames */
	uint64_t begun_ns;         /* traps: CPU time when its handler began */
	uint64_t now_ns, since_ns; /* traps: when it came, and when the one before did */
	uint64_t interval_ns;      /* of CPU time */
	uint64_t random;    /* what follows is the handler's: state of the generator of intervals */
	uint64_t period_ns; /* perf: the interval that runs now */
	uint64_t expected_ns; /* CPU time at which this sample is due */
	int exhausted; /* perf: no more signals will come until the kernel is asked for more */
};

/* Gives all back. The thread must have ended, or be known to be outside of its handler for good. */
void dnp_sampler_stop(struct dnp_sampler *sampler);

#endif
