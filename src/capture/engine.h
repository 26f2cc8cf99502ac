/* SPDX-License-Identifier: MIT */
/*
 * A source of events that the agent can start and stop. One file in capture/ each.
 *
 * start, thread_begin and stop are called by the agent, outside of handlers; thread_begin for every
 * thread, from any thread (often the one that begins), at any time between start and stop.
 */
#ifndef DNP_CAPTURE_ENGINE_H
#define DNP_CAPTURE_ENGINE_H

#include <stdint.h>

#include "base/err.h"
#include "format/agent_options.h"
#include "store/threads.h"

struct dnp_engine {
	const char *name; /* as after -e on the command line */
	int (*start)(const struct dnp_agent_options *options, struct dnp_err *err);
	/* Where the events come from, for the recording; note may be empty. */
	const char *(*source)(void);
	const char *(*note)(void);
	void (*thread_begin)(struct dnp_thread *thread);
	/* No event comes any more when it returns, and no handler of it runs. */
	void (*stop)(void);
};

extern const struct dnp_engine dnp_engine_cpu;

#endif
