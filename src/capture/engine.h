/* SPDX-License-Identifier: MIT */
/*
 * A source of events that the agent can start and stop. One file in capture/ each; several can run
 * at once, each with an event index of its own.
 *
 * All are called by the agent, outside of handlers. start comes first, on the thread that the
 * runtime initialises on; thread_begin for every thread, from any thread (often the one that
 * begins), at any time between start and stop. An entry that is NULL is not wanted.
 */
#ifndef DNP_CAPTURE_ENGINE_H
#define DNP_CAPTURE_ENGINE_H

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "format/agent_options.h"
#include "store/threads.h"

struct dnp_info;

/* What engines are told at their start. Outlives them. */
struct dnp_engine_setting {
	const struct dnp_agent_options *options;
	struct dnp_info *info;   /* of the runtime */
	int (*is_ours)(int tid); /* whether a thread is the profiler's own */
};

/* So many times so far could a thread not be sampled at all, for that reason. */
typedef void (*dnp_failure_tell)(unsigned event, const char *reason, uint64_t count);

struct dnp_engine {
	const char *event; /* as after -e on the command line */
	enum dnp_engine_choice choice;
	/* Flags that the runtime must have been given before (SetEventMask2), beyond the agent's.
	 */
	uint32_t events_low;
	/* `index`: of its event, in samples and counters. 0 or -errno; err says why. */
	int (*start)(const struct dnp_engine_setting *setting, unsigned index, struct dnp_err *err);
	/* Where the events come from, for the recording; note may be empty. After start. */
	const char *(*source)(void);
	const char *(*note)(void);
	void (*thread_begin)(struct dnp_thread *thread);
	/* It has gone; its record will be used for another. On the recorder's thread. */
	void (*thread_end)(struct dnp_thread *thread);
	/*
	 * Of the runtime's threads: `id` is the ThreadID. managed_end is called while the thread
	 * and its ThreadID are still there, also after stop, and returns when nothing of the engine
	 * looks at them any more.
	 */
	void (*managed_begin)(uintptr_t id, struct dnp_thread *thread);
	void (*managed_end)(uintptr_t id, int tid);
	/*
	 * Since when walks on threads of the engine's own go on whose samples are not stored yet
	 * (dnp_now_ns), UINT64_MAX: there are none. What is freed must be older.
	 */
	uint64_t (*walking_since)(void);
	/* No event comes any more when it returns, and no handler of it runs. */
	void (*stop)(void);
	/* Calls tell for each reason there was. On the recorder's thread. */
	void (*failures)(unsigned index, dnp_failure_tell tell);
};

/* The engine for an event, NULL: there is none. */
const struct dnp_engine *dnp_engine_find(struct dnp_str event, enum dnp_engine_choice choice);

extern const struct dnp_engine dnp_engine_cpu;
extern const struct dnp_engine dnp_engine_snapshot_cpu;
extern const struct dnp_engine dnp_engine_snapshot_wall;
extern const struct dnp_engine dnp_engine_wall;

#endif
