/* SPDX-License-Identifier: MIT */
/* Processes of others, to which an administrator could bring an agent. */
#include <errno.h>
#include <string.h>

#include "launch/attaching.h"
#include "launch/windows/user.h"
#include "os/process.h"

#include "test.h"

static bool is_others;

/* ld's --wrap. */
bool __real_dnp_user_is_own(pid_t pid);
bool __wrap_dnp_user_is_own(pid_t pid);

bool __wrap_dnp_user_is_own(pid_t pid)
{
	return __real_dnp_user_is_own(pid) && !is_others;
}

/* The runtime would load it, and nobody but that user could ask it then, nor have it leave. */
TEST(agent_is_not_brought_to_another_user)
{
	static struct dnp_attaching attach;
	const struct dnp_attach_options agent = {.pid = dnp_process_id()};
	const struct dnp_attach_options other = {.pid = dnp_process_id(), .library = "other.dll"};
	struct dnp_err err = {0};

	attach.options = &agent;
	CHECK_EQ(dnp_target_find(&attach.target, dnp_process_id(), &err), 0);
	CHECK_EQ(dnp_attach_check_program(&attach, &err), 0);
	is_others = true;
	CHECK_EQ(dnp_attach_check_program(&attach, &err), -EACCES);
	CHECK(strstr(err.text, "ask from a console of that user"));
	attach.options = &other;
	CHECK_EQ(dnp_attach_check_program(&attach, &err), 0);
}
