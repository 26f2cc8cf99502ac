/* SPDX-License-Identifier: MIT */
/* What engines are given (struct dnp_engine_setting) where there is no agent. */
#ifndef DNP_TEST_AGENTLESS_H
#define DNP_TEST_AGENTLESS_H

#include "capture/engine.h"

static inline struct dnp_thread *thread_of(int tid, int before)
{
	int is_new;

	(void)before;
	return dnp_thread_begin(tid, &is_new);
}

static inline int is_ours(int tid)
{
	(void)tid;
	return 0;
}

/* Of none that the runtime knows. */
static inline uintptr_t no_id(void)
{
	return 0;
}

static inline void announce(struct dnp_thread *thread)
{
	(void)thread;
}

#endif
