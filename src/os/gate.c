/* SPDX-License-Identifier: MIT */
#include "os/gate.h"

#include "os/clock.h"

#define REST_NS UINT64_C(20000)

void dnp_gate_open(struct dnp_gate *gate, unsigned kinds)
{
	unsigned before = atomic_exchange(&gate->open, kinds);

	while (before & ~kinds && atomic_load(&gate->inside))
		dnp_sleep_until_ns(dnp_now_ns() + REST_NS);
}

void dnp_gate_clear(struct dnp_gate *gate)
{
	atomic_store(&gate->open, 0);
	atomic_store(&gate->inside, 0);
}
