/* SPDX-License-Identifier: MIT */
#include "hook_calls.h"

/* On the stack: 32 bytes of the callee's, the hook, `out`, a register, and xmm6 to xmm15 at 64. */
__asm__("	.text\n"
	"	.globl	call_with\n"
	"call_with:\n"
	"	push	%rbp\n"
	"	push	%rbx\n"
	"	push	%rdi\n"
	"	push	%rsi\n"
	"	push	%r12\n"
	"	push	%r13\n"
	"	push	%r14\n"
	"	push	%r15\n"
	"	sub	$232, %rsp\n"
	"	.irp	n, 6,7,8,9,10,11,12,13,14,15\n"
	"	movaps	%xmm\\n, 16*\\n-32(%rsp)\n"
	"	.endr\n"
	"	mov	%rcx, 32(%rsp)\n"
	"	mov	%r8, 40(%rsp)\n"
	"	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
	"	vmovdqu	128+32*\\n(%rdx), %ymm\\n\n"
	"	.endr\n"
	"	mov	0(%rdx), %rax\n"
	"	mov	8(%rdx), %rbx\n"
	"	mov	16(%rdx), %rcx\n"
	"	mov	32(%rdx), %rsi\n"
	"	mov	40(%rdx), %rdi\n"
	"	mov	48(%rdx), %rbp\n"
	"	mov	56(%rdx), %r8\n"
	"	mov	64(%rdx), %r9\n"
	"	mov	72(%rdx), %r10\n"
	"	mov	80(%rdx), %r11\n"
	"	mov	88(%rdx), %r12\n"
	"	mov	96(%rdx), %r13\n"
	"	mov	104(%rdx), %r14\n"
	"	mov	112(%rdx), %r15\n"
	"	mov	24(%rdx), %rdx\n"
	"	call	*32(%rsp)\n"
	"	mov	%rdx, 48(%rsp)\n"
	"	mov	40(%rsp), %rdx\n"
	"	mov	%rax, 0(%rdx)\n"
	"	mov	%rbx, 8(%rdx)\n"
	"	mov	%rcx, 16(%rdx)\n"
	"	mov	%rsi, 32(%rdx)\n"
	"	mov	%rdi, 40(%rdx)\n"
	"	mov	%rbp, 48(%rdx)\n"
	"	mov	%r8, 56(%rdx)\n"
	"	mov	%r9, 64(%rdx)\n"
	"	mov	%r10, 72(%rdx)\n"
	"	mov	%r11, 80(%rdx)\n"
	"	mov	%r12, 88(%rdx)\n"
	"	mov	%r13, 96(%rdx)\n"
	"	mov	%r14, 104(%rdx)\n"
	"	mov	%r15, 112(%rdx)\n"
	"	mov	48(%rsp), %rax\n"
	"	mov	%rax, 24(%rdx)\n"
	"	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
	"	vmovdqu	%ymm\\n, 128+32*\\n(%rdx)\n"
	"	.endr\n"
	"	vzeroupper\n"
	"	.irp	n, 6,7,8,9,10,11,12,13,14,15\n"
	"	movaps	16*\\n-32(%rsp), %xmm\\n\n"
	"	.endr\n"
	"	add	$232, %rsp\n"
	"	pop	%r15\n"
	"	pop	%r14\n"
	"	pop	%r13\n"
	"	pop	%r12\n"
	"	pop	%rsi\n"
	"	pop	%rdi\n"
	"	pop	%rbx\n"
	"	pop	%rbp\n"
	"	ret\n");

const struct hook_convention hook_convention = {
	.enter_id = RCX,
	.enter_sp = RDX,
	.end_id = RCX,
	.end_sp = RDX,
	.enter_kept = {RBX, RSI, RDI, RBP, R12, R13, R14, R15},
	.n_enter_kept = 8,
	.end_kept = {RAX, RBX, RSI, RDI, RBP, R12, R13, R14, R15},
	.n_end_kept = 9,
	.first_vector = 6,
	.end_vector = 16,
};

void spoil_vectors(void)
{
	__asm__ volatile(".irp	n, 0,1,2,3,4,5\n"
			 "	vpcmpeqd	%%xmm\\n, %%xmm\\n, %%xmm\\n\n"
			 "	.endr\n"
			 :
			 :
			 : "memory");
}
