/* SPDX-License-Identifier: MIT */
#include "capture/suspension.h"

#include <stdatomic.h>

static _Atomic bool collects;
static _Atomic int by; /* 0: none goes on */

void dnp_suspension_begin(bool collection, int tid)
{
	atomic_store(&collects, collection);
	atomic_store(&by, tid);
}

void dnp_suspension_end(void)
{
	atomic_store(&by, 0);
}

bool dnp_suspension_is_by(int tid)
{
	return atomic_load(&by) == tid;
}

bool dnp_suspension_collects(void)
{
	return atomic_load(&collects);
}
