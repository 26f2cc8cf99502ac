/* SPDX-License-Identifier: MIT */
#include "hook_calls.h"

__asm__("	.text\n"
	"	.globl	call_with\n"
	"	.type	call_with, @function\n"
	"call_with:\n"
	"	push	%rbp\n	push	%rbx\n	push	%r12\n"
	"	push	%r13\n	push	%r14\n	push	%r15\n"
	"	sub	$24, %rsp\n"
	"	mov	%rdi, (%rsp)\n"
	"	mov	%rdx, 8(%rsp)\n"
	"	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
	"	vmovdqu	128+32*\\n(%rsi), %ymm\\n\n"
	"	.endr\n"
	"	mov	(%rsi), %rax\n"
	"	mov	8(%rsi), %rbx\n"
	"	mov	16(%rsi), %rcx\n"
	"	mov	24(%rsi), %rdx\n"
	"	mov	40(%rsi), %rdi\n"
	"	mov	48(%rsi), %rbp\n"
	"	mov	56(%rsi), %r8\n"
	"	mov	64(%rsi), %r9\n"
	"	mov	72(%rsi), %r10\n"
	"	mov	80(%rsi), %r11\n"
	"	mov	88(%rsi), %r12\n"
	"	mov	96(%rsi), %r13\n"
	"	mov	104(%rsi), %r14\n"
	"	mov	112(%rsi), %r15\n"
	"	mov	32(%rsi), %rsi\n"
	"	call	*(%rsp)\n"
	"	mov	%rsi, 16(%rsp)\n"
	"	mov	8(%rsp), %rsi\n"
	"	mov	%rax, (%rsi)\n"
	"	mov	%rbx, 8(%rsi)\n"
	"	mov	%rcx, 16(%rsi)\n"
	"	mov	%rdx, 24(%rsi)\n"
	"	mov	%rdi, 40(%rsi)\n"
	"	mov	%rbp, 48(%rsi)\n"
	"	mov	%r8, 56(%rsi)\n"
	"	mov	%r9, 64(%rsi)\n"
	"	mov	%r10, 72(%rsi)\n"
	"	mov	%r11, 80(%rsi)\n"
	"	mov	%r12, 88(%rsi)\n"
	"	mov	%r13, 96(%rsi)\n"
	"	mov	%r14, 104(%rsi)\n"
	"	mov	%r15, 112(%rsi)\n"
	"	mov	16(%rsp), %rax\n"
	"	mov	%rax, 32(%rsi)\n"
	"	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
	"	vmovdqu	%ymm\\n, 128+32*\\n(%rsi)\n"
	"	.endr\n"
	"	vzeroupper\n"
	"	add	$24, %rsp\n"
	"	pop	%r15\n	pop	%r14\n	pop	%r13\n"
	"	pop	%r12\n	pop	%rbx\n	pop	%rbp\n"
	"	ret\n"
	"	.size	call_with, . - call_with\n");

const struct hook_convention hook_convention = {
	.enter_id = R14,
	.enter_sp = R15,
	.end_id = RDI,
	.end_sp = RSI,
	.enter_kept = {RBX, RCX, RDX, RSI, RDI, RBP, R8, R9, R12, R13, R14, R15},
	.n_enter_kept = 12,
	.end_kept = {RAX, RBX, RCX, RDX, RBP, R12, R13, R14, R15},
	.n_end_kept = 9,
	.first_vector = 0,
	.end_vector = 8,
};

void spoil_vectors(void)
{
	__asm__ volatile(".irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
			 "	vpcmpeqd	%%xmm\\n, %%xmm\\n, %%xmm\\n\n"
			 "	.endr\n"
			 :
			 :
			 : "memory");
}
