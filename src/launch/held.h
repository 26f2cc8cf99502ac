/* SPDX-License-Identifier: MIT */
/*
 * A recording in a running process that lasts as long as this one wants: to a time, to ctrl-C, or
 * to the end of either process. However this one ends, the recording ends well, and an agent that
 * was brought there for it leaves.
 *
 *   dnp_held_begin   as dnp_remote_begin; from then on signals are taken over
 *   dnp_held_wait    until it has to end, ends it, and gives the signals back
 *   dnp_held_wait_gone  until the agent has left
 *   dnp_held_done    frees
 *
 * One at a time, single-threaded.
 */
#ifndef DNP_LAUNCH_HELD_H
#define DNP_LAUNCH_HELD_H

#include "launch/interrupt.h"
#include "launch/remote.h"

struct dnp_held;

struct dnp_held_options {
	struct dnp_remote_options remote; /* it is held, whatever this says */
	uint64_t duration_ns;             /* 0: no limit */
	/* Called about twice a second while it lasts; may be NULL. */
	void (*progress)(void *context, const struct dnp_held *held);
	void *context; /* borrowed */
};

enum dnp_held_end {
	DNP_HELD_ENDED,     /* it was ended here: it is whole */
	DNP_HELD_BY_OTHERS, /* somebody else has had it ended: it is whole */
	DNP_HELD_EXITED,    /* the program has ended, and the recording with it: it is whole */
	DNP_HELD_GONE,      /* the program has died: what was written until then is there */
	DNP_HELD_FAILED,    /* something went wrong, see `why` */
	DNP_HELD_LEFT,      /* the caller was asked twice to end, or the agent does not answer
			     * (`why`): the recording may still be written to */
};

struct dnp_held {
	struct dnp_held_options options;
	struct dnp_remote remote;
	struct dnp_interrupt signals;
	unsigned interrupts; /* how often it was asked to end */
	int root;            /* of the files that the program sees: an O_PATH descriptor, -1 */

	uint64_t start_ns, elapsed_ns;
	uint64_t cpu_before_ns, cpu_ns; /* of the process: until it began, and since */
	uint64_t samples, lost;         /* as last told; only with `progress` */

	enum dnp_held_end end;
	char why[512];
	uint64_t left_ns; /* when the agent was asked to leave */
	bool stays;       /* it was brought there, and did not */
	char why_stays[512];
};

/*
 * 0 or -errno, with nothing left behind; but -EINTR: the signals are still kept. dnp_held_done
 * gives them back, and the one that came takes effect there.
 */
int dnp_held_begin(
	struct dnp_held *held, const struct dnp_held_options *options, struct dnp_err *err);

void dnp_held_wait(struct dnp_held *held);

/*
 * After that: waits, not long, until the runtime has unloaded an agent that was brought there. What
 * takes longer comes about all the same.
 */
void dnp_held_wait_gone(const struct dnp_held *held);
void dnp_held_done(struct dnp_held *held);

#endif
