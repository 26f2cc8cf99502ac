/* SPDX-License-Identifier: MIT */
#include "os/sampling_signal.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Written before the handler is installed and never after, so the handler reads them plainly. */
static struct sigaction previous;

/* Filled from the front; an entry never changes once it is there. */
static _Atomic(dnp_signal_handler) own[DNP_SIGNAL_HANDLERS_MAX];

int dnp_signal_number(void)
{
	return SIGRTMIN; /* dotnet/runtime, pal signal.cpp: INJECT_ACTIVATION_SIGNAL */
}

static SIGSAFE void pass_on(int signo, siginfo_t *info, void *context)
{
	if (previous.sa_flags & SA_SIGINFO)
		/* sigsafe: the runtime's own handler of this signal */
		previous.sa_sigaction(signo, info, context);
	else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN)
		/* sigsafe: the same */
		previous.sa_handler(signo);
}

/* Whether it was one of ours. */
static SIGSAFE int handle(const siginfo_t *info, void *context)
{
	for (unsigned i = 0; i < DNP_SIGNAL_HANDLERS_MAX; i++) {
		dnp_signal_handler handler = atomic_load_explicit(&own[i], memory_order_acquire);

		if (!handler)
			return 0;
		/* sigsafe: SIGSAFE by its contract (sampling_signal.h), so a root of the check */
		if (handler(info, context))
			return 1;
	}
	return 0;
}

static SIGSAFE void on_signal(int signo, siginfo_t *info, void *context)
{
	int saved = errno;

	if (handle(info, context))
		dnp_signal_restart_syscall(context);
	else
		pass_on(signo, info, context);
	errno = saved;
}

static int install(struct dnp_err *err)
{
	struct sigaction segv, ours;
	int signo = dnp_signal_number();

	if (sigaction(signo, NULL, &previous) || sigaction(SIGSEGV, NULL, &segv))
		return dnp_err(
			err, -errno, "the signal handlers cannot be read: %s", strerror(errno));
	if (!(previous.sa_flags & SA_SIGINFO))
		return dnp_err(err, -ENOTSUP,
			"the runtime has no handler for its activation signal (%d): sampling by "
			"signals would not be safe; use --engine snapshot",
			signo);
	if ((segv.sa_flags & SA_ONSTACK) && !sigismember(&segv.sa_mask, signo))
		return dnp_err(err, -ENOTSUP,
			"the runtime does not keep signal %d away from its alternative stacks: "
			"sampling by signals would not be safe; use --engine snapshot",
			signo);
	ours = previous;
	ours.sa_sigaction = on_signal;
	ours.sa_flags |= SA_RESTART;
	if (sigaction(signo, &ours, NULL))
		return dnp_err(
			err, -errno, "signal %d cannot be handled: %s", signo, strerror(errno));
	return 0;
}

int dnp_signal_share(dnp_signal_handler handler, struct dnp_err *err)
{
	static int installed;
	unsigned i = 0;
	int failed = installed ? 0 : install(err);

	if (failed)
		return failed;
	installed = 1;
	while (i < DNP_SIGNAL_HANDLERS_MAX && own[i] && own[i] != handler)
		i++;
	assert(i < DNP_SIGNAL_HANDLERS_MAX);
	atomic_store_explicit(&own[i], handler, memory_order_release);
	return 0;
}

int dnp_signal_send(int tid, enum dnp_signal_kind kind, void *value)
{
	int signo = dnp_signal_number();
	struct sigaction now;
	siginfo_t info;

	/* CoreCLR 8 takes its handlers away, and ours with them, when it aborts. */
	if (sigaction(signo, NULL, &now) || now.sa_sigaction != on_signal)
		return -ENOTSUP;
	memset(&info, 0, sizeof(info));
	info.si_code = SI_QUEUE;
	info.si_errno = (int)kind;
	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_ptr = value;
	return syscall(SYS_rt_tgsigqueueinfo, info.si_pid, tid, signo, &info) ? -errno : 0;
}

SIGSAFE int dnp_signal_is_sent(const siginfo_t *info, enum dnp_signal_kind kind)
{
	return info->si_code == SI_QUEUE && info->si_errno == (int)kind;
}
