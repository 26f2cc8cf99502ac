/* SPDX-License-Identifier: MIT */
#include "launch/remote.h"

#include "base/clean.h"
#include "launch/interrupt.h"
#include "launch/process.h"
#include "os/clock.h"

/* The runtime takes 0.3 s to unload a profiler, in the rule; one that starts is up in less. */
#define UNSETTLED_NS      UINT64_C(2000000000)
#define UNSETTLED_LOOK_NS UINT64_C(10000000)

/* All that can fail here does so before the process is touched. */
static int make_place(struct dnp_remote *remote, struct dnp_err *err)
{
	int ret = dnp_output_open(&remote->output, remote->options.output, err);

	if (!ret)
		ret = dnp_output_name(&remote->output, remote->options.pid, err);
	return ret ? ret : dnp_output_make_recording(&remote->output, &remote->recording, err);
}

static int connect_to(struct dnp_remote *remote, struct dnp_err *err)
{
	const struct dnp_remote_options *options = &remote->options;
	int ret = dnp_control_open(&remote->control, options->pid, options->patience_ns, err);

	if (!ret)
		dnp_control_interrupt_by(remote->control, options->interrupt);
	return ret;
}

/*
 * An agent without a socket has just come and will have one, or is leaving; or its library could
 * not be unloaded. Waits until it is there or has gone, as far as it can be waited for.
 */
static void await_settled(pid_t pid, uint64_t patience_ns, int interrupt)
{
	uint64_t wait_ns = patience_ns < UNSETTLED_NS ? patience_ns : UNSETTLED_NS;
	uint64_t until_ns = dnp_now_ns() + wait_ns;

	while (dnp_process_has_agent(pid) && dnp_control_presence(pid) != DNP_HERE &&
		dnp_now_ns() < until_ns &&
		!dnp_interrupt_sleep(interrupt, dnp_now_ns() + UNSETTLED_LOOK_NS))
		;
}

/* What an agent answers that is not there, or in a moment will not be. */
static bool is_away(int failed)
{
	return failed == -ENOENT || failed == -EALREADY;
}

/*
 * An agent that another one has sent away ends the connections that came too late to be refused.
 * What was asked there was not done, or an answer would have come before, and may be asked again.
 */
static bool was_cut_off(pid_t pid, int asked)
{
	return asked == -ECONNRESET && dnp_process_has_runtime(pid);
}

/*
 * The agent did not answer, as `err` says: brings it there. 0, -EALREADY: it is there all the same,
 * or another -errno with err.
 */
static int bring_agent(pid_t pid, uint64_t patience_ns, int interrupt,
	struct dnp_attached *attached, struct dnp_err *err)
{
	const struct dnp_attach_options options = {
		.pid = pid,
		.timeout_ns = patience_ns,
		.passing = true,
		.interrupt = interrupt,
	};

	await_settled(pid, patience_ns, interrupt);
	return dnp_attach(&options, attached, err);
}

/*
 * Somebody else has sent it away before it was asked, or while it was; or it was leaving already,
 * and was still there for the runtime. One that is there and cannot be asked has no socket.
 */
static bool may_bring_again(pid_t pid, int asked, int brought, uint64_t until_ns)
{
	if (dnp_now_ns() >= until_ns)
		return false;
	return !brought || asked == -EALREADY || asked == -ECONNRESET ||
		!dnp_process_has_agent(pid);
}

/* Of an agent that was brought for what is done, or did not come about: whether it goes is not
 * told. */
static void send_away(pid_t pid, uint64_t patience_ns)
{
	struct dnp_control *control;

	if (dnp_control_open(&control, pid, patience_ns, NULL))
		return;
	dnp_control_detach(control, DNP_DETACH_OWN, NULL);
	dnp_control_close(control);
}

static int start_with(struct dnp_remote *remote, int fd, struct dnp_err *err)
{
	unsigned flags = remote->options.hold ? DNP_START_HOLD : 0;

	if (remote->attached && remote->options.hold)
		flags |= DNP_START_DETACH;
	return dnp_control_start(remote->control, fd, &remote->options.agent, flags, err);
}

