/* SPDX-License-Identifier: MIT */
/*
 * Nobody but administrators is told of switches, by way of event tracing, of which this knows
 * nothing: opening says so, and what is there for an open one is never called.
 */
#include "os/switches.h"

#include <errno.h>

int dnp_switches_open(struct dnp_switches **switches, const struct dnp_switches_options *options,
	struct dnp_err *err)
{
	*switches = NULL;
	if (options->all)
		return dnp_err(err, -ENOSYS,
			"switches of all processes cannot be recorded on Windows, which tells "
			"of them to administrators only");
	return dnp_err(err, -ENOSYS, "Windows tells of switches to administrators only");
}

void dnp_switches_close(struct dnp_switches *switches)
{
	(void)switches;
}

void dnp_switches_start(struct dnp_switches *switches)
{
	(void)switches;
}

void dnp_switches_stop(struct dnp_switches *switches)
{
	(void)switches;
}

size_t dnp_switches_ring_bytes(const struct dnp_switches *switches)
{
	(void)switches;
	return 0;
}

void dnp_switches_wait(struct dnp_switches *switches, int bell, uint64_t deadline_ns)
{
	(void)switches;
	(void)bell;
	(void)deadline_ns;
}

uint64_t dnp_switches_read(struct dnp_switches *switches, dnp_switch_visit *visit, void *context)
{
	(void)switches;
	(void)visit;
	(void)context;
	return 0;
}
