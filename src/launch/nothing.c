/* SPDX-License-Identifier: MIT */
#include "launch/nothing.h"

#include <errno.h>

static int explain_missing(const struct dnp_nothing *nothing, struct dnp_err *err)
{
	if (nothing->children)
		return dnp_err(err, -ENODATA,
			"nothing was recorded: %s started no .NET program that loads profilers; "
			"look at "
			"what it printed",
			nothing->program);
	if (nothing->saw_runtime)
		return dnp_err(err, -ENODATA,
			"nothing was recorded: the runtime did not load the agent; see whether the "
			"program "
			"switches diagnostics off (EnableDiagnostics in its runtimeconfig.json)");
	if (nothing->ended)
		return dnp_err(err, -ENODATA,
			"nothing was recorded: no .NET runtime was seen in %s, which ended with "
			"%s; "
			"look at what it printed",
			nothing->program, nothing->ended);
	return dnp_err(err, -ENODATA,
		"nothing was recorded: no .NET runtime was seen in %s; look at what it printed",
		nothing->program);
}

static int explain_slot(const struct dnp_session_slot *slot, struct dnp_err *err)
{
	char reason[DNP_SESSION_REASON];

	dnp_session_reason(slot, reason);
	if (dnp_session_slot_state(slot) == DNP_SLOT_FAILED)
		return dnp_err(err, -ENODATA, "nothing was recorded: the agent could not start: %s",
			*reason ? reason : "it did not say why");
	return dnp_err(err, -ENODATA,
		"nothing was recorded: the program ended before its recording began; let it run "
		"longer");
}

int dnp_nothing_explain(const struct dnp_nothing *nothing, struct dnp_err *err)
{
	const struct dnp_session_slot *slot = dnp_session_find(nothing->session, nothing->pid);

	/* With --children the first that failed may be another. */
	if (!slot)
		slot = dnp_session_failed(nothing->session);
	return slot ? explain_slot(slot, err) : explain_missing(nothing, err);
}
