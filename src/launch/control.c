/* SPDX-License-Identifier: MIT */
#include "launch/control.h"

#include <string.h>

#include "base/clean.h"
#include "format/rec.h"
#include "launch/interrupt.h"
#include "launch/target.h"
#include "os/channel.h"
#include "os/clock.h"
#include "os/file.h"

/* Between two looks whether a library has gone. */
#define GONE_LOOK_NS UINT64_C(10000000)

/*
 * Between two looks whether the agent still listens; and for how long it looks, when it does not
 * any more, whether the library may go (agent/forget.c), with what the runtime has to do around
 * that.
 */
#define LEFT_LOOK_NS UINT64_C(1000000000)
#define LEAVE_NS     UINT64_C(11000000000)

/* How long an agent that does something else may take to say that it is there. */
#define PRESENCE_NS UINT64_C(1000000000)

struct dnp_control {
	struct dnp_target target;
	uint64_t patience_ns;
	int fd;        /* owned */
	int interrupt; /* borrowed, -1: none */
	bool has_ended;
	struct dnp_control_ended ended;      /* if it has */
	uint8_t packet[DNP_CONTROL_MAX + 1]; /* a byte more: what is longer does not pass */
};

int dnp_control_open(struct dnp_control **out, pid_t pid, uint64_t patience_ns, struct dnp_err *err)
{
	struct dnp_control *control = malloc(sizeof(*control));
	int failed;

	if (!control)
		return dnp_err(
			err, -ENOMEM, "cannot ask process %d: out of memory; free some", (int)pid);
	control->patience_ns = patience_ns;
	control->interrupt = -1;
	control->has_ended = false;
	control->fd = -1;
	failed = dnp_target_find(&control->target, pid, err);
	if (!failed)
		control->fd = dnp_target_connect_agent(&control->target, patience_ns, err);
	if (failed || control->fd < 0) {
		failed = failed ? failed : control->fd;
		free(control);
		return failed;
	}
	*out = control;
	return 0;
}

void dnp_control_close(struct dnp_control *control)
{
	if (!control)
		return;
	dnp_channel_close(control->fd);
	free(control);
}

void dnp_control_interrupt_by(struct dnp_control *control, int fd)
{
	control->interrupt = fd;
}

int dnp_control_fd(const struct dnp_control *control)
{
	return control->fd;
}

bool dnp_control_has_news(const struct dnp_control *control)
{
	return dnp_channel_has_news(control->fd);
}

/* passed -1: none. */
static int send_request(
	struct dnp_control *control, const struct dnp_control_message *message, int passed)
{
	size_t n = dnp_control_put(control->packet, message);

	return dnp_channel_send(control->fd, control->packet, n, passed, true);
}

static int no_answer(const struct dnp_control *control, int error, struct dnp_err *err)
{
	const struct dnp_target *target = &control->target;
	bool timed_out = error == EAGAIN || error == EINTR;
	bool by_other = error == EPIPE || error == ECONNRESET;
	struct dnp_process now;

	if (timed_out ? dnp_target_has_ended(target, &now)
		      : dnp_target_has_ended_soon(target, &now))
		return dnp_target_ended(target, err);
	if (by_other)
		return dnp_err(err, -ECONNRESET,
			"cannot ask process %d: its agent ended the connection; try again",
			(int)target->pid);
	if (!timed_out)
		return dnp_err(err, -error,
			"cannot ask process %d: the connection to its agent: %s; try again",
			(int)target->pid, strerror(error));
	return dnp_target_timed_out(target, &now, control->patience_ns, err);
}

static int refused(const struct dnp_control *control, const struct dnp_control_message *answer,
	struct dnp_err *err)
{
	int error = answer->value > 0 && answer->value < 4096 ? (int)answer->value : EPROTO;

	return dnp_err(err, -error, "cannot ask process %d: %.*s", (int)control->target.pid,
		(int)answer->text.n, answer->text.p);
}

/* A message of the agent's, decoded, and its descriptor (-1: none). 0 or -errno. */
static int receive(struct dnp_control *control, struct dnp_control_message *message, int *fd)
{
	struct dnp_channel_message came = {
		.bytes = control->packet, .room = sizeof(control->packet)};
	int failed = dnp_channel_receive(control->fd, &came);

	*fd = came.n_files ? came.files[0] : -1;
	for (unsigned i = 1; i < came.n_files; i++)
		close(came.files[i]);
	if (failed)
		return failed == -EPIPE ? -ECONNRESET : failed;
	failed = dnp_control_get(control->packet, came.n, message);
	return failed ? -EPROTONOSUPPORT : 0;
}

