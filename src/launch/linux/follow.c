/* SPDX-License-Identifier: MIT */
#include "launch/follow.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/child.h"
#include "launch/interrupt.h"
#include "launch/program.h"

struct dnp_follow_os {
	struct dnp_program program;
	struct dnp_child child;
	struct dnp_interrupt signals; /* of a process that runs already */
};

static int begin(struct dnp_follow *follow, struct dnp_err *err)
{
	follow->os = calloc(1, sizeof(*follow->os));
	return follow->os ? 0 : dnp_err(err, -ENOMEM, "%s", strerror(ENOMEM));
}

int dnp_follow_command(struct dnp_follow *follow, char *const *command, struct dnp_err *err)
{
	int failed;

	*follow = (struct dnp_follow){.command = command};
	failed = begin(follow, err);
	return failed ? failed : dnp_program_find(&follow->os->program, command[0], err);
}

int dnp_follow_process(struct dnp_follow *follow, int pid, struct dnp_err *err)
{
	int failed;

	*follow = (struct dnp_follow){.pid = pid};
	failed = begin(follow, err);
	return failed ? failed : dnp_interrupt_take(&follow->os->signals, err);
}

static int enter(void *context)
{
	const struct dnp_follow *follow = context;

	execv(follow->os->program.path, follow->command);
	return -errno;
}

int dnp_follow_make(struct dnp_follow *follow, struct dnp_err *err)
{
	int failed = dnp_child_fork(&follow->os->child, enter, follow, err);

	if (!failed)
		follow->pid = follow->os->child.pid;
	return failed;
}

int dnp_follow_go(struct dnp_follow *follow, struct dnp_err *err)
{
	int failed = dnp_child_release(&follow->os->child);

	return failed ? dnp_err(err, failed, "cannot start %s: %s", follow->os->program.path,
				strerror(-failed))
		      : 0;
}

void dnp_follow_abandon(struct dnp_follow *follow)
{
	dnp_child_abandon(&follow->os->child);
}

void dnp_follow_wait(struct dnp_follow *follow, int timeout_ms)
{
	struct dnp_follow_os *os = follow->os;
	struct pollfd ready = {.fd = os->signals.fd, .events = POLLIN};

	if (!follow->command) {
		poll(&ready, 1, timeout_ms);
		follow->interrupts += dnp_interrupt_count(&os->signals);
		return;
	}
	dnp_child_wait(&os->child, timeout_ms);
	follow->interrupts = os->child.interrupts;
	follow->ended = os->child.ended;
	if (follow->ended)
		follow->how = dnp_child_ended(&os->child);
}

void dnp_follow_leave(struct dnp_follow *follow)
{
	if (follow->command)
		dnp_child_done(&follow->os->child);
	else
		dnp_interrupt_give_back(&follow->os->signals);
}

void dnp_follow_done(struct dnp_follow *follow)
{
	if (follow->os)
		dnp_program_done(&follow->os->program);
	free(follow->os);
	follow->os = NULL;
}
