/* SPDX-License-Identifier: MIT */
#include "os/sampling_signal.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/linux/front.h"
#include "os/linux/no_place.h"
#include "os/linux/no_room.h"
#include "os/linux/signal_info.h"
#include "os/linux/trap_signal.h"

static SIGSAFE void on_signal(int signo, siginfo_t *info, void *context);

static struct dnp_front front = {.handler = on_signal};

static _Atomic(dnp_signal_handler) own[DNP_SIGNAL_HANDLERS_MAX]; /* NULL: a free place */

/* The places above change, and the front is used, under the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

SIGSAFE int dnp_signal_number(void)
{
	/* sigsafe: the C library reads a number of its own */
	return SIGRTMIN; /* dotnet/runtime, pal signal.cpp: INJECT_ACTIVATION_SIGNAL */
}

bool dnp_signal_brings_samples(int signo)
{
	return signo == dnp_signal_number() || signo == SIGTRAP;
}

/* With the signals that it would let come if it were there alone: it may take long. */
static SIGSAFE void pass_on(int signo, siginfo_t *info, void *context)
{
	sigset_t mask = front.previous.sa_mask;

	sigorset(&mask, &mask, &((const ucontext_t *)context)->uc_sigmask);
	sigaddset(&mask, signo);
	/* On Linux it is as pthread_sigmask, which older C libraries keep elsewhere. */
	sigprocmask(SIG_SETMASK, &mask, NULL);
	/* sigsafe: the runtime's own handler of this signal */
	front.previous.sa_sigaction(signo, info, context);
}

/* Whether it was one of ours. */
static SIGSAFE int handle(const struct dnp_signal_info *info, void *context)
{
	for (unsigned i = 0; i < DNP_SIGNAL_HANDLERS_MAX; i++) {
		dnp_signal_handler handler = atomic_load_explicit(&own[i], memory_order_acquire);

		/* sigsafe: SIGSAFE by its contract (sampling_signal.h), so a root of the check */
		if (handler && handler(info, context))
			return 1;
	}
	return 0;
}

/*
 * The runtime sends its signal to a thread that runs managed code, so a system call that it ends
 * has only just begun. What others send may be meant to end one.
 */
static SIGSAFE bool is_from_within(const siginfo_t *info)
{
	return info->si_code == SI_TKILL && info->si_pid == getpid();
}

static SIGSAFE void on_signal(int signo, siginfo_t *info, void *context)
{
	int saved = errno;

	atomic_fetch_add_explicit(&front.inside, 1, memory_order_acquire);
	if (dnp_no_room_let_traps(info, context)) {
		/* Nothing has come. */
	} else if (handle(dnp_signal_info_of(info), context)) {
		dnp_signal_restart_syscall(context);
	} else {
		/* Before: then no other handler can have come. */
		if (is_from_within(info))
			dnp_signal_restart_syscall(context);
		pass_on(signo, info, context);
	}
	errno = saved;
	/* Pairs with dnp_departure_wait. */
	atomic_fetch_sub_explicit(&front.inside, 1, memory_order_release);
}

static SIGSAFE void on_nothing(const siginfo_t *info)
{
	handle(dnp_signal_info_of(info), NULL);
}

/* With the lock, as the next ones. */
static bool is_shared(void)
{
	for (unsigned i = 0; i < DNP_SIGNAL_HANDLERS_MAX; i++)
		if (atomic_load_explicit(&own[i], memory_order_relaxed))
			return true;
	return false;
}

/* What has been watched for is no more. */
static int refused(struct dnp_err *err, int signo, int failed)
{
	dnp_no_place_leave();
	dnp_no_room_leave();
	return dnp_err(err, failed, "signal %d cannot be handled: %s", signo, strerror(-failed));
}