/* What END says, kept for dnp_control_listen. */
static void note_end(struct dnp_control *control, const struct dnp_control_message *message)
{
	control->has_ended = true;
	control->ended = (struct dnp_control_ended){
		.by_itself = true,
		.whole = true,
		.reason = message->value,
	};
	snprintf(control->ended.why, sizeof(control->ended.why), "%.*s", (int)message->text.n,
		message->text.p);
}

static int other_version(const struct dnp_control *control, struct dnp_err *err)
{
	return dnp_err(err, -EPROTONOSUPPORT,
		"cannot ask process %d: the agent in it is of another version; use the dnprof that "
		"it came with",
		(int)control->target.pid);
}

/* Waits for the answer and judges it; its text lies in control->packet. */
static int take_answer(struct dnp_control *control, struct dnp_control_message *answer, int *fd,
	struct dnp_err *err)
{
	int failed;

	do {
		failed = dnp_interrupt_await(
			control->fd, control->interrupt, dnp_now_ns() + control->patience_ns);
		if (failed == -EINTR)
			return dnp_err(err, failed,
				"interrupted; process %d may have got the request all the same",
				(int)control->target.pid);
		if (!failed)
			failed = receive(control, answer, fd);
		if (failed == -EPROTONOSUPPORT)
			break;
		if (failed)
			return no_answer(control, -failed, err);
		/* What was asked crossed it on its way. */
		if (answer->kind == DNP_CONTROL_END)
			note_end(control, answer);
	} while (answer->kind == DNP_CONTROL_END);
	if (!failed && answer->kind == DNP_CONTROL_DONE)
		return 0;
	if (*fd >= 0)
		close(*fd);
	if (!failed && answer->kind == DNP_CONTROL_ERROR)
		return refused(control, answer, err);
	return other_version(control, err);
}

/* Asks; *fd, the caller's, is what the answer brings, -1: nothing. NULL: it is not wanted. */
static int ask(struct dnp_control *control, const struct dnp_control_message *request, int passed,
	struct dnp_control_message *answer, int *fd, struct dnp_err *err)
{
	int brought = -1;
	int failed = send_request(control, request, passed);

	if (failed)
		return no_answer(control, -failed, err);
	failed = take_answer(control, answer, &brought, err);
	if (failed)
		return failed;
	if (fd)
		*fd = brought;
	else if (brought >= 0)
		close(brought);
	return 0;
}

/* The same, where the answer has to bring a file. */
static int ask_for_file(struct dnp_control *control, enum dnp_control_kind kind,
	struct dnp_control_message *answer, int *fd, struct dnp_err *err)
{
	const struct dnp_control_message request = {.kind = kind};
	int failed = ask(control, &request, -1, answer, fd, err);

	if (!failed && *fd < 0)
		return other_version(control, err);
	return failed;
}

/*
 * Not waited for any more: from now on no answer comes. Whether one has come that says that it was
 * done.
 */
static bool was_done_meanwhile(struct dnp_control *control)
{
	struct dnp_control_message answer;
	int fd, failed;

	dnp_channel_deafen(control->fd);
	failed = receive(control, &answer, &fd);
	if (fd >= 0)
		close(fd);
	return !failed && answer.kind == DNP_CONTROL_DONE;
}

int dnp_control_start(struct dnp_control *control, int fd, const struct dnp_agent_options *options,
	unsigned flags, struct dnp_err *err)
{
	struct dnp_control_message request = {.kind = DNP_CONTROL_START, .value = flags}, answer;
	auto_free char *text = malloc(DNP_CONTROL_TEXT);
	int n = text ? dnp_agent_options_write(options, text, DNP_CONTROL_TEXT) : -ENOMEM;

	if (n < 0)
		return dnp_err(err, n, "cannot ask process %d: %s", (int)control->target.pid,
			strerror(-n));
	request.text = (struct dnp_str){text, (size_t)n};
	n = ask(control, &request, fd, &answer, NULL, err);
	if ((n == -EINTR || n == -ETIMEDOUT) && !(flags & DNP_START_HOLD) &&
		was_done_meanwhile(control))
		n = 0;
	return n;
}

int dnp_control_stop(
	struct dnp_control *control, int *fd, struct dnp_control_ended *ended, struct dnp_err *err)
{
	struct dnp_control_message answer;
	int failed = ask_for_file(control, DNP_CONTROL_STOP, &answer, fd, err);

	if (failed)
		return failed;
	*ended = (struct dnp_control_ended){
		.whole = !(answer.value & DNP_STOPPED_CUT),
		.awaited = answer.value & DNP_STOPPED_AWAITED,
		.reason = DNP_END_STOP,
	};
	snprintf(ended->why, sizeof(ended->why), "%.*s", (int)answer.text.n, answer.text.p);
	return 0;
}

int dnp_control_flush(struct dnp_control *control, int *fd, struct dnp_err *err)
{
	struct dnp_control_message answer;

	return ask_for_file(control, DNP_CONTROL_FLUSH, &answer, fd, err);
}

