/* SPDX-License-Identifier: MIT */
/*
 * A CPU-time signal comes only while its thread runs, and the runtime's own to one that runs
 * managed code. When it lands between the entry of a sleeping system call and the sleep, the kernel
 * gives up the call with EINTR, restart flag or not (signal(7) lists these calls). Nothing has been
 * waited for then, so the call can simply be made again: its arguments are still in their
 * registers, its number stands in the code before `syscall`. From glibc 2.41 on it does not for
 * calls that can be cancelled, which are made in one place for all: these fail with EINTR.
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

#include "os/mem.h"
#include "os/sampling_signal.h"

#define PAGE_BYTES    4096
#define SYSCALL_BYTES 2
#define MOV_BYTES     5  /* mov $number, %eax */
#define CODE_BYTES    32 /* before a call returns, that are looked at */

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
	case SYS_recvmmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	/* Of sockets with a time-out; the others the kernel makes again. */
	case SYS_read:
	case SYS_readv:
	case SYS_write:
	case SYS_writev: return 1;

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

/* With it in front an instruction is about another register, or may be. */
static SIGSAFE bool is_prefix(uint8_t byte)
{
	return (byte & 0xf0) == 0x40;
}

/* mov disp8(%rsp), %reg or mov (%rsp), %reg, but not to %eax: its length; 0: it is none. */
static SIGSAFE size_t reload_bytes(const uint8_t *code, const uint8_t *end)
{
	const uint8_t *at = code;
	bool extended = false, near;

	if (at < end && is_prefix(*at))
		extended = *at++ & 4;
	if (end - at < 3 || at[0] != 0x8b || at[2] != 0x24)
		return 0;
	near = (at[1] & 0xc7) == 0x44;
	if ((!near && (at[1] & 0xc7) != 0x04) || (!extended && !(at[1] & 0x38)))
		return 0;
	at += near ? 4 : 3;
	return at <= end ? (size_t)(at - code) : 0;
}

/*
 * mov $number, %eax, then arguments that were kept on the stack, then syscall: as the C library and
 * the runtime make their calls. `code` ends with the syscall.
 */
static SIGSAFE bool find_number(const uint8_t *code, size_t n, uint32_t *number)
{
	const uint8_t *end;

	if (n < SYSCALL_BYTES + MOV_BYTES)
		return false;
	end = code + n - SYSCALL_BYTES;
	if (end[0] != 0x0f || end[1] != 0x05)
		return false;
	if (end[-2] == 0x31 && end[-1] == 0xc0 && !is_prefix(end[-3])) { /* xor %eax, %eax */
		*number = 0;
		return true;
	}
	for (const uint8_t *mov = end - MOV_BYTES; mov > code; mov--) {
		const uint8_t *at = mov;
		size_t bytes;

		if (*mov != 0xb8 || is_prefix(mov[-1]))
			continue;
		memcpy(number, at + 1, sizeof(*number));
		for (at += MOV_BYTES; at < end && (bytes = reload_bytes(at, end)); at += bytes)
			;
		if (at == end)
			return true;
	}
	return false;
}

SIGSAFE void dnp_signal_restart_syscall(void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	uintptr_t pc = (uintptr_t)regs[REG_RIP];
	uint8_t code[CODE_BYTES];
	size_t n = sizeof(code);
	uint32_t number;

	if (regs[REG_RAX] != -EINTR)
		return;
	/* There may be nothing before the page. */
	if (dnp_mem_read(pc - n, code, n)) {
		n = pc % PAGE_BYTES < n ? pc % PAGE_BYTES : n;
		if (dnp_mem_read(pc - n, code, n))
			return;
	}
	if (!find_number(code, n, &number) || !sleeps(number) || another_comes(context))
		return;
	regs[REG_RAX] = (greg_t)number;
	regs[REG_RIP] -= SYSCALL_BYTES;
}
