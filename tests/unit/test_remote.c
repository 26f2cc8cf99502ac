/* SPDX-License-Identifier: MIT */
/*
 * Stacks and recordings of a process that need not have the agent: what is asked again, against
 * agents made up.
 */
#include "launch/remote.h"

#include <errno.h>

#include "base/clean.h"
#include "launch/interrupt.h"
#include "launch/process.h"
#include "os/clock.h"
#include "os/file.h"

#include "test.h"

#define PID      4242
#define PATIENCE UINT64_C(3600000000000)

static struct {
	const int *answers, *brought; /* one after the other; the last stays */
	unsigned asked, attached, detached;
	bool has_agent, has_runtime;
	bool leaves; /* its agent has gone once somebody has wanted to bring one */
} process;

static int next(const int *results, unsigned *n)
{
	int result = results[*n];

	if (results[*n + 1] != INT_MAX)
		++*n;
	return result;
}

static int answer(struct dnp_err *err)
{
	static unsigned at;
	int code = next(process.answers, &at);

	process.asked++;
	return code ? dnp_err(err, code, "answer %u", process.asked) : 0;
}

int dnp_control_stack(pid_t pid, uint64_t patience_ns, int interrupt, int *fd, struct dnp_err *err)
{
	int failed = answer(err);

	(void)patience_ns;
	CHECK_EQ(pid, PID);
	CHECK_EQ(interrupt, -1);
	if (!failed)
		*fd = 77;
	return failed;
}

int dnp_attach(
	const struct dnp_attach_options *options, struct dnp_attached *out, struct dnp_err *err)
{
	static unsigned at;
	int brought = next(process.brought, &at);

	CHECK_EQ(options->pid, PID);
	*out = (struct dnp_attached){0};
	process.attached++;
	process.has_agent &= !process.leaves;
	return brought ? dnp_err(err, brought, "not brought") : 0;
}

bool dnp_process_has_agent(pid_t pid)
{
	(void)pid;
	return process.has_agent;
}

bool dnp_process_has_runtime(pid_t pid)
{
	(void)pid;
	return process.has_runtime;
}

enum dnp_presence dnp_control_presence(pid_t pid)
{
	(void)pid;
	return DNP_HERE;
}

int dnp_control_open(struct dnp_control **out, pid_t pid, uint64_t patience_ns, struct dnp_err *err)
{
	(void)pid;
	(void)patience_ns;
	(void)err;
	*out = NULL;
	return 0;
}

int dnp_control_detach(struct dnp_control *control, unsigned flags, struct dnp_err *err)
{
	(void)control;
	(void)err;
	CHECK_EQ(flags, DNP_DETACH_OWN);
	process.detached++;
	return 0;
}

void dnp_control_close(struct dnp_control *control)
{
	(void)control;
}

void dnp_control_interrupt_by(struct dnp_control *control, int fd)
{
	(void)control;
	(void)fd;
}

int dnp_control_start(struct dnp_control *control, int fd, const struct dnp_agent_options *options,
	unsigned flags, struct dnp_err *err)
{
	(void)control;
	(void)options;
	CHECK(fd >= 0);
	CHECK(flags & DNP_START_HOLD);
	return answer(err);
}

int dnp_control_stop(
	struct dnp_control *control, int *fd, struct dnp_control_ended *ended, struct dnp_err *err)
{
	(void)control;
	(void)fd;
	(void)ended;
	return dnp_err(err, -ENOSYS, "no recording");
}

bool dnp_interrupt_sleep(int fd, uint64_t until_ns)
{
	(void)fd;
	dnp_sleep_until_ns(until_ns);
	return false;
}

static int record(const int *answers, const int *brought)
{
	const struct dnp_remote_options options = {
		.pid = PID,
		.patience_ns = PATIENCE,
		.output = "remote-test.tmp.dnp",
		.raw = true,
		.attach = true,
		.hold = true,
		.interrupt = -1,
	};
	struct dnp_remote remote;
	struct dnp_err err = {0};
	int ret;

	process.answers = answers;
	process.brought = brought;
	process.has_agent = process.has_runtime = true;
	ret = dnp_remote_begin(&remote, &options, &err);
	CHECK(!ret || *err.text);
	if (!ret)
		dnp_remote_done(&remote);
	dnp_file_remove(options.output);
	return ret;
}

