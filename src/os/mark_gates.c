/* SPDX-License-Identifier: MIT */
#include "os/mark_gates.h"

#include <stddef.h>

#include "os/clock.h"
#include "os/mark_gate.h"

#define REST_NS     UINT64_C(50000)
#define PATIENCE_NS UINT64_C(5000000000)

static dnprof_mark_function opened; /* to whom; NULL: to nobody */

/* The counterpart of dnprof_mark_say: calls that we do not see inside see the gate closed. */
void dnp_mark_gate_turn(struct dnprof_mark_gate *gate, struct dnp_mark_visit *visit)
{
	dnprof_mark_function now = __atomic_load_n(&gate->say, __ATOMIC_SEQ_CST);

	if (!visit->closes) {
		if (!now)
			__atomic_store_n(&gate->say, opened, __ATOMIC_SEQ_CST);
		return;
	}
	if (now == opened)
		__atomic_store_n(&gate->say, NULL, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&gate->inside, __ATOMIC_SEQ_CST))
		visit->busy = true;
}

void dnp_mark_gates_open(dnprof_mark_function say)
{
	struct dnp_mark_visit visit = {0};

	opened = say;
	/* First: a library that is not there yet when all are visited is told when it is. */
	dnp_mark_gates_later(say);
	dnp_mark_gates_visit(&visit);
}

bool dnp_mark_gates_close(void)
{
	uint64_t until_ns = dnp_now_ns() + PATIENCE_NS;
	struct dnp_mark_visit visit = {.closes = true};

	dnp_mark_gates_later(NULL);
	while (opened) {
		visit.busy = false;
		if (dnp_mark_gates_visit(&visit) && !visit.busy)
			opened = NULL;
		else if (dnp_now_ns() >= until_ns)
			return false;
		else
			dnp_sleep_until_ns(dnp_now_ns() + REST_NS);
	}
	return true;
}
