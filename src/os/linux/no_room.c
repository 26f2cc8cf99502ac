/* SPDX-License-Identifier: MIT */
#include "os/linux/no_room.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "os/linux/front.h"
#include "os/linux/signal_info.h"
#include "os/mem.h"
#include "os/x86_64/entry.h"
#include "os/x86_64/fault.h"

#define PAGE_BYTES      4096
#define RED_ZONE        128   /* bytes below the stack pointer that signals leave alone */
#define FRAME_BYTES_MAX 16384 /* of a signal, where the kernel does not tell */

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

static struct dnp_front fault = {.signo = SIGSEGV, .handler = dnp_fault_entry};

/* Written before the handler is installed. */
static dnp_no_room_handler lost;
static uintptr_t frame_bytes;

/* Written before they are kept off, and never after. */
static bool keeps_traps;

/* Whether a frame of a signal, of the largest size, does not fit below the stack pointer. */
static SIGSAFE bool is_without_room(uintptr_t sp)
{
	uintptr_t top = sp - RED_ZONE;

	for (uintptr_t at = top - frame_bytes; at < top; at += PAGE_BYTES)
		if (!dnp_mem_is_readable(at, at + 1))
			return true;
	return !dnp_mem_is_readable(top - 1, top);
}

/*
 * The kernel's own word, without an address. What a processor finds (a non-canonical address, say)
 * looks the same but for its number, and the number of a fault before stays where there is none.
 */
static SIGSAFE bool is_for_room(const siginfo_t *info, const void *context)
{
	int saved = errno;
	bool found;

	if (info->si_code != SI_KERNEL || info->si_addr || dnp_fault_has_number(context))
		return false;
	atomic_fetch_add_explicit(&fault.inside, 1, memory_order_acquire);
	found = is_without_room(dnp_fault_sp(context));
	if (found)
		/* sigsafe: by its contract */
		lost(info);
	errno = saved;
	/* Pairs with dnp_departure_wait. */
	atomic_fetch_sub_explicit(&fault.inside, 1, memory_order_release);
	return found;
}

/*
 * The runtime does not know that traps are kept off, and often leaves its handler without a return,
 * by which they would be let come again. Its own signal it lets come, and that is when this one
 * does.
 */
static SIGSAFE void ask_for_traps(const ucontext_t *interrupted)
{
	struct dnp_signal_info info;
	sigset_t traps;

	if (sigismember(&interrupted->uc_sigmask, SIGTRAP) == 1)
		return;
	dnp_signal_make(&info, DNP_SIGNAL_LET_TRAPS);
	if (!syscall(SYS_rt_tgsigqueueinfo, getpid(), (int)syscall(SYS_gettid), dnp_signal_number(),
		    &info.system))
		return;
	/* Too many are pending: a thread must not be without them for ever. */
	sigemptyset(&traps);
	sigaddset(&traps, SIGTRAP);
	sigprocmask(SIG_UNBLOCK, &traps, NULL);
}

SIGSAFE bool dnp_no_room_let_traps(const siginfo_t *info, void *context)
{
	if (!dnp_signal_is_sent(dnp_signal_info_of(info), DNP_SIGNAL_LET_TRAPS))
		return false;
	sigdelset(&((ucontext_t *)context)->uc_sigmask, SIGTRAP);
	return true;
}

SIGSAFE dnp_signal_action dnp_fault_next(int signo, const siginfo_t *info, const void *context)
{
	int saved = errno;

	(void)signo;
	if (is_for_room(info, context))
		return NULL;
	if (keeps_traps)
		ask_for_traps(context);
	errno = saved;
	return fault.previous.sa_sigaction;
}

int dnp_no_room_keep_traps_off(void)
{
	struct sigaction now;

	if (!fault.installed) /* no alternative stacks */
		return 0;
	if (!dnp_front_is_on_top(&fault))
		return -EBUSY;
	if (sigaction(SIGSEGV, NULL, &now))
		return -errno;
	keeps_traps = true;
	sigaddset(&now.sa_mask, SIGTRAP);
	return sigaction(SIGSEGV, &now, NULL) ? -errno : 0;
}

int dnp_no_room_watch(dnp_no_room_handler handler)
{
	struct sigaction now;

	if (fault.installed)
		return 0;
	if (sigaction(SIGSEGV, NULL, &now))
		return -errno;
	if (!(now.sa_flags & SA_SIGINFO) || !(now.sa_flags & SA_ONSTACK))
		return 0;
	lost = handler;
	frame_bytes = getauxval(AT_MINSIGSTKSZ);
	if (!frame_bytes)
		frame_bytes = FRAME_BYTES_MAX;
	return dnp_front_install(&fault, &now, SA_SIGINFO, false);
}

bool dnp_no_room_keeps_traps_off(void)
{
	return !fault.installed || dnp_front_is_on_top(&fault);
}

int dnp_no_room_leave(void)
{
	return dnp_front_put_back(&fault);
}

bool dnp_no_room_left(uint64_t deadline_ns)
{
	return dnp_front_left(&fault, deadline_ns);
}
