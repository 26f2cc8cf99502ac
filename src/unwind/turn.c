/* SPDX-License-Identifier: MIT */
#include "unwind/turn.h"

#include <stdatomic.h>

#include "os/clock.h"

static struct {
	_Atomic int busy;
	_Atomic uint32_t turn; /* odd while a walk goes on */
	_Atomic int tid;       /* of the thread that is walked; this and since_ns before the turn */
	_Atomic uint64_t since_ns;
} target;

#define REST_NS UINT64_C(50000)

void dnp_turn_take(int tid)
{
	while (atomic_exchange(&target.busy, 1))
		dnp_sleep_until_ns(dnp_now_ns() + REST_NS);
	atomic_store(&target.since_ns, dnp_now_ns());
	atomic_store(&target.tid, tid);
	atomic_fetch_add(&target.turn, 1);
}

void dnp_turn_end(void)
{
	/* Whoever sees the turn's end sees all that was read and written in it done, and that none
	 * goes on any more. */
	atomic_store(&target.since_ns, UINT64_MAX);
	atomic_fetch_add(&target.turn, 1);
	atomic_store(&target.busy, 0);
}

void dnp_target_wait(int tid)
{
	uint32_t turn = atomic_load(&target.turn);

	if (!(turn & 1) || (tid && atomic_load(&target.tid) != tid))
		return;
	while (atomic_load(&target.turn) == turn)
		dnp_sleep_until_ns(dnp_now_ns() + REST_NS);
}

uint64_t dnp_target_since(void)
{
	uint64_t since_ns = atomic_load(&target.since_ns);

	return since_ns ? since_ns : UINT64_MAX; /* 0: there was never a walk */
}
