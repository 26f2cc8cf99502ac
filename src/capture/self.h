/* SPDX-License-Identifier: MIT */
/*
 * A thread that samples itself, in a handler of the shared signal: what the engines whose events
 * come that way have in common.
 */
#ifndef DNP_CAPTURE_SELF_H
#define DNP_CAPTURE_SELF_H

#include "base/clean.h"
#include "store/threads.h"

/*
 * The thread is in a handler from here to dnp_self_leave. 0: it was already, and the event is
 * counted as lost; then there is nothing to leave. Sequentially consistent with dnp_self_wait: who
 * first says in memory that samples are not wanted any more, and then waits, meets no handler that
 * has not seen it.
 */
SIGSAFE int dnp_self_enter(struct dnp_thread *thread, unsigned event);
SIGSAFE void dnp_self_leave(struct dnp_thread *thread);

/*
 * Walks the calling thread's stack from the interrupted instruction and stores the sample. Event,
 * weight and time of *sample are the caller's; with `kernel` the sampler's kernel frames come on
 * top. Between enter and leave.
 */
SIGSAFE void dnp_self_sample(
	struct dnp_thread *thread, struct dnp_sample *sample, int kernel, const void *context);

/* Waits until the handler that runs on the thread now, if any, has left. Not in handlers. */
void dnp_self_wait(const struct dnp_thread *thread);

#endif
