/* SPDX-License-Identifier: MIT */
/* What threads wait in. */
#ifndef DNP_OS_SYSCALLS_H
#define DNP_OS_SYSCALLS_H

#include <stdbool.h>
#include <stdint.h>

/* The name of a system call that can wait, NULL: another. Static. */
const char *dnp_syscall_name(int number);

/*
 * On Windows, which names no calls: whether the instruction before pc is one, so that a thread
 * whose registers say that it is there is in the kernel, where it waits most likely.
 */
bool dnp_syscall_is_before(uintptr_t pc);

#endif
