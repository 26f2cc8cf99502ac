/* SPDX-License-Identifier: MIT */
/* Which thread of the recording it is that the kernel tells of. */
#include "agentless.h"
#include "capture/wait.h"
#include "switches/taker.h"
#include "test.h"

#define US       UINT64_C(1000)
#define SECOND   UINT64_C(1000000000)
#define NONE_TID 4194303 /* no thread has the largest id there can be */

static bool is_known(uint64_t begin_ns, uint64_t end_ns, uint64_t *index)
{
	return dnp_switch_taker()->known(NONE_TID, begin_ns, end_ns, index);
}

static void check_known(const struct dnp_thread *thread, uint64_t index)
{
	uint64_t start_ns = thread->start_ns, found = UINT64_MAX;

	CHECK(is_known(0, 0, &found));
	CHECK_EQ(found, index);
	CHECK(is_known(start_ns - US, start_ns + US, &found));
	/* It was listed before it was told. */
	found = UINT64_MAX;
	CHECK(is_known(start_ns + 32 * US, 0, &found));
	CHECK_EQ(found, index);
	CHECK(is_known(start_ns + 32 * US, start_ns + 500 * US, &found));
	/* Others with that id, before and after it. */
	CHECK(!is_known(start_ns - SECOND, start_ns - US, &found));
	CHECK(!is_known(start_ns + SECOND, start_ns + 2 * SECOND, &found));
}

TEST(a_thread_that_was_listed_before_it_was_told_is_known)
{
	const struct dnp_engine_setting setting = {.is_ours = is_ours, .announce = announce};
	struct dnp_thread *thread, copy;
	struct dnp_err err;
	int is_new;

	dnp_threads_init(16, DNP_EVENTS_MAX);
	if (dnp_engine_switch.start(&setting, 0, &err))
		FAIL("%s", err.text);
	thread = dnp_thread_begin(NONE_TID, &is_new);
	CHECK(thread && is_new);
	check_known(thread, thread->index);
	/* The same when it has gone, and what it did is told later. */
	copy = *thread;
	dnp_engine_switch.thread_end(thread);
	dnp_thread_release(thread);
	check_known(&copy, copy.index);
	dnp_engine_switch.stop();
	dnp_taker_close(dnp_switch_taker());
}
