/* SPDX-License-Identifier: MIT */
/*
 * dnp_call_plain_enter(method, sp, hook): an enter hook has its arguments in r14 and r15, which a
 * function of C has to keep. What hooks of ends want in rdi and rsi is what C passes. On Windows all
 * hooks have their arguments where C has them.
 */
#include "capture/x86_64/hook.inc"

FUNCTION dnp_call_plain_enter
#ifdef _WIN32
	jmp	r8
#else
	KEEP	r14
	.cfi_rel_offset r14, 0
	KEEP	r15
	.cfi_rel_offset r15, 0
	sub	rsp, 8
	.cfi_adjust_cfa_offset 8
	mov	r14, rdi
	mov	r15, rsi
	call	rdx
	add	rsp, 8
	.cfi_adjust_cfa_offset -8
	BACK	r15
	.cfi_restore r15
	BACK	r14
	.cfi_restore r14
	ret
#endif
END dnp_call_plain_enter