/* 0, -ENOENT, -EALREADY: the agent is not there, or is leaving; or another -errno with err. */
static int start_in_agent(struct dnp_remote *remote, int fd, struct dnp_err *err)
{
	int ret = connect_to(remote, err);

	return ret ? ret : start_with(remote, fd, err);
}

/* Has the agent begin, which may have to be brought there. */
static int start(struct dnp_remote *remote, int fd, struct dnp_err *err)
{
	const struct dnp_remote_options *options = &remote->options;
	uint64_t until_ns = dnp_now_ns() + options->patience_ns;
	int brought, ret = start_in_agent(remote, fd, err);

	while ((is_away(ret) || was_cut_off(options->pid, ret)) && options->attach) {
		dnp_control_close(remote->control);
		remote->control = NULL;
		brought = bring_agent(
			options->pid, options->patience_ns, options->interrupt, &remote->how, err);
		if (brought && brought != -EALREADY)
			return brought;
		remote->attached = !brought;
		ret = start_in_agent(remote, fd, err);
		if (!may_bring_again(options->pid, ret, brought, until_ns))
			break;
	}
	return ret;
}

/* What is recorded from now on survives this process. */
static int place(struct dnp_remote *remote, struct dnp_err *err)
{
	int ret = dnp_output_place_recording(
		&remote->output, remote->options.raw, &remote->recording, err);

	if (!ret)
		dnp_output_clean(&remote->output);
	return ret;
}

/* Of one that nobody holds: its connection was closed when it had begun. */
static void end_recording(const struct dnp_remote *remote)
{
	struct dnp_control_ended ended;
	struct dnp_control *control;
	int fd;

	if (dnp_control_open(&control, remote->options.pid, remote->options.patience_ns, NULL))
		return;
	if (!dnp_control_stop(control, &fd, &ended, NULL))
		close(fd);
	dnp_control_close(control);
}

/* It did not come about: the process is left as it was. */
static void give_up(struct dnp_remote *remote, bool started)
{
	if (started && !remote->options.hold)
		end_recording(remote);
	if (started && remote->attached)
		dnp_control_detach(remote->control, DNP_DETACH_OWN, NULL);
	else if (remote->attached)
		send_away(remote->options.pid, remote->options.patience_ns);
	dnp_remote_done(remote);
}

int dnp_remote_begin(
	struct dnp_remote *remote, const struct dnp_remote_options *options, struct dnp_err *err)
{
	auto_close int fd = -1;
	bool started;
	int ret;

	*remote = (struct dnp_remote){.options = *options};
	fd = make_place(remote, err);
	ret = fd < 0 ? fd : start(remote, fd, err);
	started = !ret;
	if (!ret)
		ret = place(remote, err);
	/* Who is interrupted does not wait: an agent that nobody uses leaves by itself. */
	if (ret == -EINTR)
		remote->attached = false;
	if (!ret)
		return 0;
	/* Not every system removes a file that is open. */
	if (fd >= 0)
		close(fd);
	fd = -1;
	give_up(remote, started);
	return ret;
}

void dnp_remote_done(struct dnp_remote *remote)
{
	dnp_control_close(remote->control);
	dnp_output_done(&remote->output);
	free(remote->recording);
	*remote = (struct dnp_remote){0};
}

int dnp_remote_stack(pid_t pid, uint64_t patience_ns, int interrupt, int *fd, struct dnp_err *err)
{
	uint64_t until_ns = dnp_now_ns() + patience_ns;
	struct dnp_attached how;
	bool attached = false;
	int brought, ret = dnp_control_stack(pid, patience_ns, interrupt, fd, err);

	while (is_away(ret) || was_cut_off(pid, ret)) {
		brought = bring_agent(pid, patience_ns, interrupt, &how, err);
		if (brought && brought != -EALREADY)
			return brought;
		attached = !brought;
		ret = dnp_control_stack(pid, patience_ns, interrupt, fd, err);
		if (!may_bring_again(pid, ret, brought, until_ns))
			break;
	}
	if (attached && ret != -EINTR)
		send_away(pid, patience_ns);
	return ret;
}
