/* SPDX-License-Identifier: MIT */
/*
 * A CPU-time signal comes only while its thread runs, and the runtime's own to one that runs
 * managed code. When it lands between the entry of a sleeping system call and the sleep, the kernel
 * gives up the call with EINTR, restart flag or not (signal(7) lists these calls). Nothing has been
 * waited for then, so the call can simply be made again: its arguments are still in their
 * registers, its number stands in the code before `syscall`, or, for what glibc makes in one place
 * for all calls that can be cancelled (2.41 and newer), on the stack.
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
#define CALL_BYTES    5  /* call rel32 */
#define CODE_BYTES    32 /* before a call returns, that are looked at */

/* Of glibc's for calls that can be cancelled, with room for other compilers than today's. */
#define STACK_WORDS    12  /* in which the number is */
#define ARCH_BYTES     64  /* __syscall_cancel_arch up to its syscall: 46 */
#define INTERNAL_BYTES 256 /* __internal_syscall_cancel up to its call of that: 72 to 84 */
#define NUMBERS        1024

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

/* Whom the call that returns there has called; 0: no such call is before it. */
static SIGSAFE uintptr_t called(uintptr_t returns)
{
	uint8_t code[CALL_BYTES];
	int32_t distance;

	if (dnp_mem_read(returns - sizeof(code), code, sizeof(code)) || code[0] != 0xe8)
		return 0;
	memcpy(&distance, code + 1, sizeof(distance));
	return returns + (uintptr_t)(intptr_t)distance;
}

static SIGSAFE bool is_behind(uintptr_t pc, uintptr_t function, uintptr_t within)
{
	return function && pc > function && pc - function <= within;
}

/*
 * glibc's __syscall_cancel_arch is given the number in a register that it uses for an argument
 * then. Its caller, __internal_syscall_cancel, has it as the first argument on the stack, behind
 * where it returns to; how far up that is depends on who compiled it.
 */
static SIGSAFE bool find_number_of_caller(uintptr_t pc, uintptr_t sp, uint32_t *number)
{
	uint64_t words[STACK_WORDS];

	if (dnp_mem_read(sp, words, sizeof(words)) || !is_behind(pc, called(words[0]), ARCH_BYTES))
		return false;
	for (size_t i = 1; i + 1 < STACK_WORDS; i++)
		if (words[i + 1] < NUMBERS &&
			is_behind(words[0], called(words[i]), INTERNAL_BYTES)) {
			*number = (uint32_t)words[i + 1];
			return true;
		}
	return false;
}

/* The same where the number is on the stack. `code` ends with the syscall, before `pc`. */
static SIGSAFE bool find_number_on_stack(
	const uint8_t *code, size_t n, uintptr_t pc, uintptr_t sp, uint32_t *number)
{
	/* mov disp8(%rsp), %rax; syscall: while a thread cannot be cancelled */
	static const uint8_t load[] = {0x48, 0x8b, 0x44, 0x24};
	/* mov %r11, 8(%rsp); syscall */
	static const uint8_t arch[] = {0x4c, 0x89, 0x5c, 0x24, 0x08, 0x0f, 0x05};
	const uint8_t *last;
	uint64_t word;

	if (n < sizeof(arch))
		return false;
	last = code + n - sizeof(arch);
	if (!memcmp(last, arch, sizeof(arch)))
		return find_number_of_caller(pc, sp, number);
	if (memcmp(last, load, sizeof(load)) != 0 || last[5] != 0x0f || last[6] != 0x05 ||
		last[4] & 0x80 || dnp_mem_read(sp + last[4], &word, sizeof(word)) ||
		word >= NUMBERS)
		return false;
	*number = (uint32_t)word;
	return true;
}

SIGSAFE void dnp_signal_restart_syscall(void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	uintptr_t pc = (uintptr_t)regs[REG_RIP], sp = (uintptr_t)regs[REG_RSP];
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
	if (!find_number(code, n, &number) && !find_number_on_stack(code, n, pc, sp, &number))
		return;
	if (!sleeps(number) || another_comes(context))
		return;
	regs[REG_RAX] = (greg_t)number;
	regs[REG_RIP] -= SYSCALL_BYTES;
}
