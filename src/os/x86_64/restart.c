/* SPDX-License-Identifier: MIT */
/*
 * A CPU-time signal comes only while its thread runs, and the runtime's own to one that runs
 * managed code. When it lands between the entry of a sleeping system call and the sleep, the kernel
 * gives up the call with EINTR, restart flag or not (signal(7) lists these calls). Nothing has been
 * waited for then, so the call can simply be made again: its arguments are still in their
 * registers, its number stands in the instruction before `syscall`.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "os/sampling_signal.h"

/* Numbers that older headers do not have. */
#define IO_PGETEVENTS  333
#define IO_URING_ENTER 426
#define EPOLL_PWAIT2   441

/*
 * Left out: pause and sigsuspend (they end by a signal, perhaps the application's), connect (a
 * second one does not wait for the first).
 */
static SIGSAFE int sleeps(uint32_t number)
{
	switch (number) {
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_poll:
	case SYS_ppoll:
	case SYS_select:
	case SYS_pselect6:
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case EPOLL_PWAIT2:
	case SYS_io_getevents:
	case IO_PGETEVENTS:
	case IO_URING_ENTER:
	case SYS_futex:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_msgrcv:
	case SYS_msgsnd:
	case SYS_rt_sigtimedwait:
	case SYS_accept:
	case SYS_accept4:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_sendto:
	case SYS_sendmsg: return 1;

	default: return 0;
	}
}

static SIGSAFE bool has_handler(int signo)
{
	struct sigaction action;

	return !sigaction(signo, NULL, &action) && action.sa_handler != SIG_DFL &&
		action.sa_handler != SIG_IGN;
}

/*
 * A signal that the program handles, and that was perhaps sent to end the call: it comes when this
 * handler returns. What this does not see: a handler of the program's that kept ours off until it
 * had ended.
 */
static SIGSAFE bool another_comes(const ucontext_t *context)
{
	uint64_t pending, blocked;

	if (syscall(SYS_rt_sigpending, &pending, sizeof(pending)))
		return true;
	memcpy(&blocked, &context->uc_sigmask, sizeof(blocked)); /* the kernel's, not libc's size */
	pending &= ~blocked;
	while (pending && !has_handler(1 + __builtin_ctzll(pending)))
		pending &= pending - 1;
	return pending;
}

SIGSAFE void dnp_signal_restart_syscall(void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	const uint8_t *pc = (const uint8_t *)regs[REG_RIP];
	uint32_t number;

	/* mov $number, %eax; syscall: as the C library and the runtime make their calls. */
	if (regs[REG_RAX] != -EINTR || ((uintptr_t)pc & 0xfff) < 7)
		return;
	if (pc[-2] != 0x0f || pc[-1] != 0x05 || pc[-7] != 0xb8)
		return;
	memcpy(&number, pc - 6, sizeof(number));
	if (!sleeps(number) || another_comes(context))
		return;
	regs[REG_RAX] = (greg_t)number;
	regs[REG_RIP] -= 2;
}
