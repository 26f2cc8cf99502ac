/* SPDX-License-Identifier: MIT */
/*
 * Code that is not as its unwind tables describe it, as hand-written code may be: whoever walks the
 * stack by them takes another word for the return address.
 */
#include "astray.h"

/* What it has pushed is no return address, and the tables do not know of it. */
#ifdef _WIN32
__asm__(".text\n"
	".globl truth_astray\n"
	"truth_astray:\n" /* without an entry in the tables, as code that pushes nothing */
	"	push %rcx\n"
	"1:	dec %rdx\n"
	"	jnz 1b\n"
	"	pop %rax\n"
	"	ret\n");
#else
__asm__(".text\n"
	".globl truth_astray\n"
	".type truth_astray, @function\n"
	"truth_astray:\n"
	"	.cfi_startproc\n"
	"	push %rdi\n"
	"1:	dec %rsi\n"
	"	jnz 1b\n"
	"	pop %rax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.size truth_astray, . - truth_astray\n");
#endif
