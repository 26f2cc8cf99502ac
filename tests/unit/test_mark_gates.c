/* SPDX-License-Identifier: MIT */
/* The gate of this very program. */
#include <dnprof/mark.h>

#include <stdint.h>

#include "os/library.h"
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
	DNPROF_MARK_GATE.inside++;
	CHECK(!dnp_mark_gates_close());
	dnprof_mark("to nobody");
	CHECK_EQ(said, 1);

	dnp_mark_gates_open(say);
	dnprof_mark("two");
	CHECK_EQ(said, 2);
	DNPROF_MARK_GATE.inside--;
	CHECK(dnp_mark_gates_close());
	dnprof_mark("to nobody");
	CHECK_EQ(said, 2);
}

static void load_one(void)
{
	void *library = dnp_library_open(NEW_LIBRARY);

	CHECK(library);
	dnp_library_close(library);
}

/* What it says at once is not to wait for anybody to look for it. */
TEST(library_that_comes_during_a_recording_says_what_it_has_to_say)
{
	load_one();
	CHECK_EQ(said, 0);
	for (unsigned times = 1; times <= 3; times++) {
		dnp_mark_gates_open(say);
		load_one();
		CHECK_EQ(said, times);
		CHECK(dnp_mark_gates_close());
		load_one();
		CHECK_EQ(said, times);
	}
}

/* One that was there before is closed with the rest, and one that came meanwhile, too. */
TEST(library_that_came_during_a_recording_says_no_more_after_it)
{
	void *library;
	void (*again)(void);

	dnp_mark_gates_open(say);
	library = dnp_library_open(NEW_LIBRARY);
	CHECK(library);
	*(void **)&again = dnp_library_function(library, "say_again");
	CHECK(again);
	again();
	CHECK_EQ(said, 2);
	CHECK(dnp_mark_gates_close());
	again();
	CHECK_EQ(said, 2);
	dnp_mark_gates_open(say);
	again();
	CHECK_EQ(said, 3);
	CHECK(dnp_mark_gates_close());
	dnp_library_close(library);
}
