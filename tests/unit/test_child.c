/* SPDX-License-Identifier: MIT */
/* The program as a child process that waits at the gate. */
#include "launch/child.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static int enter(void *context)
{
	(void)context;
	_exit(7);
}

static void wait_for_end(const struct dnp_child *child)
{
	siginfo_t info;

	while (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOWAIT) && errno == EINTR)
		;
}

static struct dnp_ended end(struct dnp_child *child)
{
	while (!child->ended)
		dnp_child_wait(child, 1000);
	dnp_child_done(child);
	return dnp_child_ended(child);
}

TEST(child_begins_when_it_is_released)
{
	struct dnp_child child;

	CHECK_EQ(dnp_child_fork(&child, enter, NULL, NULL), 0);
	CHECK_EQ(dnp_child_release(&child), 0);
	CHECK_EQ(end(&child).status, 7);
}

TEST(child_that_is_abandoned_ends)
{
	struct dnp_child child;

	CHECK_EQ(dnp_child_fork(&child, enter, NULL, NULL), 0);
	dnp_child_abandon(&child);
	CHECK_EQ(dnp_child_ended(&child).status, 1);
}

/* Whoever releases it must not go with it. */
TEST(child_that_was_killed_at_the_gate_shows_so)
{
	struct dnp_child child;

	CHECK_EQ(dnp_child_fork(&child, enter, NULL, NULL), 0);
	CHECK_EQ(kill(child.pid, SIGKILL), 0);
	wait_for_end(&child);
	CHECK_EQ(dnp_child_release(&child), 0);
	CHECK_EQ(end(&child).signal, SIGKILL);
}
