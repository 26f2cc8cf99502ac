/* SPDX-License-Identifier: MIT */
#include "launch/processes.h"

#include <errno.h>
#include <stdlib.h>

#include "launch/process.h"
#include "launch/windows/user.h"
#include "os/process.h"

#define COMMAND_BYTES 32768u

int dnp_seen_read(struct dnp_seen *seen)
{
	struct dnp_process process;

	seen->uid = -1;
	dnp_user_name(seen->pid, seen->user);
	/* Of others nobody may know when they began. */
	if (seen->runtime.readable && dnp_process_read(&process, seen->pid))
		return -ESRCH;
	seen->state = 'R';
	seen->command = malloc(COMMAND_BYTES);
	if (seen->command)
		seen->command_bytes =
			dnp_process_command((int)seen->pid, seen->command, COMMAND_BYTES);
	return 0;
}

const char *dnp_seen_unreadable(const struct dnp_seen *seen)
{
	(void)seen;
	return "it belongs to another user; ask from a console of that user";
}
