/* SPDX-License-Identifier: MIT */
/*
 * Traced calls as a log in two parts: each call, indented by two blanks a level, as
 *
 *	Namespace.Type.Method, id=0x7f12…, call count = 3
 *
 * (the count is how often the method has been called so far), then each function once:
 *
 *	Namespace.Type.Method : call count = 3
 *
 * Where calls were recorded as they happened the log is in their order; else it is the tree of
 *calls, each path once, with its count. It streams: memory does not grow with the number of calls.
 */
#ifndef DNP_EXPORT_LOG_H
#define DNP_EXPORT_LOG_H

#include "aggregate/profile.h"
#include "base/sink.h"

#define DNP_LOG_LEVELS 1000u /* of indentation; calls further in tell their depth instead */

/* All-zero: everything, thread by thread. */
struct dnp_log_options {
	const char *const *threads; /* names (patterns) or ids: only these */
	size_t thread_count;
	const char *const *include; /* patterns: only calls of methods that match one */
	size_t include_count;
	const char *const *exclude; /* patterns: no calls of methods that match one */
	size_t exclude_count;
	bool by_time;    /* all threads in the order of time; lines begin with the thread's id */
	bool times;      /* lines begin with the time since the start */
	bool signatures; /* names have the types of arguments */
	bool no_calls, no_summary; /* without the first or the second part */
};

/* What became of it. */
struct dnp_log_outcome {
	uint64_t calls, lost;
	bool incomplete;       /* something is missing: */
	char missing[512];     /* what */
	struct dnp_err absent; /* code is not 0: what the options name is not there */
};

/*
 * Writes the log of all recordings of an input; stops when the sink has failed, which is the
 * caller's to find. 0 or -errno with a sentence: no calls were recorded, no memory. outcome may be
 * NULL.
 */
int dnp_log_put(const struct dnp_input *input, const struct dnp_log_options *options,
	struct dnp_sink *sink, struct dnp_log_outcome *outcome, struct dnp_err *err);

/* The same into a file that appears whole or not at all, never through a link. */
int dnp_log_write(const struct dnp_input *input, const char *path,
	const struct dnp_log_options *options, struct dnp_log_outcome *outcome,
	struct dnp_err *err);

#endif