static int stack(const int *answers, const int *brought, uint64_t patience_ns)
{
	struct dnp_err err = {0};
	int fd = -1, ret;

	process.answers = answers;
	process.brought = brought;
	process.has_agent = process.has_runtime = true;
	ret = dnp_remote_stack(PID, patience_ns, -1, &fd, &err);
	CHECK_EQ(fd, ret ? -1 : 77);
	CHECK(!ret || *err.text); /* no failure without a word */
	return ret;
}

#define RESULTS(...) ((const int[]){__VA_ARGS__, INT_MAX})

TEST(stack_of_an_agent_that_is_there)
{
	CHECK_EQ(stack(RESULTS(0), RESULTS(0), PATIENCE), 0);
	CHECK_EQ(process.attached, 0);
	CHECK_EQ(process.detached, 0);
}

TEST(stack_brings_the_agent_and_sends_it_away)
{
	CHECK_EQ(stack(RESULTS(-ENOENT, 0), RESULTS(0), PATIENCE), 0);
	CHECK_EQ(process.attached, 1);
	CHECK_EQ(process.detached, 1);
}

/* One that others send away is asked for as long as there is time, however often it is cut off. */
TEST(stack_is_asked_for_again_when_an_agent_that_leaves_ends_the_connection)
{
	CHECK_EQ(stack(RESULTS(-ECONNRESET, -ECONNRESET, -EALREADY, -ECONNRESET, 0),
			 RESULTS(-EALREADY, -EALREADY, 0, -EALREADY), PATIENCE),
		0);
	CHECK_EQ(process.asked, 5);
	CHECK_EQ(process.attached, 4);
}

TEST(stack_is_not_asked_for_without_end)
{
	CHECK_EQ(stack(RESULTS(-ECONNRESET), RESULTS(-EALREADY), 1), -ECONNRESET);
	CHECK_EQ(process.asked, 2);
}

TEST(stack_of_an_agent_without_a_socket)
{
	CHECK_EQ(stack(RESULTS(-ENOENT), RESULTS(-EALREADY), PATIENCE), -ENOENT);
	CHECK_EQ(process.asked, 2);
}

/* The runtime has it still, when it has no socket any more; then neither. */
TEST(stack_is_asked_for_again_when_the_agent_was_about_to_leave)
{
	process.leaves = true;
	CHECK_EQ(stack(RESULTS(-ENOENT, -ENOENT, 0), RESULTS(-EALREADY, 0), PATIENCE), 0);
	CHECK_EQ(process.attached, 2);
	CHECK_EQ(process.detached, 1);
}

TEST(stack_of_a_process_to_which_no_agent_comes)
{
	CHECK_EQ(stack(RESULTS(-ENOENT), RESULTS(-EPERM), PATIENCE), -EPERM);
	CHECK_EQ(process.asked, 1);
	CHECK_EQ(process.detached, 0);
}

/* Whoever was cut off there was not told that it has begun. */
TEST(recording_is_asked_for_again_when_an_agent_that_leaves_ends_the_connection)
{
	CHECK_EQ(record(RESULTS(-ECONNRESET, -ENOENT, 0), RESULTS(-EALREADY, 0)), -ENOENT);
	CHECK_EQ(process.asked, 2); /* one without a socket */
}

TEST(recording_begins_when_the_agent_was_about_to_leave)
{
	process.leaves = true;
	CHECK_EQ(record(RESULTS(-ECONNRESET, -ENOENT, -ECONNRESET, 0), RESULTS(-EALREADY, 0)), 0);
	CHECK_EQ(process.attached, 3);
}

TEST(recording_that_is_refused_is_not_asked_for_again)
{
	CHECK_EQ(record(RESULTS(-EBUSY), RESULTS(0)), -EBUSY);
	CHECK_EQ(process.asked, 1);
	CHECK_EQ(process.attached, 0);
}
