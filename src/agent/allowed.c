/* SPDX-License-Identifier: MIT */
#include "agent/allowed.h"

#include <stdatomic.h>

#include "os/gate.h"

static struct dnp_gate gate; /* by enum dnp_allowed */
static _Atomic bool forked;  /* this is a child that the program has forked */

void dnp_allowed_set(unsigned what)
{
	dnp_gate_open(&gate, what);
}

bool dnp_allowed_enter(unsigned what)
{
	return dnp_gate_enter(&gate, what);
}

void dnp_allowed_leave(void)
{
	dnp_gate_leave(&gate);
}

void dnp_allowed_forked(void)
{
	atomic_store(&forked, true);
	dnp_gate_clear(&gate);
}

bool dnp_allowed_is_forked(void)
{
	return atomic_load(&forked);
}