static int install(struct dnp_err *err)
{
	struct sigaction segv, now;
	int signo = dnp_signal_number(), failed;

	if (sigaction(signo, NULL, &now) || sigaction(SIGSEGV, NULL, &segv))
		return dnp_err(
			err, -errno, "the signal handlers cannot be read: %s", strerror(errno));
	if (!(now.sa_flags & SA_SIGINFO))
		return dnp_err(err, -ENOTSUP,
			"the runtime has no handler for its activation signal (%d): sampling by "
			"signals would not be safe; use --engine snapshot",
			signo);
	if ((segv.sa_flags & SA_ONSTACK) && !sigismember(&segv.sa_mask, signo))
		return dnp_err(err, -ENOTSUP,
			"the runtime does not keep signal %d away from its alternative stacks: "
			"sampling by signals would not be safe; use --engine snapshot",
			signo);
	front.signo = signo;
	failed = dnp_no_room_watch(on_nothing);
	if (failed)
		return refused(err, SIGSEGV, failed);
	failed = dnp_no_place_watch(on_nothing);
	if (failed)
		return refused(err, SIGIO, failed);
	failed = dnp_front_install(&front, &now, SA_SIGINFO | SA_RESTART, true);
	if (failed)
		return refused(err, signo, failed);
	return 0;
}

static int put_back(void)
{
	int failed = dnp_front_put_back(&front);
	int no_place = dnp_no_place_leave(), no_room = dnp_no_room_leave();

	return failed ? failed : no_place ? no_place : no_room;
}

/* The place of one that is there (or, for NULL, a free one); NULL: there is none. */
static _Atomic(dnp_signal_handler) *find(dnp_signal_handler handler)
{
	for (unsigned i = 0; i < DNP_SIGNAL_HANDLERS_MAX; i++)
		if (atomic_load_explicit(&own[i], memory_order_relaxed) == handler)
			return &own[i];
	return NULL;
}

int dnp_signal_share(dnp_signal_handler handler, struct dnp_err *err)
{
	_Atomic(dnp_signal_handler) *place;
	int failed;

	pthread_mutex_lock(&lock);
	failed = is_shared() ? 0 : install(err);
	place = find(handler);
	if (!place)
		place = find(NULL);
	assert(place);
	if (!failed)
		atomic_store_explicit(place, handler, memory_order_release);
	pthread_mutex_unlock(&lock);
	return failed;
}

int dnp_signal_unshare(dnp_signal_handler handler)
{
	_Atomic(dnp_signal_handler) *place;
	int failed = 0;

	pthread_mutex_lock(&lock);
	place = find(handler);
	if (place)
		atomic_store_explicit(place, NULL, memory_order_release);
	if (!is_shared())
		failed = put_back();
	pthread_mutex_unlock(&lock);
	return failed;
}

bool dnp_signal_left(uint64_t patience_ns)
{
	uint64_t deadline_ns =
		patience_ns < UINT64_MAX / 2 ? dnp_now_ns() + patience_ns : UINT64_MAX;
	bool left;

	pthread_mutex_lock(&lock);
	/* Who had put a handler over ours may have taken it away. */
	left = !is_shared() && dnp_front_left(&front, deadline_ns);
	left = dnp_no_place_left(deadline_ns) && left;
	left = dnp_no_room_left(deadline_ns) && left;
	left = dnp_trap_signal_left(deadline_ns) && left;
	pthread_mutex_unlock(&lock);
	return left;
}

int dnp_signal_send(int tid, enum dnp_signal_kind kind)
{
	int signo = dnp_signal_number();
	struct dnp_signal_info info;

	/* CoreCLR 8 takes its handlers away, and ours with them, when it aborts. */
	if (!dnp_front_is_reached(&front))
		return -ENOTSUP;
	dnp_signal_make(&info, kind);
	return syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, signo, &info.system) ? -errno : 0;
}

/*
 * No process: should it come when ours is gone, the runtime's handler takes no notice. This code
 * may be in the process twice, in the agent and in another profiler that walks by libdnprof-walk.
 */
SIGSAFE void dnp_signal_make(struct dnp_signal_info *info, enum dnp_signal_kind kind)
{
	memset(info, 0, sizeof(*info));
	info->system.si_code = SI_QUEUE;
	info->system.si_errno = (int)kind;
	info->system.si_value.sival_ptr = &front;
}

SIGSAFE int dnp_signal_is_sent(const struct dnp_signal_info *info, enum dnp_signal_kind kind)
{
	return info->system.si_code == SI_QUEUE && info->system.si_errno == (int)kind &&
		info->system.si_value.sival_ptr == &front;
}

SIGSAFE enum dnp_signal_nothing dnp_signal_is_nothing(const struct dnp_signal_info *info)
{
	switch (info->system.si_signo) {
	case SIGSEGV: return DNP_SIGNAL_NO_ROOM;
	case SIGIO: return DNP_SIGNAL_NO_PLACE;
	default: return DNP_SIGNAL_CAME;
	}
}
