/* SPDX-License-Identifier: MIT */
#include "cli/choice.h"

const bool dnp_choice_snapshot_stops = true;
const bool dnp_choice_tells_waits = true;

int dnp_choice_before(const struct dnp_choice *choice)
{
	(void)choice;
	return DNP_EXIT_DONE;
}

int dnp_choice_suit(struct dnp_choice *choice)
{
	(void)choice;
	return DNP_EXIT_DONE;
}
