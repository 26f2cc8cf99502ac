/* SPDX-License-Identifier: MIT */
#include "os/linux/trap_signal.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "os/linux/front.h"
#include "os/linux/signal_info.h"
#include "os/traps.h"
#include "os/x86_64/entry.h"

/* Behind si_addr; older C libraries do not know it. */
struct perf_info {
	uint64_t data;
	uint32_t type, flags;
};
#define PERF_INFO_AT 24

#define PAGE_BYTES 4096u

static struct dnp_front front = {.signo = SIGTRAP, .handler = dnp_trap_entry};

/* Written before the handler is installed. */
static dnp_signal_handler handler;

static void *stub; /* the code that stays, before the handler that was there; NULL: not made */

SIGSAFE bool dnp_trap_is(const struct dnp_signal_info *info)
{
	return info->system.si_signo == SIGTRAP && info->system.si_code == DNP_TRAP_PERF;
}

SIGSAFE bool dnp_trap_is_late(const struct dnp_signal_info *info)
{
	return dnp_signal_is_sent(info, DNP_SIGNAL_TRAP);
}

SIGSAFE uint64_t dnp_trap_data(const struct dnp_signal_info *info)
{
	struct perf_info perf;

	memcpy(&perf, (const char *)info + PERF_INFO_AT, sizeof(perf));
	return perf.data;
}

/* Once for all that come until it may: what each stands for is told by the thread's clock. */
static SIGSAFE void send_on(void)
{
	uint64_t pending = 0;
	int signo = dnp_signal_number();
	struct dnp_signal_info info;

	if (syscall(SYS_rt_sigpending, &pending, sizeof(pending)) || pending >> (signo - 1) & 1)
		return;
	dnp_signal_make(&info, DNP_SIGNAL_TRAP);
	/* Where that fails, the next one stands for this, too. */
	syscall(SYS_rt_tgsigqueueinfo, getpid(), (int)syscall(SYS_gettid), signo, &info.system);
}

static SIGSAFE void take(const struct dnp_signal_info *info, void *context)
{
	const ucontext_t *interrupted = context;
	int saved = errno;

	atomic_fetch_add_explicit(&front.inside, 1, memory_order_acquire);
	if (sigismember(&interrupted->uc_sigmask, dnp_signal_number()) == 1) {
		send_on();
	} else {
		/* sigsafe: SIGSAFE by its contract (sampling_signal.h), so a root of the check */
		handler(info, context);
		dnp_signal_restart_syscall(context);
	}
	errno = saved;
	/* Pairs with dnp_departure_wait. */
	atomic_fetch_sub_explicit(&front.inside, 1, memory_order_release);
}

SIGSAFE dnp_signal_action dnp_trap_next(int signo, siginfo_t *info, void *context)
{
	const struct dnp_signal_info *told = dnp_signal_info_of(info);
	sigset_t mask = front.previous.sa_mask;

	if (dnp_trap_is(told)) {
		take(told, context);
		return NULL;
	}
	/* With the signals that the next one would let come if it were there alone. */
	sigorset(&mask, &mask, &((const ucontext_t *)context)->uc_sigmask);
	sigaddset(&mask, signo);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return front.previous.sa_sigaction;
}

int dnp_trap_signal_watch(dnp_signal_handler wanted)
{
	struct sigaction now;

	if (sigaction(SIGTRAP, NULL, &now))
		return -errno;
	if (front.installed && dnp_front_is_on_top(&front))
		return 0;
	if (!(now.sa_flags & SA_SIGINFO) || now.sa_flags & (SA_ONSTACK | SA_NODEFER))
		return -ENOTSUP;
	handler = wanted;
	return dnp_front_install(&front, &now, SA_SIGINFO | SA_RESTART, true);
}

bool dnp_trap_signal_is_on_top(void)
{
	return dnp_front_is_on_top(&front);
}

/* Ahead of the handler that was there, in memory of its own. NULL: it is not to be had. */
static void *make_stub(void)
{
	size_t bytes = (size_t)(dnp_trap_stub_end - dnp_trap_stub);
	char *page =
		mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return NULL;
	memcpy(page, dnp_trap_stub, bytes);
	memcpy(page + bytes, &front.previous.sa_sigaction, sizeof(void *));
	if (!mprotect(page, PAGE_BYTES, PROT_READ | PROT_EXEC))
		return page;
	munmap(page, PAGE_BYTES);
	return NULL;
}

/* What comes back is the code that stays. False: it is not to be had, so ours has to stay. */
static bool put_stub(void)
{
	dnp_signal_action *previous = &front.previous.sa_sigaction;

	if (stub && !memcmp(previous, &stub, sizeof(stub)))
		return true;
	stub = make_stub();
	if (stub)
		memcpy(previous, &stub, sizeof(stub));
	return stub;
}

bool dnp_trap_signal_left(uint64_t deadline_ns)
{
	return !front.entered || (put_stub() && dnp_front_left(&front, deadline_ns));
}
