/* SPDX-License-Identifier: MIT */
/*
 * A gate that is closed for good only when nobody is inside any more: what calls of others pass
 * that come at any time, until they are not to come any more.
 *
 *   if (dnp_gate_enter(&gate, WHAT)) {
 *           …
 *           dnp_gate_leave(&gate);
 *   }
 *
 * Any thread; zeroed it is closed.
 */
#ifndef DNP_OS_GATE_H
#define DNP_OS_GATE_H

#include <stdatomic.h>
#include <stdbool.h>

struct dnp_gate {
	_Atomic unsigned open;   /* a bit for each kind of caller */
	_Atomic unsigned inside; /* callers that are about to look at `open`, or were let in */
};

/* Whether it is open for this kind; then the caller has to leave. Waits for nobody. */
static inline bool dnp_gate_enter(struct dnp_gate *gate, unsigned what)
{
	/* Those that it refuses keep nobody waiting. */
	if (!(atomic_load_explicit(&gate->open, memory_order_relaxed) & what))
		return false;
	/* Sequentially consistent with dnp_gate_open: we see that, or it sees us. */
	atomic_fetch_add(&gate->inside, 1);
	if (atomic_load(&gate->open) & what)
		return true;
	atomic_fetch_sub(&gate->inside, 1);
	return false;
}

static inline void dnp_gate_leave(struct dnp_gate *gate)
{
	atomic_fetch_sub(&gate->inside, 1);
}

/*
 * Opens it for these kinds and closes it for all others: if it was open for one of those, waits
 * until nobody is inside.
 */
void dnp_gate_open(struct dnp_gate *gate, unsigned kinds);

/* In a forked child, where those that were inside go on nowhere: closed, and nobody inside. */
void dnp_gate_clear(struct dnp_gate *gate);

#endif
