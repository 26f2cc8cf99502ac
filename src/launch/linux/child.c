/* SPDX-License-Identifier: MIT */
#include "launch/child.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "base/clean.h"
#include "launch/interrupt.h"

/* What may be meant for the program. */
static const int passed_on[] = {
	SIGTERM,
	SIGHUP,
	SIGINT,
	SIGQUIT,
	SIGUSR1,
	SIGUSR2,
	SIGWINCH,
	SIGCONT,
	SIGTSTP,
};

static int take_signals(struct dnp_child *child)
{
	struct sigaction standard = {.sa_handler = SIG_DFL};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (size_t i = 0; i < DNP_ARRAY_SIZE(passed_on); i++)
		sigaddset(&set, passed_on[i]);
	child->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (child->signals < 0)
		return -errno;
	/* An inherited SIG_IGN would make the kernel drop the child's status. */
	sigaction(SIGCHLD, &standard, &child->old_chld);
	sigprocmask(SIG_BLOCK, &set, &child->old_mask);
	return 0;
}

static void return_signals(const struct dnp_child *child)
{
	sigaction(SIGCHLD, &child->old_chld, NULL);
	sigprocmask(SIG_SETMASK, &child->old_mask, NULL);
}

/* In the child. */
static _Noreturn void wait_and_enter(const struct dnp_child *child, int gate, int report,
	int (*enter)(void *context), void *context)
{
	char byte;
	int ret;

	if (read(gate, &byte, 1) != 1)
		_exit(1);
	return_signals(child);
	ret = enter(context);
	if (write(report, &ret, sizeof(ret)) < 0)
		_exit(2);
	_exit(1);
}

int dnp_child_fork(
	struct dnp_child *child, int (*enter)(void *context), void *context, struct dnp_err *err)
{
	int gate[2], report[2], ret;

	*child = (struct dnp_child){.pid = -1, .signals = -1};
	if (pipe2(gate, O_CLOEXEC))
		return dnp_err(err, -errno, "cannot make a pipe: %s", strerror(errno));
	if (pipe2(report, O_CLOEXEC)) {
		ret = dnp_err(err, -errno, "cannot make a pipe: %s", strerror(errno));
		goto close_gate;
	}
	ret = take_signals(child);
	if (ret) {
		dnp_err(err, ret, "cannot receive signals: %s", strerror(-ret));
		goto close_report;
	}
	child->pid = fork();
	if (child->pid < 0) {
		ret = dnp_err(err, -errno, "cannot start a process: %s", strerror(errno));
		dnp_child_done(child);
		goto close_report;
	}
	if (!child->pid) {
		close(gate[1]);
		wait_and_enter(child, gate[0], report[1], enter, context);
	}
	close(report[1]);
	memcpy(child->gate, gate, sizeof(gate));
	child->report = report[0];
	return 0;

close_report:
	close(report[0]);
	close(report[1]);
close_gate:
	close(gate[0]);
	close(gate[1]);
	return ret;
}

static void reap(struct dnp_child *child)
{
	while (waitpid(child->pid, &child->status, 0) < 0 && errno == EINTR)
		;
	child->ended = true;
}

static void close_ends(const struct dnp_child *child)
{
	close(child->gate[0]);
	close(child->gate[1]);
}

int dnp_child_release(struct dnp_child *child)
{
	int why = 0;

	/* A child that was killed at the gate shows when it is waited for: as somebody can still
	 * read it, nobody gets SIGPIPE. */
	if (write(child->gate[1], "", 1) < 0)
		why = 0;
	close_ends(child);
	if (read(child->report, &why, sizeof(why)) != sizeof(why))
		why = 0;
	close(child->report);
	if (why) {
		reap(child);
		dnp_child_done(child);
	}
	return why;
}

void dnp_child_abandon(struct dnp_child *child)
{
	close_ends(child);
	close(child->report);
	reap(child);
	dnp_child_done(child);
}

/* The shell has to see that the job stopped; a debugger's SIGSTOP is none of its business. */
static void follow_stop(int signal)
{
	sigset_t set, old;

	if (signal != SIGTSTP && signal != SIGTTIN && signal != SIGTTOU)
		return;
	sigemptyset(&set);
	sigaddset(&set, signal);
	raise(signal);
	sigprocmask(SIG_UNBLOCK, &set, &old); /* stops here */
	sigprocmask(SIG_SETMASK, &old, NULL);
}

static void look_after(struct dnp_child *child)
{
	int status;

	while (waitpid(child->pid, &status, WNOHANG | WUNTRACED) == child->pid) {
		if (WIFSTOPPED(status)) {
			follow_stop(WSTOPSIG(status));
			continue;
		}
		child->status = status;
		child->ended = true;
		return;
	}
}

/* Whether the sender reached the program as well: a terminal does, if it is in the same group. */
static bool has_it_already(const struct dnp_child *child, const struct signalfd_siginfo *info)
{
	if ((pid_t)info->ssi_pid == child->pid && info->ssi_code <= 0)
		return true;
	return info->ssi_code > 0 && getpgid(child->pid) == getpgrp();
}

static void pass_on(struct dnp_child *child, const struct signalfd_siginfo *info)
{
	int signal = (int)info->ssi_signo;

	if (signal == SIGCHLD) {
		look_after(child);
		return;
	}
	if (signal == SIGINT && !dnp_interrupt_ignores(SIGINT))
		child->interrupts++;
	if (!child->ended && !has_it_already(child, info))
		kill(child->pid, signal);
}

void dnp_child_wait(struct dnp_child *child, int timeout_ms)
{
	struct pollfd ready = {.fd = child->signals, .events = POLLIN};
	struct signalfd_siginfo info;

	poll(&ready, 1, timeout_ms);
	while (read(child->signals, &info, sizeof(info)) == sizeof(info))
		pass_on(child, &info);
}

void dnp_child_done(struct dnp_child *child)
{
	if (child->signals < 0)
		return;
	return_signals(child);
	close(child->signals);
	child->signals = -1;
}

struct dnp_ended dnp_child_ended(const struct dnp_child *child)
{
	int status = child->status;

	return (struct dnp_ended){
		.status = WIFEXITED(status) ? (uint64_t)WEXITSTATUS(status) : 0,
		.signal = WIFSIGNALED(status) ? (uint64_t)WTERMSIG(status) : 0,
	};
}
