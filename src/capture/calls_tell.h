/* SPDX-License-Identifier: MIT */
/* What threads' trees of calls counted → records. The recorder, with the lock of call_times.h. */
#ifndef DNP_CAPTURE_CALLS_TELL_H
#define DNP_CAPTURE_CALLS_TELL_H

#include "capture/calls.h"
#include "os/ticks.h"
#include "store/writer.h"

struct dnp_calls_teller {
	struct dnp_writer *writer;           /* borrowed */
	unsigned event;                      /* index */
	const struct dnp_ticks_clock *ticks; /* of timed trees; NULL: they are not timed */
};

/*
 * Writes the nodes and the counts that are new since the last time, if there are any. `all`: also
 * if nothing but the time of open calls is.
 */
void dnp_calls_tell(const struct dnp_calls_teller *teller, struct dnp_calls *calls, bool all);

#endif
