/* SPDX-License-Identifier: MIT */
/*
 * Handlers that ask whom to leave a signal to, and go there as if the kernel had called that
 * (entry.S). Nothing of ours is on the stack then: the runtime's handler may never return.
 */
#ifndef DNP_OS_X86_64_ENTRY_H
#define DNP_OS_X86_64_ENTRY_H

#include <signal.h>

#include "base/clean.h"

typedef void (*dnp_signal_action)(int signo, siginfo_t *info, void *context);

/* SIGSEGV: asks dnp_fault_next, of os/linux/no_room.c. NULL: nobody, the thread goes on. */
void dnp_fault_entry(int signo, siginfo_t *info, void *context);
SIGSAFE dnp_signal_action dnp_fault_next(int signo, const siginfo_t *info, const void *context);

/* SIGTRAP: asks dnp_trap_next, of os/linux/trap_signal.c. */
void dnp_trap_entry(int signo, siginfo_t *info, void *context);
SIGSAFE dnp_signal_action dnp_trap_next(int signo, siginfo_t *info, void *context);

/*
 * Code that may be copied, with the address of a handler behind it: it does nothing for a trap, and
 * goes to that handler for any other signal.
 */
extern const char dnp_trap_stub[], dnp_trap_stub_end[];

#endif
