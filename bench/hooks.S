/* SPDX-License-Identifier: MIT */
/*
 * Hooks of enter, leave and tailcall for x86-64 as SetEnterLeaveFunctionHooks3 wants them: enter
 * finds the method's id in r14 and keeps all registers of arguments, leave finds it in rdi and
 * keeps those of results.
 */
	.text

.macro HOOK name
	.globl	\name
	.hidden	\name
	.type	\name, @function
\name:
	.cfi_startproc
.endm

.macro END name
	.cfi_endproc
	.size	\name, . - \name
.endm

HOOK hook_empty
	ret
END hook_empty

HOOK hook_clock_enter
	mov	%rdx, %r11
	rdtsc
	mov	%r11, %rdx
	ret
END hook_clock_enter

HOOK hook_clock_leave
	mov	%rax, %r10
	mov	%rdx, %r11
	rdtsc
	mov	%r10, %rax
	mov	%r11, %rdx
	ret
END hook_clock_leave

HOOK hook_article_enter
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	push	%rdi
	push	%rsi
	push	%rdx
	push	%rcx
	push	%r8
	push	%r9
	sub	$128, %rsp
	and	$-16, %rsp
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	movups	%xmm\n, 16 * \n(%rsp)
	.endr
	mov	%r14, %rdi
	call	article_enter
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	movups	16 * \n(%rsp), %xmm\n
	.endr
	lea	-48(%rbp), %rsp
	pop	%r9
	pop	%r8
	pop	%rcx
	pop	%rdx
	pop	%rsi
	pop	%rdi
	pop	%rbp
	.cfi_def_cfa %rsp, 8
	ret
END hook_article_enter

HOOK hook_article_leave
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	push	%rax
	push	%rdx
	push	%rcx
	sub	$40, %rsp
	and	$-16, %rsp
	movups	%xmm0, (%rsp)
	movups	%xmm1, 16(%rsp)
	call	article_leave
	movups	(%rsp), %xmm0
	movups	16(%rsp), %xmm1
	lea	-24(%rbp), %rsp
	pop	%rcx
	pop	%rdx
	pop	%rax
	pop	%rbp
	.cfi_def_cfa %rsp, 8
	ret
END hook_article_leave

	.section .note.GNU-stack, "", @progbits
