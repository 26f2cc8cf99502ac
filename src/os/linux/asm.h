/* SPDX-License-Identifier: MIT */
/* What sources in assembler say in the words of ELF; os/windows/asm.h in those of PE. */
#ifndef DNP_OS_LINUX_ASM_H
#define DNP_OS_LINUX_ASM_H

/* It takes this for C: */
/* clang-format off */

/* A name for other sources of the same program only. */
#define DNP_ASM_GLOBAL(name) .globl name; .hidden name

/* The end of each source: its stack holds no code. */
#define DNP_ASM_END .section .note.GNU-stack, "", @progbits

/* clang-format on */

#endif
