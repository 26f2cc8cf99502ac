/* SPDX-License-Identifier: MIT */
/* Why threads wait, on systems that let nobody read it from outside without stopping them: not
 * said. */
#include "capture/engine.h"
#include "capture/wait.h"

void dnp_wait_write(struct dnp_writer *writer, int last)
{
	(void)writer;
	(void)last;
}

void dnp_wait_write_stats(struct dnp_writer *writer)
{
	(void)writer;
}

void dnp_wait_close(void)
{
}

static bool never(const struct dnp_agent_options *options)
{
	(void)options;
	return false;
}

const struct dnp_engine dnp_engine_wait = {
	.event = "wait",
	.unit = "ns",
	.accompanies = never,
};
