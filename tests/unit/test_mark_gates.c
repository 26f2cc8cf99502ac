/* SPDX-License-Identifier: MIT */
/* The gate of this very program. */
#include <dnprof/mark.h>

#include "os/mark_gates.h"
#include "test.h"

static unsigned said;

static uint64_t say(enum dnprof_say what, uint64_t id, const char *text)
{
	(void)what;
	(void)id;
	(void)text;
	return ++said;
}

/* A call that stays inside for longer than its end is waited for. */
TEST(gate_that_could_not_be_left_is_opened_again)
{
	dnp_mark_gates_open(say);
	dnprof_mark("one");
	CHECK_EQ(said, 1);
	dnprof_mark_gate.inside++;
	CHECK(!dnp_mark_gates_close());
	dnprof_mark("to nobody");
	CHECK_EQ(said, 1);

	dnp_mark_gates_open(say);
	dnprof_mark("two");
	CHECK_EQ(said, 2);
	dnprof_mark_gate.inside--;
	CHECK(dnp_mark_gates_close());
	dnprof_mark("to nobody");
	CHECK_EQ(said, 2);
}
