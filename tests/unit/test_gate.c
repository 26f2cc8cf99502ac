/* SPDX-License-Identifier: MIT */
/* Gates that are closed while many come. */
#include <pthread.h>
#include <sched.h>

#include "os/gate.h"
#include "test.h"

#define COMERS 8

static struct dnp_gate gate;
static _Atomic bool over;
static _Atomic unsigned let_in;
static _Atomic unsigned rounds[COMERS];

static void *come(void *arg)
{
	_Atomic unsigned *round = arg;

	while (!atomic_load(&over)) {
		if (dnp_gate_enter(&gate, 1)) {
			atomic_fetch_add(&let_in, 1);
			dnp_gate_leave(&gate);
		}
		atomic_fetch_add(round, 1);
	}
	return NULL;
}

/* Until each of them has come anew. */
static void await_all(void)
{
	for (int i = 0; i < COMERS; i++) {
		unsigned before = atomic_load(&rounds[i]);

		while (atomic_load(&rounds[i]) - before < 2)
			sched_yield();
	}
}

/* Who comes to a closed gate keeps nobody waiting who closes it. */
TEST(those_that_a_gate_refuses_are_never_inside)
{
	pthread_t comers[COMERS];
	unsigned before, inside = 0;

	atomic_store(&over, false);
	dnp_gate_open(&gate, 1);
	for (int i = 0; i < COMERS; i++)
		CHECK_EQ(pthread_create(&comers[i], NULL, come, &rounds[i]), 0);
	await_all();
	CHECK(atomic_load(&let_in) > 0);
	dnp_gate_open(&gate, 0);
	before = atomic_load(&let_in);
	await_all();
	for (int i = 0; i < 2000000; i++)
		inside += atomic_load(&gate.inside);
	CHECK_EQ(inside, 0);
	CHECK_EQ(atomic_load(&let_in), before);
	atomic_store(&over, true);
	for (int i = 0; i < COMERS; i++)
		pthread_join(comers[i], NULL);
	CHECK_EQ(atomic_load(&gate.inside), 0);
}

TEST(gate_is_open_for_some)
{
	dnp_gate_open(&gate, 2);
	CHECK(!dnp_gate_enter(&gate, 1));
	CHECK(dnp_gate_enter(&gate, 2));
	dnp_gate_leave(&gate);
	dnp_gate_open(&gate, 0);
	CHECK(!dnp_gate_enter(&gate, 2));
}