int dnp_control_detach(struct dnp_control *control, unsigned flags, struct dnp_err *err)
{
	const struct dnp_control_message request = {.kind = DNP_CONTROL_DETACH, .value = flags};
	struct dnp_control_message answer;

	return ask(control, &request, -1, &answer, NULL, err);
}

/* Whether nobody listens there; what cannot be known is not taken for that. */
static bool has_left(pid_t pid)
{
	struct dnp_target target;
	struct dnp_err err;
	int fd = dnp_target_find(&target, pid, &err);

	if (!fd)
		fd = dnp_target_connect_agent(&target, PRESENCE_NS, &err);
	if (fd >= 0)
		dnp_channel_close(fd);
	return fd == -ENOENT;
}

int dnp_control_wait_gone(pid_t pid, uint64_t patience_ns, struct dnp_err *err)
{
	uint64_t now_ns = dnp_now_ns(), until_ns = now_ns + patience_ns;
	uint64_t look_ns = now_ns + LEFT_LOOK_NS, kept_ns = 0;

	while (dnp_process_has_agent(pid)) {
		if (dnp_now_ns() >= look_ns) {
			bool left = has_left(pid);

			now_ns = dnp_now_ns();
			look_ns = now_ns + LEFT_LOOK_NS;
			if (!left)
				kept_ns = 0;
			else if (!kept_ns)
				kept_ns = now_ns + LEAVE_NS;
			else if (now_ns >= kept_ns)
				return dnp_err(err, -EBUSY,
					"process %d keeps the agent's library: the agent has left, "
					"but a thread may come back to it, so it stays mapped and "
					"does nothing; nothing has to be done",
					(int)pid);
		}
		/* Of one that has left it is known soon. */
		if (!kept_ns && dnp_now_ns() >= until_ns)
			return dnp_err(err, -ETIMEDOUT,
				"process %d still has the agent: the runtime did not unload it "
				"within %.1f s, it may do so later; see 'dnprof status %d'",
				(int)pid, (double)patience_ns / 1e9, (int)pid);
		dnp_sleep_until_ns(dnp_now_ns() + GONE_LOOK_NS);
	}
	return 0;
}

bool dnp_control_has_ended(const struct dnp_control *control, struct dnp_control_ended *ended)
{
	if (control->has_ended)
		*ended = control->ended;
	return control->has_ended;
}

int dnp_control_listen(
	struct dnp_control *control, struct dnp_control_ended *ended, struct dnp_err *err)
{
	struct dnp_control_message message;
	int fd, failed = receive(control, &message, &fd);

	if (fd >= 0)
		close(fd);
	if (failed == -EPROTONOSUPPORT || (!failed && message.kind != DNP_CONTROL_END))
		return other_version(control, err);
	if (failed)
		return no_answer(control, -failed, err);
	note_end(control, &message);
	*ended = control->ended;
	return 0;
}

int dnp_control_stack(pid_t pid, uint64_t patience_ns, int interrupt, int *fd, struct dnp_err *err)
{
	struct dnp_control_message answer,
		request = {
			.kind = DNP_CONTROL_STACK,
			.value = (uint32_t)(patience_ns / 1000000),
		};
	struct dnp_control *control;
	auto_close int memory = -1;
	int failed;

	/* First: an agent does not wait for long for who has connected and says nothing. */
	memory = dnp_file_in_memory(err);
	failed = memory < 0 ? memory : dnp_control_open(&control, pid, patience_ns, err);
	if (failed)
		return failed;
	dnp_control_interrupt_by(control, interrupt);
	failed = ask(control, &request, memory, &answer, NULL, err);
	dnp_control_close(control);
	if (failed)
		return failed;
	*fd = memory;
	memory = -1;
	return 0;
}

int dnp_control_status(
	pid_t pid, uint64_t patience_ns, struct dnp_status *status, struct dnp_err *err)
{
	const struct dnp_control_message request = {.kind = DNP_CONTROL_STATUS};
	struct dnp_control_message answer;
	struct dnp_control *control;
	int failed = dnp_control_open(&control, pid, patience_ns, err);

	if (failed)
		return failed;
	failed = ask(control, &request, -1, &answer, NULL, err);
	if (!failed)
		dnp_status_parse(status, answer.text);
	dnp_control_close(control);
	return failed;
}

enum dnp_presence dnp_control_presence(pid_t pid)
{
	struct dnp_status status;
	int failed = dnp_control_status(pid, PRESENCE_NS, &status, NULL);

	if (failed)
		return failed == -ETIMEDOUT || failed == -EPROTONOSUPPORT ? DNP_HERE : DNP_AWAY;
	return strcmp(status.state, "detaching") ? DNP_HERE : DNP_LEAVING;
}
