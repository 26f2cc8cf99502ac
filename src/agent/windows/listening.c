/* SPDX-License-Identifier: MIT */
/*
 * CoreCLR 10 for Windows has an error. Where memory lies so low that an address fits into 32 bits
 * with its sign, its compiler finds only when it writes the code that a method's addresses are not
 * as it had thought, and compiles it once more; the room of the first try stays in the list of a
 * dynamic method. When that is freed, the runtime looks there for a header of code. Who writes code
 * by way of a second mapping of its memory (W^X) has not written one: a null pointer, and the end
 * of the program ("Internal CLR error", UnwindInfoTable::UnpublishUnwindInfoForMethod).
 *
 * Listening brings such methods into programs that have none: the runtime's own sources of events
 * are described by attributes, whose setters are called by them. That of Dnprof.Mark has nothing
 * that would be set.
 *
 * Windows has no such addresses for programs of 64 bits in the rule. Wine has.
 */
#include <errno.h>

#include "agent/listening.h"
#include "os/windows/mapped_code.h"

static bool makes_dynamic_methods(const struct dnp_provider_wish *wishes)
{
	for (enum dnp_provider i = 0; i < DNP_PROVIDERS; i++)
		if (wishes[i].keywords && i != DNP_PROVIDER_MARK)
			return true;
	return false;
}

int dnp_listening_check(
	const struct dnp_provider_wish *wishes, const char *events, struct dnp_err *err)
{
	if (!makes_dynamic_methods(wishes) || !dnp_mapped_code_is_below(0, DNP_LOW_CODE_END))
		return 0;
	return dnp_err(err, -EOPNOTSUPP,
		"'%s' cannot be recorded in this program: its runtime would end it, for an error "
		"that it has where code lies low in memory, as under Wine; start it with "
		"DOTNET_EnableWriteXorExecute=0, or with 'dnprof run', or record cpu, wall, "
		"exception, load, switch, mark and safepoint alone",
		events);
}
