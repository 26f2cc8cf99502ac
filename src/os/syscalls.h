/* SPDX-License-Identifier: MIT */
/* What threads wait in. */
#ifndef DNP_OS_SYSCALLS_H
#define DNP_OS_SYSCALLS_H

/* The name of a system call that can wait, NULL: another. Static. */
const char *dnp_syscall_name(int number);

#endif
