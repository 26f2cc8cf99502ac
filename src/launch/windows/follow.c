/* SPDX-License-Identifier: MIT */
#include "launch/follow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/clock.h"
#include "os/spawn.h"

#define MS_NS UINT64_C(1000000)

struct dnp_follow_os {
	struct dnp_spawned child;
};

static int begin(struct dnp_follow *follow, struct dnp_err *err)
{
	follow->os = calloc(1, sizeof(*follow->os));
	if (!follow->os)
		return dnp_err(err, -ENOMEM, "%s", strerror(ENOMEM));
	dnp_interrupts_count();
	return 0;
}

/* Where Windows looks for a program, and whether it runs one, it tells who starts it. */
int dnp_follow_command(struct dnp_follow *follow, char *const *command, struct dnp_err *err)
{
	*follow = (struct dnp_follow){.command = command};
	return begin(follow, err);
}

int dnp_follow_process(struct dnp_follow *follow, int pid, struct dnp_err *err)
{
	*follow = (struct dnp_follow){.pid = pid};
	return begin(follow, err);
}

int dnp_follow_make(struct dnp_follow *follow, struct dnp_err *err)
{
	int failed = dnp_spawn(&follow->os->child, follow->command, err);

	if (!failed)
		follow->pid = follow->os->child.pid;
	return failed;
}

int dnp_follow_go(struct dnp_follow *follow, struct dnp_err *err)
{
	(void)err;
	dnp_spawned_go(&follow->os->child);
	return 0;
}

void dnp_follow_abandon(struct dnp_follow *follow)
{
	dnp_spawned_abandon(&follow->os->child);
}

void dnp_follow_wait(struct dnp_follow *follow, int timeout_ms)
{
	uint32_t status;

	if (!follow->command) {
		dnp_sleep_until_ns(dnp_now_ns() + (uint64_t)timeout_ms * MS_NS);
	} else if (dnp_spawned_wait(&follow->os->child, (unsigned)timeout_ms, &status)) {
		follow->ended = true;
		follow->how.status = status;
	}
	follow->interrupts = dnp_interrupts();
}

/* They stay counted: what else is to be done is short. */
void dnp_follow_leave(struct dnp_follow *follow)
{
	follow->interrupts = dnp_interrupts();
}

void dnp_follow_done(struct dnp_follow *follow)
{
	if (follow->os)
		dnp_spawned_done(&follow->os->child);
	free(follow->os);
	follow->os = NULL;
}
