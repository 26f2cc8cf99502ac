/* SPDX-License-Identifier: MIT */
/* os/x86_64/entry.h says what this does. */
	.text

	.macro	ENTRY name, next
	.globl	\name
	.hidden	\name
	.hidden	\next
	.type	\name, @function
\name:
	.cfi_startproc
	endbr64
	push	%rdi
	.cfi_adjust_cfa_offset 8
	push	%rsi
	.cfi_adjust_cfa_offset 8
	push	%rdx
	.cfi_adjust_cfa_offset 8
	call	\next
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
	.size	\name, . - \name
	.endm

	ENTRY	dnp_fault_entry, dnp_fault_next
	ENTRY	dnp_trap_entry, dnp_trap_next

/*
 * What stays when this library goes (a copy of it): nothing happens by
 * a trap, and other signals go to the handler whose address is put behind it.
 */
	.globl	dnp_trap_stub, dnp_trap_stub_end
	.hidden	dnp_trap_stub, dnp_trap_stub_end
	.type	dnp_trap_stub, @function
dnp_trap_stub:
	.cfi_startproc
	endbr64
	cmpl	$6, 8(%rsi)		/* si_code: TRAP_PERF */
	je	1f
	jmp	*2f(%rip)
1:	ret
	.cfi_endproc
	.size	dnp_trap_stub, . - dnp_trap_stub
	.balign	8
2:
dnp_trap_stub_end:

	.section .note.GNU-stack, "", @progbits
