/* SPDX-License-Identifier: MIT */
/*
 * The runtime's own events, delivered in the process: an EventPipe session (ICorProfilerInfo12),
 * one for all engines of a recording that want one. The runtime delivers an event on the thread
 * that it happens on, before that goes on.
 */
#ifndef DNP_AGENT_PIPE_H
#define DNP_AGENT_PIPE_H

#include "base/err.h"
#include "capture/engine.h"
#include "clr/com.h"
#include "clr/prf.h"

/*
 * Begins to have wishes[DNP_PROVIDERS] delivered; none: nothing is done. `events`:
 * as asked for, for messages. 0, or -errno with err. By who starts recordings, as stop. An own
 * thread calls `meanwhile` (NULL: it does nothing) every now and then until the runtime has
 * answered.
 */
int dnp_pipe_start(const struct dnp_provider_wish *wishes, const char *events,
	void (*meanwhile)(void), struct dnp_err *err);

/*
 * No event is delivered any more when it returns. False: there was no memory to say so to the
 * runtime, which goes on to make them, and must not be left before it is said.
 */
bool dnp_pipe_stop(void);

/* Tells an event of a provider that is known, on the thread that it happened on. */
void dnp_pipe_delivered(EVENTPIPE_PROVIDER provider, uint32_t id, uint32_t version,
	const uint8_t *data, size_t bytes, void (*tell)(const struct dnp_delivered *delivered));

#endif
