/* SPDX-License-Identifier: MIT */
/* What the runtime has said of its suspensions. */
#include "capture/suspension.h"

#include "test.h"

TEST(suspensions_are_somebodys_and_for_something)
{
	CHECK(!dnp_suspension_is_by(5));
	dnp_suspension_begin(true, 5);
	CHECK(dnp_suspension_collects());
	CHECK(dnp_suspension_is_by(5));
	CHECK(!dnp_suspension_is_by(6));
	dnp_suspension_end();
	CHECK(!dnp_suspension_is_by(5));
	CHECK(dnp_suspension_collects()); /* who wakes up late was stopped for that one */
	dnp_suspension_begin(false, 6);
	CHECK(!dnp_suspension_collects());
	CHECK(dnp_suspension_is_by(6));
	/* Its end is told of no more, if a recording ends meanwhile; then another one begins. */
	dnp_suspension_begin(true, 7);
	CHECK(!dnp_suspension_is_by(6));
	CHECK(dnp_suspension_is_by(7));
}
