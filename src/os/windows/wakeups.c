/* SPDX-License-Identifier: MIT */
#include "os/wakeups.h"

#include <errno.h>

/* As of switches: by event tracing, to administrators. */
int dnp_wakeups_open(struct dnp_wakeups **wakeups, struct dnp_err *err)
{
	*wakeups = NULL;
	return dnp_err(err, -ENOSYS,
		"who wakes whom cannot be recorded on Windows: it is told by event tracing only, "
		"and that to administrators, which dnprof does not use; leave --wakeups away");
}

void dnp_wakeups_close(struct dnp_wakeups *wakeups)
{
	(void)wakeups;
}

uint64_t dnp_wakeups_end(struct dnp_wakeups *wakeups,
	void (*visit)(const struct dnp_wakeup *wakeup, void *context), void *context)
{
	dnp_wakeups_read(wakeups, visit, context);
	return 0;
}

void dnp_wakeups_read(struct dnp_wakeups *wakeups,
	void (*visit)(const struct dnp_wakeup *wakeup, void *context), void *context)
{
	(void)wakeups;
	(void)visit;
	(void)context;
}
