/* SPDX-License-Identifier: MIT */
/* Marks of this very program, as a recording takes them. */
#include <dnprof/mark.h>

#include <errno.h>
#include <string.h>

#include "capture/engine.h"
#include "test.h"

/* Stopped by a debugger, say: what it writes to must not go. */
TEST(marks_wait_for_who_stands_in_one_since_the_last_recording)
{
	static const struct dnp_engine_setting setting;
	struct dnp_err err;

	CHECK_EQ(dnp_engine_mark.start(&setting, 0, &err), 0);
	CHECK(dnprof_mark_is_on());
	DNPROF_MARK_GATE.inside++;
	dnp_engine_mark.stop();
	CHECK_EQ(dnp_engine_mark.start(&setting, 0, &err), -EBUSY);
	CHECK(strstr(err.text, "stood in a mark"));
	CHECK(!dnprof_mark_is_on());
	DNPROF_MARK_GATE.inside--;
	CHECK_EQ(dnp_engine_mark.start(&setting, 0, &err), 0);
	CHECK(dnprof_mark_is_on());
	dnp_engine_mark.stop();
}
