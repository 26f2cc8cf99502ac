/* SPDX-License-Identifier: MIT */
/* Nothing of ours interrupts threads, and none of the program's calls us without the runtime. */
#include "os/leave.h"
#include "os/sampler_state.h"

bool dnp_signal_left(uint64_t patience_ns)
{
	(void)patience_ns;
	return true;
}

void dnp_sampler_stop(struct dnp_sampler *sampler)
{
	(void)sampler;
}
