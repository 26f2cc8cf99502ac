/* SPDX-License-Identifier: MIT */
/* A build for systems whose terminals nothing is drawn on while a program runs. */
#include "cli/live.h"

#include "cli/cli.h"

int dnp_live(pid_t pid, uint64_t duration_ns)
{
	(void)duration_ns;
	dnp_say("no --live in this build; record it, as with 'dnprof timeline -d 10 -o t.html %d'",
		(int)pid);
	return DNP_EXIT_FAILED;
}
