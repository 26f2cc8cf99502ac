/* SPDX-License-Identifier: MIT */
/* What engines have when they have started goes with forget, also where nothing was ever written.
 */
#include <stdio.h>

#include "activation.h"
#include "capture/engine.h"
#include "test.h"

/* Of address space. */
static unsigned long pages(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long n = 0;

	CHECK(file);
	CHECK_EQ(fscanf(file, "%lu", &n), 1);
	fclose(file);
	return n;
}

TEST(recordings_that_were_never_begun_leave_no_memory)
{
	static const struct dnp_engine *const engines[] = {&dnp_engine_exception, &dnp_engine_gc,
		&dnp_engine_lock_owner, &dnp_engine_mark, &dnp_engine_request};
	struct dnp_agent_options options;
	struct dnp_engine_setting setting = {.options = &options};
	unsigned long started[DNP_ARRAY_SIZE(engines)], left[DNP_ARRAY_SIZE(engines)];
	struct dnp_err err;

	act_as_the_runtime();
	dnp_agent_options_init(&options);
	for (size_t i = 0; i < DNP_ARRAY_SIZE(engines); i++) {
		CHECK_EQ(engines[i]->start(&setting, 0, &err), 0);
		started[i] = pages();
		engines[i]->stop();
		engines[i]->forget();
		left[i] = pages();
	}
	dnp_stop_close();
	/* What the others have is malloc's, which need not give it back. */
	for (size_t i = 0; i < 3; i++)
		CHECK(left[i] < started[i]);
}
