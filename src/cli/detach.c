/* SPDX-License-Identifier: MIT */
/* dnprof detach: the agent leaves. */
#include <stdio.h>

#include "cli/stop.h"
#include "launch/control.h"

/* Has it leave, and waits until it has. One that had a recording a moment ago is there. */
static int leave(const struct dnp_stopped *stopped, struct dnp_err *err)
{
	struct dnp_control *control;
	int ret = dnp_control_open(&control, stopped->pid, stopped->patience_ns, err);

	if (!ret) {
		ret = dnp_control_detach(control, 0, err);
		dnp_control_close(control);
	}
	if (ret == -EALREADY) {
		ret = 0;
		if (!stopped->quiet)
			dnp_say("process %d: its agent is leaving already "
				"(CORPROF_E_PROFILER_DETACHING); this waits until it has gone",
				(int)stopped->pid);
	}
	if ((ret == -ENOENT || ret == -ECONNRESET) && stopped->recorded)
		ret = 0;
	return ret ? ret : dnp_control_wait_gone(stopped->pid, stopped->patience_ns, err);
}

int dnp_cmd_detach(const struct dnp_values *values, int argc, char **argv)
{
	struct dnp_stopped stopped;
	struct dnp_err err = {0};
	int status = dnp_stop("detach", values, argc, argv, &stopped);

	if (status && status != DNP_EXIT_INCOMPLETE)
		return status;
	if (leave(&stopped, &err))
		return dnp_failed(&err);
	if (*stopped.failure)
		dnp_say("process %d was not being recorded any more: %s", (int)stopped.pid,
			stopped.failure);
	if (!stopped.quiet)
		printf("detached from process %d\n", (int)stopped.pid);
	return status;
}
