/* SPDX-License-Identifier: MIT */
/* os/x86_64/fault.h says what this does. */
	.text
	.globl	dnp_fault_entry
	.hidden	dnp_fault_entry
	.hidden	dnp_fault_next
	.type	dnp_fault_entry, @function
dnp_fault_entry:
	.cfi_startproc
	endbr64
	push	%rdi
	.cfi_adjust_cfa_offset 8
	push	%rsi
	.cfi_adjust_cfa_offset 8
	push	%rdx
	.cfi_adjust_cfa_offset 8
	call	dnp_fault_next
	pop	%rdx
	.cfi_adjust_cfa_offset -8
	pop	%rsi
	.cfi_adjust_cfa_offset -8
	pop	%rdi
	.cfi_adjust_cfa_offset -8
	test	%rax, %rax
	jz	1f
	jmp	*%rax
1:	ret
	.cfi_endproc
	.size	dnp_fault_entry, . - dnp_fault_entry
	.section .note.GNU-stack, "", @progbits
