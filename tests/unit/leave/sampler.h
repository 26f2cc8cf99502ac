/* SPDX-License-Identifier: MIT */
/*
 * A library that samples the process it is loaded into, as the agent does, and can be unloaded: all
 * of the agent but what talks to the runtime.
 */
#ifndef DNP_TEST_LEAVE_SAMPLER_H
#define DNP_TEST_LEAVE_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

/* What it exports, by the name `sampler`. */
struct sampler {
	/* 0 or -errno. */
	int (*start)(const char *events, uint64_t interval_ns);
	/* Samples that were taken. */
	uint64_t (*stop)(void);
	/* Nothing of it is left, and no thread is in it. */
	bool (*forget)(uint64_t patience_ns);
	int (*keep)(void);
};

#endif
