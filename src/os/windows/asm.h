/* SPDX-License-Identifier: MIT */
/* What sources in assembler say in the words of PE; os/linux/asm.h in those of ELF. */
#ifndef DNP_OS_WINDOWS_ASM_H
#define DNP_OS_WINDOWS_ASM_H

/* A name for other sources of the same program only: what is not exported is that. */
#define DNP_ASM_GLOBAL(name) .globl name

/* The end of each source. Stacks never hold code. */
#define DNP_ASM_END

#endif
