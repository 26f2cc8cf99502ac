/* SPDX-License-Identifier: MIT */
#include "launch/held.h"

#include <string.h>

#include "base/clean.h"
#include "format/rec.h"
#include "launch/process.h"
#include "os/clock.h"

#define TICK_NS UINT64_C(500000000)

/* A runtime takes 0.3 s to unload a profiler, and if it oversleeps then, 5 s more. */
#define GONE_NS UINT64_C(1000000000)

/* How long a progress line waits for figures. */
#define FIGURES_NS UINT64_C(100000000)

static uint64_t read_cpu(const struct dnp_held *held, uint64_t otherwise_ns)
{
	struct dnp_process process;

	return dnp_process_read(&process, held->options.remote.pid) ? otherwise_ns : process.cpu_ns;
}

int dnp_held_begin(
	struct dnp_held *held, const struct dnp_held_options *options, struct dnp_err *err)
{
	int ret;

	*held = (struct dnp_held){.options = *options, .signals = {.fd = -1}, .root = -1};
	ret = dnp_interrupt_take(&held->signals, err);
	if (ret)
		return ret;
	held->options.remote.hold = true;
	held->options.remote.interrupt = held->signals.fd;
	ret = dnp_remote_begin(&held->remote, &held->options.remote, err);
	if (ret) {
		if (ret != -EINTR)
			dnp_held_done(held);
		return ret;
	}
	held->start_ns = dnp_now_ns();
	held->cpu_before_ns = read_cpu(held, 0);
	held->root = dnp_process_open_root(options->remote.pid);
	return 0;
}

/* The agent's word may begin so itself. */
static void note_early(struct dnp_held *held, const char *why)
{
	static const char early[] = "the recording ended early: ";
	bool said = !strncmp(why, early, sizeof(early) - 1);

	snprintf(held->why, sizeof(held->why), "%s%s", said ? "" : early, why);
}

/* The agent said how it ended, by itself. */
static void note_end(struct dnp_held *held, const struct dnp_control_ended *ended)
{
	if (*ended->why) {
		held->end = DNP_HELD_FAILED;
		note_early(held, ended->why);
	} else {
		held->end = ended->reason == DNP_END_EXIT ? DNP_HELD_EXITED : DNP_HELD_BY_OTHERS;
	}
}

/* It is not known how it ended, or whether. */
static void note_failure(struct dnp_held *held, const struct dnp_err *err)
{
	if (err->code == -ESRCH) {
		held->end = DNP_HELD_GONE;
	} else {
		held->end = DNP_HELD_FAILED;
		snprintf(held->why, sizeof(held->why), "%s", err->text);
	}
}

/* Something came that nobody has asked for. */
static void listen_to_agent(struct dnp_held *held)
{
	struct dnp_control_ended ended;
	struct dnp_err err = {0};

	if (dnp_control_listen(held->remote.control, &ended, &err))
		note_failure(held, &err);
	else
		note_end(held, &ended);
}

static void show_progress(struct dnp_held *held)
{
	struct dnp_status status = {0};

	if (!dnp_control_status(held->options.remote.pid, FIGURES_NS, &status, NULL)) {
		held->samples = status.samples;
		held->lost = status.lost;
	}
	held->cpu_ns = read_cpu(held, held->cpu_before_ns + held->cpu_ns) - held->cpu_before_ns;
	held->options.progress(held->options.context, held);
}

/* How long to wait for what may come (dnp_now_ns()); UINT64_MAX: for ever. */
static uint64_t wait_until(const struct dnp_held *held, uint64_t tick_ns)
{
	uint64_t until_ns = UINT64_MAX;

	if (held->options.duration_ns)
		until_ns = held->options.duration_ns;
	if (held->options.progress && tick_ns < until_ns)
		until_ns = tick_ns;
	return until_ns < UINT64_MAX - held->start_ns ? held->start_ns + until_ns : UINT64_MAX;
}

/* Until it has ended, or has to. Whether it has. */
static bool follow(struct dnp_held *held)
{
	int control = dnp_control_fd(held->remote.control);
	uint64_t tick_ns = TICK_NS, duration_ns = held->options.duration_ns;

	for (;;) {
		int failed =
			dnp_interrupt_await(control, held->signals.fd, wait_until(held, tick_ns));

		held->elapsed_ns = dnp_now_ns() - held->start_ns;
		if (!failed) {
			listen_to_agent(held);
			return true;
		}
		held->interrupts += dnp_interrupt_count(&held->signals);
		if (held->interrupts || (duration_ns && held->elapsed_ns >= duration_ns))
			return false;
		if (held->options.progress && held->elapsed_ns >= tick_ns) {
			show_progress(held);
			tick_ns = held->elapsed_ns + TICK_NS;
		}
	}
}

/* STOP was not done: it ended by itself meanwhile, or it is not known what became of it. */
static void stop_failed(struct dnp_held *held, const struct dnp_err *err)
{
	struct dnp_control_ended ended;

	if (err->code == -EINTR) {
		held->end = DNP_HELD_LEFT;
	} else if (err->code == -ETIMEDOUT) {
		note_failure(held, err);
		held->end = DNP_HELD_LEFT;
	} else if (dnp_control_has_ended(held->remote.control, &ended)) {
		note_end(held, &ended);
	} else if (err->code == -ENODATA && dnp_control_has_news(held->remote.control)) {
		listen_to_agent(held);
	} else {
		note_failure(held, err);
	}
}

static void stop(struct dnp_held *held)
{
	struct dnp_control_ended ended;
	struct dnp_err err = {0};
	int fd;

	if (dnp_control_stop(held->remote.control, &fd, &ended, &err)) {
		stop_failed(held, &err);
		return;
	}
	close(fd);
	held->end = DNP_HELD_ENDED;
	if (!ended.whole || *ended.why) {
		held->end = DNP_HELD_FAILED;
		note_early(held, *ended.why ? ended.why : "the agent does not say why");
	}
}

/* Has it leave, if it came for this. */
static void detach(struct dnp_held *held)
{
	struct dnp_err err = {0};
	int ret;

	if (!held->remote.attached)
		return;
	ret = dnp_control_detach(held->remote.control, DNP_DETACH_OWN, &err);
	if (!ret || ret == -EALREADY || ret == -ESRCH || ret == -ECONNRESET)
		return;
	held->stays = true;
	snprintf(held->why_stays, sizeof(held->why_stays), "%s", err.text);
}

void dnp_held_wait(struct dnp_held *held)
{
	if (!follow(held) && held->interrupts < 2) {
		stop(held);
		held->elapsed_ns = dnp_now_ns() - held->start_ns;
	}
	if (held->end == DNP_HELD_ENDED)
		detach(held);
	held->interrupts += dnp_interrupt_count(&held->signals);
	if (held->interrupts > 1)
		held->end = DNP_HELD_LEFT;
	/* What could not be asked for happens when this closes. */
	dnp_control_close(held->remote.control);
	held->remote.control = NULL;
	held->left_ns = dnp_now_ns();
	dnp_interrupt_give_back(&held->signals);
}

void dnp_held_wait_gone(const struct dnp_held *held)
{
	uint64_t passed_ns = dnp_now_ns() - held->left_ns;

	if (held->remote.attached && !held->stays && passed_ns < GONE_NS)
		dnp_control_wait_gone(held->options.remote.pid, GONE_NS - passed_ns, NULL);
}

void dnp_held_done(struct dnp_held *held)
{
	dnp_remote_done(&held->remote);
	if (held->root >= 0)
		close(held->root);
	held->root = -1;
	dnp_interrupt_give_back(&held->signals);
}
